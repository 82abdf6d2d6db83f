package workload

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// Trace shows the first n operations of a client, drawn from a stream of the seed, as text, one line a request, without a server. What an operation does by
// the answer of a server can't be seen: every statement gives one row without columns, and every record is there.
func Trace(ctx context.Context, w load.Workload, seed uint64, client int, stream uint64, n int, line func(text string)) {
	w.Start(seed)
	shape := w.Shape()
	s := &tracer{shape: shape, statements: shape.Statements, line: line}
	g := w.Client(client)
	ack, _ := g.(load.Acker)
	var r load.Rand
	var op driver.Op
	for i := range n {
		r.Seek(seed, stream, uint64(i))
		op.Program = nil
		g.Next(&r, &op)
		if op.Program == nil {
			line(s.describe(&op))
		} else {
			line(shape.Ops[op.Type].Name)
			var reply driver.Reply
			if err := op.Program.Run(ctx, s, &reply); err != nil {
				line("  what follows depends on the server's answer: " + err.Error())
			}
		}
		if ack != nil {
			ack.Ack(&op, true)
		}
	}
}

// tracer is a session that shows what it is asked for.
type tracer struct {
	shape      *driver.Workload
	statements []driver.Statement
	line       func(string)
}

func (t *tracer) Level(context.Context, spec.Level) (string, error) { return "", nil }
func (t *tracer) Prepare(context.Context, *driver.Workload) error   { return nil }
func (t *tracer) Close() error                                      { return nil }
func (t *tracer) InTransaction() bool                               { return false }
func (t *tracer) Rollback(context.Context) error                    { return nil }
func (t *tracer) Flush(_ context.Context, res *driver.Result) error { res.Reset(); return nil }
func (t *tracer) Queue(n int, args []driver.Arg) error              { t.show(n, args); return nil }
func (t *tracer) Add(_ context.Context, s driver.Statement) (int, error) {
	t.statements = append(t.statements, s)
	return len(t.statements) - 1, nil
}

func (t *tracer) Run(_ context.Context, n int, args []driver.Arg, res *driver.Result) error {
	res.Reset()
	res.Rows = 1
	if want := t.statements[n].Params(); len(args) != want {
		return fmt.Errorf("%d arguments for %d parameters of %q", len(args), want, t.statements[n].Parts)
	}
	t.show(n, args)
	return nil
}

// show is a statement with its arguments in their places.
func (t *tracer) show(n int, args []driver.Arg) {
	t.line("  " + strings.Join(strings.Fields(t.statements[n].Text(func(i int) string {
		switch a := &args[i]; a.Kind {
		case driver.Null:
			return "NULL"
		case driver.TextArg:
			return "'" + short(a.Text) + "'"
		default:
			return string(a.AppendText(nil))
		}
	})), " "))
}

func (t *tracer) Do(_ context.Context, op *driver.Op, reply *driver.Reply) error {
	t.line("  " + t.describe(op))
	reply.Rows = 1
	if o := t.shape.All()[op.Type]; reply.Keep && o.Action == driver.Read {
		for range t.shape.Tables[o.Table].Fields {
			reply.Values = append(reply.Values, []byte("?"))
		}
	}
	return nil
}

// describe is an operation on records in words.
func (t *tracer) describe(op *driver.Op) string {
	o := t.shape.All()[op.Type]
	if o.Action == driver.Command {
		var words []string
		for _, w := range op.Values {
			words = append(words, short(w))
		}
		return strings.Join(words, " ")
	}
	table := &t.shape.Tables[o.Table]
	out := fmt.Sprintf("%s %s %s", o.Name, table.Name, op.Key)
	value := func(i int) string {
		f := i % len(table.Fields)
		if op.Fields != nil {
			f = op.Fields[i]
		} else if o.Fields != nil {
			f = o.Fields[i]
		}
		return fmt.Sprintf(" %s='%s'", table.Fields[f].Name, short(op.Values[i]))
	}
	switch o.Action {
	case driver.Read, driver.Delete:
		return out
	case driver.Scan:
		return fmt.Sprintf("%s limit %d", out, op.Limit)
	case driver.ReadByIndex:
		return fmt.Sprintf("%s %s%s limit %d", o.Name, table.Name, value(0), op.Limit)
	case driver.UpdateIf:
		return fmt.Sprintf("%s%s if it is '%s'", out, value(0), short(op.Values[1]))
	case driver.BatchRead, driver.BatchInsert:
		return fmt.Sprintf("%s %s %s", o.Name, table.Name, bytes.Join(op.Keys, []byte(" ")))
	}
	for i := range op.Values {
		out += value(i)
	}
	return out
}

// short is a value with its middle left out when it is long; bytes that are no text are shown in hexadecimal.
func short(v []byte) string {
	if !utf8.Valid(v) || bytes.ContainsFunc(v, unicode.IsControl) {
		if len(v) <= 12 {
			return fmt.Sprintf("0x%x", v)
		}
		return fmt.Sprintf("0x%x...(%d bytes)", v[:6], len(v))
	}
	if len(v) <= 24 {
		return string(v)
	}
	return fmt.Sprintf("%s...(%d bytes)", v[:12], len(v))
}
