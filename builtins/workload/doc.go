// Package workload makes the operations and rows that are measured: YCSB's core workloads and mixes of one's own over a
// table of records.
//
// Map of the package:
//
//	types.go    Types, Values: what a script may write, and New: from the resolved spec to a load.Workload
//	ycsb.go     workload.ycsb("a".."f"): the definitions of the core workloads
//	ycsbfile.go workload.ycsb_file(...): YCSB's property files
//	docker.go   workload.mix("w1".."w6"): the mixes of the comparison in containers
//	records.go  workload.records(mix=...): own mixes
//	pgbench.go  workload.pgbench(...): pgbench's tables and scripts; its language is in pgscript
//	sysbench.go workload.sysbench(...): sysbench's tables, scripts and distributions
//	redis.go    workload.redis(...): redis-benchmark's tests and mixes of them
//	cassandrastress.go  workload.cassandra_stress(...): the tool's commands; its rows and distributions are in cstress
//	cassandraprofile.go  workload.cassandra_profile(...): its user profiles
//	sql.go      workload.sql(...): statements and transactions of one's own
//	script.go   workload.script(fn): a function of the script as the operation; scripttx.go: what its tx can do
//	fieldgen.go generators of fields and parameters (random_int, choice, ...); words.go: people's names and the like
//	tables.go   table(...): typed tables to load
//	trace.go    Trace: the first operations as text, without a server
//	table.go    table: the load.Workload behind ycsb and records; its clients' generators
//	steps.go    operations of several requests on records: compare-and-set, transactions
//	keys.go     chooser: which key an operation takes (uniform, zipfian, latest, ...)
//	zipf.go     two zipf generators: exact (rejection-inversion) and YCSB's approximation
//	keyspace.go keyspace: ids of inserts, and which keys exist for readers
//	text.go     key text and field text
//
// Everything random is a pure function of (seed, client, index) for operations and of (seed, row, field) for rows. What
// depends on the order of events is only which rows exist: the id of an insert, and the last acknowledged one.
package workload
