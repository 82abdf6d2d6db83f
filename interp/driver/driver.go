// Package driver is the contract between the engine and a database. A driver is one folder under builtins and one
// line in builtins/catalog.go; nothing else knows it.
//
// Map of the package:
//
//	Driver    a descriptor: spec.SystemType (what scripts may write) + Open
//	System    an opened database: Facts, Session, Close; everything more is a capability found by assertion:
//	          Loader (datasets), Scripter (hooks), LevelChecker, Processes, Counters, Limiter, Embedded, Restarter
//	Session   one client's own connection: Level, Prepare, Do, Close; capabilities Interrupter, Batcher, Polled
//	Workload  tables and operation types, as data: what Prepare gets
//	Op, Reply one operation, reused by its client: no allocation per operation
//	Statement, Transactor, Program   transactions in the system's own language (statement.go)
//	Dialect, PrepareRecord           actions on records in SQL and its like (recordsql.go)
//	InspectTables, TLSConfig, Running   what drivers have in common (dataset.go, options.go, running.go)
//	Stream    a connection that can leave Go's network poller (stream.go, raw_linux.go)
//	Error     every failure, classed; predicates in errors.go
//
// The flow of a trial: Open -> Facts -> Loader.Inspect/Load -> Session per client (level set) -> Level (read back) ->
// Prepare -> Do... -> Close. A driver never retries, never pools, never queues.
package driver

import (
	"context"
	"slices"

	"sextant/interp/spec"
)

// A Driver describes one kind of database and opens it.
type Driver struct {
	spec.SystemType
	// Open reaches the system, or starts it where the maker is a throwaway one. It writes nothing to a system that
	// existed before. The context's deadline bounds it.
	Open func(ctx context.Context, t Target) (System, error)
	// Installed says which program the throwaway maker would start, with its version, or what is missing (an *Error with a
	// hint). Nil: the system is built in.
	Installed func(ctx context.Context) (what string, err error)
}

// A Target is what Open needs.
type Target struct {
	System *spec.System
	// Options is System.Options with every secret resolved. It must not be logged or stored.
	Options map[string]any
	// Log takes progress worth an event row ("server started on port ..."). Never nil. Texts hold no secret.
	Log func(kind, text string)
}

// A System is an opened database. Its methods may be called from several goroutines.
type System interface {
	// Facts are key/value facts for the environment table: "server_version", "server_setting.fsync", ... No secrets.
	Facts(ctx context.Context) ([]Fact, error)
	// Session opens one client's connection and sets the level on it. A level that the topology can't give is a
	// *LevelRefused.
	Session(ctx context.Context, level spec.Level) (Session, error)
	// Close lets go of everything; a throwaway server is stopped and its folder removed.
	Close(ctx context.Context) error
}

// A Fact is one thing known about the environment.
type Fact struct{ Key, Value string }

// A Session is one client's own connection, used by one goroutine at a time.
type Session interface {
	// Level asks the server for the level in force and answers in the words of spec.Level.String. Asked names the
	// settings to report; for the zero Level it reports every setting that the driver knows.
	Level(ctx context.Context, asked spec.Level) (string, error)
	// Prepare gets ready for the operations of w (prepared statements). Op.Type indexes w.All().
	Prepare(ctx context.Context, w *Workload) error
	// Do performs one operation and fills reply. The context carries the trial's end, not a deadline per operation
	// (Interrupter ends a single one). An error is an *Error, or is classed by Classify. Finding no row is not an
	// error: Reply.Rows says 0.
	Do(ctx context.Context, op *Op, reply *Reply) error
	Close() error
}

// An Interrupter is a Session whose running Do another goroutine can end early; Do then returns an error at once.
// Where the protocol can, the server is told to stop as well. The session may be unusable afterwards (then Do returns
// errors of class Connection until it is replaced).
type Interrupter interface{ Interrupt() }

// A Loader is a System that can make datasets.
type Loader interface {
	// Inspect says what the system holds under the dataset's table names.
	Inspect(ctx context.Context, w *Workload) (DatasetState, error)
	// Load makes the dataset by the system's fast way, replacing only tables that sextant made: a table of the same
	// name that it did not make is an error of class Constraint and stays untouched. After a failed or killed Load,
	// Inspect never reports the new fingerprint.
	Load(ctx context.Context, w *Workload, fingerprint string, rows RowSource) error
	// Drop removes the tables of w that sextant made.
	Drop(ctx context.Context, w *Workload) error
}

// A DatasetState is what Inspect found.
type DatasetState struct {
	Exists      bool // some table of that name is there
	Ours        bool // all tables of that name were made by sextant
	Fingerprint string
	Rows        []int64 // counted now, parallel to Workload.Tables; nil where a table is missing
}

// A RowSource gives the rows of a dataset. Row is pure in (table, i) and may be called from several goroutines, each
// with its own row.
type RowSource interface {
	Rows(table int) int64
	Row(table int, i int64, row *Row)
}

// A Filler is a RowSource whose tables with a Definition are filled by programs.
type Filler interface {
	// Fill gives what writes partition i of a table on a session that has prepared the workload.
	Fill(s Session) func(ctx context.Context, table int, i int64) error
}

// A Row is one row to load: the key and the values parallel to Table.Fields, all in text form; a nil value is NULL. Slices
// are reused by the next call. A table without a key has rows without one.
type Row struct {
	ID     int64
	Key    []byte
	Values [][]byte
}

// A Scripter is a System that hooks can talk to in its own language.
type Scripter interface {
	// Exec runs a statement and returns how many rows it changed (0 where the system doesn't say).
	Exec(ctx context.Context, text string, args []any) (int64, error)
	// Query runs a statement and returns column names and rows of nil, bool, int64, float64 or string.
	Query(ctx context.Context, text string, args []any) (columns []string, rows [][]any, err error)
}

// A LevelChecker is a System that knows, once it is open, which levels its topology gives.
type LevelChecker interface {
	CheckLevel(ctx context.Context, level spec.Level) error // nil or *LevelRefused
}

// A Verifier is a System whose default level is not the one to read back at what was acknowledged.
type Verifier interface {
	// VerifyLevel is the level at which every acknowledged write must be seen.
	VerifyLevel() spec.Level
}

// Processes is a System whose server runs on this machine.
type Processes interface {
	// Processes are the ids of all server processes now, or nil and the reason why they aren't known.
	Processes(ctx context.Context) (pids []int, reason string)
}

// Counters is a System with server-side counters.
type Counters interface {
	Counters(ctx context.Context) ([]Counter, error)
}

// A Counter is one cumulative server-side number.
type Counter struct {
	Name  string
	Value float64
}

// An Embedded is a System that runs within sextant's own process: its CPU can't be told from the generator's.
type Embedded interface{ Embedded() }

// A Limiter is a System that takes a limited number of sessions.
type Limiter interface {
	// SessionLimit is how many sessions a trial can have, and where that comes from ("max_connections = 100 ...").
	SessionLimit(ctx context.Context) (limit int, source string, err error)
}

// A Restarter is a System whose throwaway server can be started again on its data after it died.
type Restarter interface {
	// Restart starts the server again when it isn't running, and says whether it had to.
	Restart(ctx context.Context) (restarted bool, err error)
}

// A Workload is what the clients will do, as data.
type Workload struct {
	Tables []Table
	Ops    []OpType
	// Calls are operation types that programs do by Session.Do, numbered behind Ops; they are no operations of their own.
	Calls []OpType
	// Statements are those that the programs of Transaction operations begin with; programs may add more.
	Statements []Statement
}

// All are the operation types that a session prepares: Op.Type is an index into them.
func (w *Workload) All() []OpType { return append(slices.Clip(w.Ops), w.Calls...) }

// A Table is one table, collection, or key space.
type Table struct {
	Name    string // "usertable": plain lower-case identifier
	Key     string // name of the key column, the primary key; "": the table has none
	KeyType Type
	// Serial: the system counts the keys of rows that are inserted without one, on from Rows.
	Serial  bool
	Fields  []Column
	Indexes []string // fields with an index of their own
	Rows    int64    // that a dataset holds
	// Duplicates is how many of Rows may have a key that another one has, where keys are drawn; loading keeps one of them.
	Duplicates int64
	// Definition is what stands behind CREATE TABLE and the name of a table that is written in the system's own language, with Partition as the columns
	// that say where its rows are. Rows is the number of partitions then, which a Filler fills. After are statements to run behind it. Cassandra alone.
	Definition string
	Partition  []string
	After      []string
	// Volatile: operations insert into it only; a Trimmer empties it before each trial. Its Rows are 0.
	Volatile bool
	// Hot: few rows that operations update all the time. A Trimmer tidies it up before each trial.
	Hot bool
	// Store is what holds the rows where a system has several kinds of values: "string", "list", "set", "zset", "fields" (of one hash), "stream" under the
	// table's name; "": records of fields. A string's key is the table's name, a colon and the row's.
	Store string
	// Uncompressed: without the compression that a system has by default.
	Uncompressed bool
	// Ordered: scans in key order are needed (a system without ordered keys keeps an index of its own).
	Ordered bool
}

// A Column is one field of a table.
type Column struct {
	Name  string
	Bytes int // size of a value: exactly that of Char, about that of Text
	Type  Type
}

// Type is the type of a column.
type Type string

// The types of columns. Every SQL system maps them to its own; the others keep records as texts.
const (
	Text          Type = ""          // of any length
	Int           Type = "int"       // 32 bits
	BigInt        Type = "bigint"    // 64 bits
	Char          Type = "char"      // of a fixed length, filled with blanks
	Timestamp     Type = "timestamp" // without a time zone
	Blob          Type = "blob"      // bytes; Cassandra alone
	CounterColumn Type = "counter"   // a number that is only added to; Cassandra alone
)

// An Action is what an operation does, in terms that every driver translates.
type Action string

// The actions on records.
const (
	Read            Action = "read"              // all fields of one key
	Update          Action = "update"            // some fields of one key
	Insert          Action = "insert"            // a new key with all fields
	Delete          Action = "delete"            // one key
	Scan            Action = "scan"              // up to Limit rows in key order, from a key
	ReadModifyWrite Action = "read-modify-write" // read all fields, then update some, as two requests without a transaction
	InsertIfAbsent  Action = "insert-if-absent"  // a key with all fields, unless the key is there: then no row
	// UpdateIf sets a field where it still has the value Values[1]: the second request of a compare-and-set. Else no row.
	UpdateIf    Action = "compare-and-set"
	ReadByIndex Action = "read-by-index" // up to Limit rows whose indexed field has the value Values[0], in no order
	BatchRead   Action = "batch-read"    // all fields of Keys, in one request
	BatchInsert Action = "batch-insert"  // new Keys, in one request; Values are those of the first, of the second, ...
)

// Command is a command of the system's own protocol: Op.Values are its words. A reply that says nothing is there has no rows.
const Command Action = "command"

// CQL is what a workload of Cassandra's own statements asks of a system. Its operations are Transactions of one statement.
const CQL Action = "CQL statement"

// RecordActions are the actions on records, SQLActions those of systems that run SQL, as spec.SystemType.Ops lists them.
func RecordActions() []string {
	return []string{string(Read), string(Update), string(Insert), string(Delete), string(Scan), string(ReadModifyWrite),
		string(InsertIfAbsent), string(UpdateIf), string(ReadByIndex), string(BatchRead), string(BatchInsert)}
}

// SQLActions are what a system that runs SQL can do.
func SQLActions() []string { return append(RecordActions(), string(Transaction)) }

// A Batcher is a Session that can send several operations before it reads the first reply.
type Batcher interface {
	Session
	// Queue adds an operation to the batch; its slices may be used again at once.
	Queue(op *Op) error
	// Flush sends the batch as one and calls done for each reply as it is read, with what Do would have given: in order, but for operations
	// that had to be asked for elsewhere, which come last. arrived says that the reply came with other bytes than the one before; those that came together have one
	// time. An error of Flush's own means that the connection is gone; done was not called for the operations left.
	Flush(ctx context.Context, done func(i int, reply *Reply, arrived bool, err error)) error
}

// An OpType is one operation type of a workload.
type OpType struct {
	Name   string // as the tables show it
	Action Action
	Table  int // index into Workload.Tables
	// One: a Transaction about one row, so that finding none is an outcome of its own, as it is for actions on records.
	One bool
	// Fields are the fields an update changes when it is always the same set; nil: Op.Fields says it each time. Of an update with a condition and of a
	// read by an index it is the one field.
	Fields []int
	// Batch is how many records a batch has.
	Batch int
	// Sleeps: its programs wait for time to pass, not for their server alone.
	Sleeps bool
}

// An Op is one operation, filled by a generator and reused. Slices are valid until the next operation.
type Op struct {
	Type   int      // index into Workload.All()
	ID     int64    // record number of Key
	Key    []byte   // key text
	Keys   [][]byte // of a batch, in place of ID and Key
	Fields []int    // which fields Values are for, ascending; nil: all
	Values [][]byte // update, insert, read-modify-write; of other actions as these say
	Limit  int      // scan, read-by-index
	// Frame is a Command as it goes over the wire, where the generator has made it so; Values are its words all the same.
	Frame []byte
	// Program is what an operation of action Transaction does; nil for all others.
	Program Program
}

// A Reply is what came back.
type Reply struct {
	Rows  int64 // rows read or changed
	Bytes int64 // payload bytes read
	// Overcome are errors on the way that the protocol itself has an answer for, such as a redirection that was followed. The operation succeeded or
	// failed apart from them; they are counted like the errors of attempts that were tried again.
	Overcome []error
	// Own is the time in ns that a Program spent in an interpreter of its own, not in the session.
	Own int64
	// Keep asks for the values of a read or a scan, in Values: row by row, the fields in order, for a scan the key before
	// them. They are valid until the next operation of the session. A system that can't says so by an error.
	Keep   bool
	Values [][]byte
}
