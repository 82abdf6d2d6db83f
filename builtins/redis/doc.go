// Package redis is the driver of Redis: one server, a primary with replicas, or a cluster.
//
// Map of the package:
//
//	driver.go   the descriptor: redis.server(url=...), redis.local(...), levels
//	system.go   system: connections, levels that the topology gives, commands of hooks
//	facts.go    what is known about the server: settings, counters, processes, limits
//	topology.go where keys are: hash slots and redirections of a cluster, replicas; links: the connections of one client
//	local.go    a throwaway server, with replicas or as a cluster, from the installed binary
//	dataset.go  datasets: pipelined HSETs into an empty database
//	session.go  session: one client's operations
//	actions.go  conditional writes as scripts of the server, batches of records
//	command.go  commands of one's own, alone and in batches
//	resp.go     the hot path: RESP2 written and read in place, without allocation
//	errors.go   Redis' error words -> driver.Error
//
// A record is a hash under its key, as in YCSB's binding. For scans the keys are members of the sorted set `_indices`, all
// with score 0, so that it is in the order of the keys; YCSB's own binding scores by a hash and scans in that order. An
// update or insert is a HSET: Redis doesn't say whether the key was there, so neither counts as missing or as duplicate.
// In a cluster each request goes to the node that has its key. MOVED and ASK are followed, and counted as retried errors. Scans are refused there.
//
// A dataset has a database (number) of its own: a database with keys that sextant did not make is never written to.
package redis
