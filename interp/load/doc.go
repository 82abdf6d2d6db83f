// Package load offers operations to a system and records what happened.
//
// Map of the package:
//
//	Workload, Generator   what the clients do (workload.go); implementations live in builtins/workload
//	Rand                  counter-based random numbers, pure in (seed, client, index) (rand.go)
//	Config, Run, Result   one trial (trial.go, outcome.go): phases, the supervisor, what came of it
//	client                the way of an operation (client.go), of a batch (batch.go)
//	loop                  clients that share a thread (loop_linux.go), which do, and where (arrange.go)
//	queue                 due instants of an open loop (pace.go)
//	recorder, collector   what clients record, and how it is added up (recorder.go, collector.go, hist.go)
//	settle, converge      ends of warm-ups and windows that the rate decides (warmup.go, until.go)
//	Ledger                what clients have written, to be compared with what is there (ledger.go)
package load
