// Package sqlite is the driver of the embedded SQLite.
//
// Map of the package:
//
//	driver.go   the descriptor: sqlite.local(), sqlite.file(path), levels
//	system.go   system: opened database, facts, journal mode, statements of hooks
//	dataset.go  its datasets: one transaction with prepared inserts
//	session.go  session: one client's connection and its prepared statements
//	api.go      db, stmt: the few calls of SQLite's C interface that are needed, without allocation on the hot path
//	errors.go   result codes -> driver.Error
//
// SQLite runs in this process (modernc.org/sqlite, SQLite's C code in Go). Its C interface is called directly and not
// through database/sql: that would start a goroutine per operation to watch the context, and copy every value twice.
package sqlite
