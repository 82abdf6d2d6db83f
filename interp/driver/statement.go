package driver

import (
	"context"
	"strconv"
	"strings"
)

// Transaction is the action of an operation that runs a Program: statements of the system's own language.
const Transaction Action = "transaction"

// A Program is what an operation of action Transaction does. It belongs to one client and is reused.
type Program interface {
	// Run does the operation once, on the session of its client. It is called again with the same op when an attempt is
	// tried again. It looks at ctx between statements and returns its error at once when that has ended.
	Run(ctx context.Context, s Session, reply *Reply) error
}

// A Transactor is a Session that runs prepared statements one by one.
type Transactor interface {
	Session
	// Add prepares another statement and gives its number; Prepare has done so for Workload.Statements, from 0.
	Add(ctx context.Context, s Statement) (int, error)
	// Run runs statement n with one argument per parameter and fills res.
	Run(ctx context.Context, n int, args []Arg, res *Result) error
	// InTransaction says whether a transaction is open after the last statement.
	InTransaction() bool
	// Rollback ends a transaction that is open, or failed. Without one it does nothing.
	Rollback(ctx context.Context) error
}

// A Pipeliner is a Transactor that can send several statements before it reads the first reply.
type Pipeliner interface {
	Transactor
	// Queue adds a statement to the batch.
	Queue(n int, args []Arg) error
	// Flush sends the batch as one and reads all replies; their rows and bytes are summed into res. After an error the
	// statements behind it in the batch were not done.
	Flush(ctx context.Context, res *Result) error
}

// A Statement is one statement in a system's own language, cut at its parameters.
type Statement struct {
	// Parts are the texts between the parameters: one more than there are parameters.
	Parts []string
}

// Params is how many parameters the statement has.
func (s Statement) Params() int { return len(s.Parts) - 1 }

// Text joins the parts with the placeholder that mark gives for parameter i, from 0.
func (s Statement) Text(mark func(i int) string) string {
	var b strings.Builder
	for i, p := range s.Parts {
		if i > 0 {
			b.WriteString(mark(i - 1))
		}
		b.WriteString(p)
	}
	return b.String()
}

// A Control is what a statement does to the transaction around it.
type Control int

// The controls. Drivers put their own system's words for them.
const (
	NoControl Control = iota
	Begin             // BEGIN or START TRANSACTION without anything more
	Commit            // COMMIT or END
	RollBack          // ROLLBACK or ABORT
)

// Control tells the statements that only begin or end a transaction, in any of the systems' spellings.
func (s Statement) Control() Control {
	if s.Params() > 0 {
		return NoControl
	}
	words := strings.Fields(strings.ToUpper(strings.TrimRight(strings.TrimSpace(s.Parts[0]), "; ")))
	if n := len(words); n == 2 && (words[1] == "TRANSACTION" || words[1] == "WORK") {
		words = words[:1]
	}
	if len(words) != 1 {
		return NoControl
	}
	switch words[0] {
	case "BEGIN", "START":
		return Begin
	case "COMMIT", "END":
		return Commit
	case "ROLLBACK", "ABORT":
		return RollBack
	}
	return NoControl
}

// ArgKind is the type of an argument.
type ArgKind uint8

// The kinds of an argument.
const (
	Null ArgKind = iota
	IntArg
	FloatArg
	BoolArg // Int is 0 or 1
	TextArg
)

// An Arg is an argument of a statement: a small union, so that nothing is allocated for it.
type Arg struct {
	Kind  ArgKind
	Int   int64
	Float float64
	Text  []byte
}

// AppendText appends the argument as a text literal without quotes; Null appends nothing.
func (a *Arg) AppendText(b []byte) []byte {
	switch a.Kind {
	case IntArg:
		return strconv.AppendInt(b, a.Int, 10)
	case FloatArg:
		return strconv.AppendFloat(b, a.Float, 'g', -1, 64)
	case BoolArg:
		return strconv.AppendBool(b, a.Int != 0)
	case TextArg:
		return append(b, a.Text...)
	}
	return b
}

// A Result is what one statement gave.
type Result struct {
	Rows  int64 // rows returned or changed
	Bytes int64 // payload bytes returned
	// Keep asks for the values. They are valid until the next statement of the session.
	Keep    bool
	Columns []ResultColumn
	Values  [][]byte // row by row, in text form; nil: NULL
}

// A ResultColumn is one column of a statement's rows.
type ResultColumn struct {
	Name string
	Kind ArgKind // what a text of it means: IntArg, FloatArg, BoolArg or TextArg
}

// Reset makes the result ready for the next statement; what Keep says stays.
func (r *Result) Reset() {
	r.Rows, r.Bytes, r.Columns, r.Values = 0, 0, nil, r.Values[:0]
}

// A Trimmer is a System that can bring a dataset back whose only changed tables are those marked Volatile.
type Trimmer interface {
	// Trim empties the volatile tables of w, and tidies up the others where the system needs it (vacuum).
	Trim(ctx context.Context, w *Workload) error
}
