package workload

import (
	"context"
	"errors"

	"sextant/interp/driver"
	"sextant/interp/load"
)

// The statements around the steps of a transaction on records, as Workload.Statements has them.
const (
	beginStatement = iota
	commitStatement
)

// plan makes the shape of the workload: operations of several requests are programs, which call the actions behind the operations.
func (t *table) plan() {
	t.shape = driver.Workload{Tables: []driver.Table{t.table}}
	t.calls = make([][]int, len(t.ops))
	for i, o := range t.ops {
		var calls []driver.OpType
		switch o.Action {
		case driver.UpdateIf:
			calls = []driver.OpType{{Name: "read", Action: driver.Read}, o}
			o = driver.OpType{Name: o.Name, Action: driver.Transaction, One: true}
		case driver.Transaction:
			t.shape.Statements = []driver.Statement{{Parts: []string{"BEGIN"}}, {Parts: []string{"COMMIT"}}}
			for _, a := range t.steps[o.Name] {
				calls = append(calls, t.opType(string(a)))
			}
		}
		t.shape.Ops = append(t.shape.Ops, o)
		for _, c := range calls {
			t.calls[i] = append(t.calls[i], len(t.ops)+len(t.shape.Calls))
			t.shape.Calls = append(t.shape.Calls, c)
		}
	}
}

// step is one request of a program. It draws with buffers of its own.
type step struct {
	*generator
	typ   *driver.OpType
	op    driver.Op
	reply driver.Reply
}

// program draws all steps of an operation, so that another attempt does the same.
func (g *generator) program(r *load.Rand, n int, calls []int, op *driver.Op) {
	op.Type, op.Keys, op.Fields, op.Values = n, nil, nil, nil
	for len(g.pool) < len(calls) {
		g.pool = append(g.pool, &step{generator: g.t.generator(g.choose)})
	}
	g.steps = g.pool[:len(calls)]
	cas := g.t.ops[n].Action == driver.UpdateIf
	for i, s := range g.steps {
		s.typ = &g.t.shape.Calls[calls[i]-len(g.t.ops)]
		if cas && i == 1 {
			s.fillIf(r, &g.steps[0].op)
			op.ID, op.Key, op.Fields, op.Values = s.op.ID, s.op.Key, s.typ.Fields, s.op.Values[:1]
		} else {
			s.fill(r, s.typ, &s.op)
		}
		s.op.Type = calls[i]
	}
	if cas {
		op.Program = (*comparison)(g)
	} else {
		op.Program = (*recordTransaction)(g)
	}
}

// fillIf draws the value that an update with a condition writes to the record that was read.
func (s *step) fillIf(r *load.Rand, read *driver.Op) {
	f := s.typ.Fields[0]
	s.op.ID, s.op.Key = read.ID, read.Key
	s.all[f] = s.t.value(f, s.all[f], r, read.ID)
	s.op.Values = append(s.op.Values[:0], s.all[f], nil)
}

// comparison is a compare-and-set: it reads a record, and changes a field if that still has the value that was read. If it has not, another client
// was in between: a conflict, of which another attempt reads anew.
type comparison generator

func (c *comparison) Run(ctx context.Context, s driver.Session, reply *driver.Reply) error {
	read, write := c.steps[0], c.steps[1]
	read.reply = driver.Reply{Keep: true, Values: read.reply.Values[:0]}
	if err := s.Do(ctx, &read.op, &read.reply); err != nil || read.reply.Rows == 0 {
		return err
	}
	f := write.typ.Fields[0]
	if f >= len(read.reply.Values) {
		return &driver.Error{Class: driver.Other, Err: errors.New("a read gave fewer values than the record has fields")}
	}
	write.some[0] = append(write.some[0][:0], read.reply.Values[f]...) // the session uses its memory again
	write.op.Values[1] = write.some[0]
	reply.Bytes = read.reply.Bytes
	if err := ctx.Err(); err != nil {
		return err
	}
	write.reply = driver.Reply{}
	if err := s.Do(ctx, &write.op, &write.reply); err != nil {
		return err
	}
	if reply.Rows = write.reply.Rows; reply.Rows > 0 {
		return nil
	}
	return &driver.Error{Class: driver.Conflict, Code: "not applied", Err: errors.New("the field had changed since it was read")}
}

// recordTransaction is a transaction of several steps on records, each with a record of its own.
type recordTransaction generator

func (c *recordTransaction) Run(ctx context.Context, s driver.Session, reply *driver.Reply) error {
	t, ok := s.(driver.Transactor)
	if !ok {
		return errNoSQL()
	}
	var res driver.Result
	if err := t.Run(ctx, beginStatement, nil, &res); err != nil {
		return err
	}
	for _, st := range c.steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		st.reply = driver.Reply{}
		if err := s.Do(ctx, &st.op, &st.reply); err != nil {
			return err
		}
		reply.Rows += st.reply.Rows
		reply.Bytes += st.reply.Bytes
	}
	return t.Run(ctx, commitStatement, nil, &res)
}
