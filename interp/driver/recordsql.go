package driver

import (
	"fmt"
	"strings"
)

// A Dialect is how a system with a language of statements writes the actions on records.
type Dialect struct {
	System string                   // in errors: "PostgreSQL"
	Quote  func(name string) string // quotes a name
	Table  func(name string) string // names a table; nil: Quote
	Mark   func(i int) string       // the placeholder of parameter i, from 1 in the order of the text
	// IfAbsent are an insert's verb and end by which it does nothing where the key is there.
	IfAbsent [2]string
	// If stands between an update and the condition on a field's value: " AND " of SQL, " IF " of CQL.
	If string
	// Equal compares a column with a placeholder byte by byte; nil: "=".
	Equal func(c *Column, quoted, mark string) string
	// ByToken: rows are in the order of a hash of the key.
	ByToken bool
}

// RecordStatements are the statements of one operation type; those that its action doesn't need have no text. TextArgs gives their arguments.
type RecordStatements struct {
	Read    RecordStatement   // read, scan, read-by-index, batch-read; what read-modify-write begins with
	Write   RecordStatement   // insert, insert-if-absent, batch-insert, delete; an update of the operation type's own fields, also with a condition
	Updates []RecordStatement // an update of one field, by field, where the operation says which
	Columns int               // of a row that is read
}

// A RecordStatement is a text with so many parameters.
type RecordStatement struct {
	Text   string
	Params int
}

// RecordStatements writes the statements of an operation type.
func (d *Dialect) RecordStatements(t *Table, op OpType) (RecordStatements, error) {
	out := RecordStatements{Columns: len(t.Fields)}
	var names []string
	for _, f := range t.Fields {
		names = append(names, d.Quote(f.Name))
	}
	n := 0
	mark := func() string { n++; return d.Mark(n) }
	marks := func(k int) string {
		m := make([]string, k)
		for i := range m {
			m[i] = mark()
		}
		return strings.Join(m, ", ")
	}
	named := d.Table
	if named == nil {
		named = d.Quote
	}
	table, key, list := named(t.Name), d.Quote(t.Key), strings.Join(names, ", ")
	made := func(format string, a ...any) RecordStatement { // its arguments have counted the parameters
		st := RecordStatement{fmt.Sprintf(format, a...), n}
		n = 0
		return st
	}
	update := func(fields ...int) string {
		var sets []string
		for _, f := range fields {
			sets = append(sets, names[f]+" = "+mark())
		}
		return fmt.Sprintf("UPDATE %s SET %s WHERE %s = %s", table, strings.Join(sets, ", "), key, mark())
	}
	insert := func(verb, end string, rows int) string {
		values := make([]string, rows)
		for i := range values {
			values[i] = "(" + marks(1+len(names)) + ")"
		}
		return fmt.Sprintf("%s INTO %s (%s, %s) VALUES %s%s", verb, table, key, list, strings.Join(values, ", "), end)
	}
	switch op.Action {
	case Insert:
		out.Write = made("%s", insert("INSERT", "", 1))
	case BatchInsert:
		out.Write = made("%s", insert("INSERT", "", op.Batch))
	case InsertIfAbsent:
		out.Write = made("%s", insert(d.IfAbsent[0], d.IfAbsent[1], 1))
	case Delete:
		out.Write = made("DELETE FROM %s WHERE %s = %s", table, key, mark())
	case Scan:
		out.Columns++
		form := "SELECT %[1]s, %[2]s FROM %[3]s WHERE %[1]s >= %[4]s ORDER BY %[1]s LIMIT %[5]s"
		if d.ByToken {
			form = "SELECT %[1]s, %[2]s FROM %[3]s WHERE token(%[1]s) >= token(%[4]s) LIMIT %[5]s"
		}
		out.Read = made(form, key, list, table, mark(), mark())
	case ReadByIndex:
		out.Columns++
		out.Read = made("SELECT %s, %s FROM %s WHERE %s = %s LIMIT %s", key, list, table, names[op.Fields[0]], mark(), mark())
	case BatchRead:
		out.Columns++
		out.Read = made("SELECT %s, %s FROM %s WHERE %s IN (%s)", key, list, table, key, marks(op.Batch))
	case UpdateIf:
		f := op.Fields[0]
		equal := d.Equal
		if equal == nil {
			equal = func(_ *Column, quoted, mark string) string { return quoted + " = " + mark }
		}
		set := update(f)
		out.Write = made("%s%s%s", set, d.If, equal(&t.Fields[f], names[f], mark()))
	case Read, ReadModifyWrite, Update:
		if op.Action != Update {
			out.Read = made("SELECT %s FROM %s WHERE %s = %s", list, table, key, mark())
		}
		switch {
		case op.Action == Read:
		case op.Fields != nil:
			out.Write = made("%s", update(op.Fields...))
		default:
			for f := range names {
				out.Updates = append(out.Updates, made("%s", update(f)))
			}
		}
	default:
		return out, &Error{Class: Other, Err: fmt.Errorf("%s can't do the action %q", d.System, op.Action)}
	}
	return out, nil
}

// ReadArgs calls add for the arguments of the statement that reads, but for a limit.
func ReadArgs(action Action, op *Op, add func(v []byte)) {
	if action == ReadModifyWrite {
		action = Read
	}
	TextArgs(action, op, add)
}

// TextArgs calls add for the arguments of an operation's statement, but for a scan's and an index read's limit, in the order of the parameters. Of
// a read-modify-write they are those of its update.
func TextArgs(action Action, op *Op, add func(v []byte)) {
	all := func(values [][]byte) {
		for _, v := range values {
			add(v)
		}
	}
	switch action {
	case Update, ReadModifyWrite:
		all(op.Values)
		add(op.Key)
	case UpdateIf:
		add(op.Values[0])
		add(op.Key)
		add(op.Values[1])
	case ReadByIndex:
		add(op.Values[0])
	case BatchRead:
		all(op.Keys)
	case BatchInsert:
		n := len(op.Values) / len(op.Keys)
		for i, key := range op.Keys {
			add(key)
			all(op.Values[i*n : (i+1)*n])
		}
	case Insert, InsertIfAbsent:
		add(op.Key)
		all(op.Values)
	default: // by key; values may be there from the operation before
		add(op.Key)
	}
}

// HasLimit says whether a statement of the action has the operation's limit as its last parameter.
func HasLimit(a Action) bool { return a == Scan || a == ReadByIndex }

// A Prepared is an operation type whose statements a session has prepared, each as an S; those that it doesn't need are nil. Of a transaction it has
// none: its program's are prepared apart.
type Prepared[S any] struct {
	Action      Action
	Read, Write *S
	Columns     int // of a row that is read
	updates     []*S
}

// PrepareRecord has the statements of an operation type prepared.
func PrepareRecord[S any](d *Dialect, w *Workload, op OpType, prepare func(st RecordStatement, reads bool) (*S, error)) (out Prepared[S], err error) {
	out.Action = op.Action
	if op.Action == Transaction {
		return out, nil
	}
	texts, err := d.RecordStatements(&w.Tables[op.Table], op)
	if err != nil {
		return out, err
	}
	out.Columns = texts.Columns
	one := func(st RecordStatement, reads bool) *S {
		if err != nil || st.Text == "" {
			return nil
		}
		var s *S
		s, err = prepare(st, reads)
		return s
	}
	out.Read, out.Write = one(texts.Read, true), one(texts.Write, false)
	for _, st := range texts.Updates {
		out.updates = append(out.updates, one(st, false))
	}
	return out, err
}

// WriteOf is the statement that writes: where the operation type leaves open which field an update changes, that of the operation's.
func (p *Prepared[S]) WriteOf(op *Op) (*S, error) {
	if p.Write != nil {
		return p.Write, nil
	}
	if len(op.Fields) != 1 || op.Fields[0] >= len(p.updates) {
		return nil, &Error{Class: Other, Err: fmt.Errorf("an update of %d fields was not prepared", len(op.Fields))}
	}
	return p.updates[op.Fields[0]], nil
}
