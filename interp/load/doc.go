// Package load offers operations to a system and records what happened.
//
// Map of the package:
//
//	Workload, Generator   what the clients do (workload.go); implementations live in builtins/workload
//	Rand                  counter-based random numbers, pure in (seed, client, index) (rand.go)
//	Ledger                what clients have written, to be compared with what is there (ledger.go)
package load
