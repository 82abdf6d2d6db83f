// Package mysql is the driver of MySQL and MariaDB, also of MariaDB's Galera cluster.
//
// Map of the package:
//
//	driver.go   the descriptor: mysql.server(url=...), mysql.local(...), levels
//	system.go   system: connections, facts, counters, statements of hooks
//	level.go    levels: what each sets, what the topology gives, global settings put back
//	local.go    a throwaway MariaDB from installed binaries, one server or a Galera cluster
//	dataset.go  datasets: tables, and inserts of many rows from several connections
//	infile.go   LOAD DATA, where the server takes it
//	session.go  session: one client's connection and its operations on records
//	transact.go statements of transactions
//	errors.go   error number -> driver.Error
//
// go-sql-driver connects and speaks the protocol; its connections are used directly (database/sql/driver), without
// database/sql's pool, locks and retries.
package mysql
