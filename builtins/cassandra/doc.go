// Package cassandra is the driver of Apache Cassandra.
//
// Map of the package:
//
//	driver.go   the descriptor: cassandra.server(url=...), cassandra.local(...), levels
//	system.go   system: the cluster's connections, its keyspace, facts, statements of hooks, counters
//	level.go    levels: consistency of reads and writes, read back from the server's traces
//	local.go    a throwaway cluster on loopback from an installed Cassandra's jars
//	dataset.go  datasets: prepared inserts, many at a time
//	session.go  session: the operations of one client
//	errors.go   error codes -> driver.Error
//
// gocql speaks the protocol. As with every Cassandra client the connections are shared: each carries many requests at a time,
// so a session is no connection of its own. Retries and speculative executions are off, requests go to a replica of their key
// (token-aware) in the local data centre, and nothing is held back to be written together.
package cassandra
