// Package mongodb is the driver of MongoDB and servers of its protocol.
//
// Map of the package:
//
//	driver.go   the descriptor: mongodb.server(url=...), mongodb.local(...), levels
//	system.go   system: the shared client, facts, counters, commands of hooks
//	level.go    levels: what commands carry for them, what the server does with it
//	probe.go    what a server only pretends to do: unknown concerns, replies to unacknowledged writes
//	local.go    a throwaway server or replica set from installed binaries
//	dataset.go  datasets: inserts in batches
//	session.go  session: the operations of one client, as commands
//	errors.go   error codes -> driver.Error
//
// The official Go driver, version 2, connects, finds the primary and keeps the pool; retries are off. Operations are commands
// whose bytes are put together here, because version 2 has no wtimeout any more and an operation should cost little beside
// its request. As with every MongoDB client the pool is shared: an operation takes a connection and gives it back.
package mongodb
