// Package postgres is the driver of PostgreSQL.
//
// Map of the package:
//
//	driver.go   the descriptor: postgres.server(url=...), postgres.local(...), levels
//	system.go   system: facts, levels that the topology gives, statements of hooks, counters
//	local.go    a throwaway cluster from installed binaries
//	standby.go  standbys: throwaway ones, sessions that read from them, how far they are behind; whether a pooler stands between
//	dataset.go  datasets: COPY within one transaction
//	session.go  session: one client's connection and its prepared statements
//	wire.go     the hot path: prebuilt messages of the extended protocol, replies read in place
//	transact.go statements of transactions, pipelines
//	errors.go   SQLSTATE -> driver.Error
//
// pgx's pgconn connects (TLS, SCRAM, all of libpq's URL) and prepares; the measured operations are written and read by
// wire.go on the same connection, without allocation: pgx's convenience layer costs up to 30 % of pgbench's rate.
package postgres
