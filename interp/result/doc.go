// Package result is the schema of what a run leaves, and the sink that writes it without losing or doubling a trial.
//
// Map of the package:
//
//	tables.go   one struct per table: the schema; tags carry column names and documentation
//	schema.go   Schema: the tables of one run, with one typed column per axis
//	sink.go     Sink: Append rows of a trial, Commit them as one, Flush them to parts, Seal
//	wal.go      the commit log behind Commit: checksummed records in one file
//	part.go     parts and sealed files: Parquet, written aside, synced, renamed
//	recover.go  Recover: what a killed run had committed
//	read.go     Reader: any table of a run, sealed or still running
//	document.go SCHEMA.md
//
// The life of a row: Append -> Commit (log record, fsync: from here on it can't be lost) -> Flush every few minutes
// (tables/part-NNNNNN/TABLE.parquet for all tables at once: the folder is renamed into place, so a reader never sees
// half a trial or one twice) -> Seal (TABLE.parquet, one file a table). The number of files does not grow with the number
// of trials: one log, a bounded number of parts.
package result
