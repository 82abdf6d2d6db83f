package workload

import (
	"fmt"
	"slices"

	"sextant/interp/driver"
	"sextant/interp/load"
)

// A mix is what a workload over one table of records does, resolved.
type mix struct {
	table   driver.Table
	ops     []driver.OpType // parallel to weights
	weights []float64
	dist    map[string]any
	updates int                            // fields that an update changes
	changed []int                          // which ones, when it is always these; nil: the first ones, or one at random
	gens    []*gen                         // parallel to the table's fields; nil: random texts of their sizes
	made    any                            // what gens came from, for the dataset's identity
	steps   map[string][]driver.Action     // of transactions, by the name of the operation
	batch   int                            // records of a batch
	lookups int64                          // most records of a read by an index
	key     func(b []byte, n int64) []byte // appends the key of record n; nil: YCSB's
	scanMax int64                          // longest scan
}

// table is the load.Workload of a mix.
type table struct {
	mix
	seed   uint64 // of the rows
	keys   keyspace
	text   *pairs
	bounds []uint64 // cumulative weights over the 64-bit range, parallel to ops
	shape  driver.Workload
	calls  [][]int // parallel to ops: of those that are programs, the operation types that they do, as indexes into shape.All()
}

func newTable(m mix, seed uint64) (*table, error) {
	t := &table{mix: m, seed: seed, text: textPairs()}
	t.bounds = cumulative(m.weights)
	if t.key == nil {
		t.key = appendKey
	}
	if _, err := chooserOf(m.dist, m.table.Rows, 0); err != nil {
		return nil, err
	}
	t.plan()
	return t, nil
}

// Shape is made anew for each caller, who may add to it.
func (t *table) Shape() *driver.Workload {
	w := t.shape
	return &w
}

func (t *table) Rows(int) int64 { return t.table.Rows }

// Row is record i: pure in the seed and i.
func (t *table) Row(_ int, i int64, row *driver.Row) {
	row.ID = i
	row.Key = t.key(row.Key[:0], i)
	row.Values = t.values(row.Values)
	t.fillRow(i, row.Values, new(load.Rand))
}

// fillRow makes the values of record i, with a random generator whose state is lost.
func (t *table) fillRow(i int64, values [][]byte, r *load.Rand) {
	for f, v := range values {
		r.Seek(t.seed, uint64(f), uint64(i))
		values[f] = t.value(f, v, r, i)
	}
}

// value makes a value of a field; its memory is used again.
func (t *table) value(f int, old []byte, r *load.Rand, i int64) []byte {
	if t.gens != nil {
		return t.gens[f].append(old[:0], r, i)
	}
	t.text.fill(old, r)
	return old
}

// values is a set of buffers, one per field, reused when it is there already.
func (t *table) values(old [][]byte) [][]byte {
	if len(old) == len(t.table.Fields) {
		return old
	}
	var size int
	for _, f := range t.table.Fields {
		size += f.Bytes
	}
	all := make([]byte, size)
	out := make([][]byte, len(t.table.Fields))
	for i, f := range t.table.Fields {
		out[i], all = all[:f.Bytes:f.Bytes], all[f.Bytes:]
	}
	return out
}

func (t *table) Start(uint64) { t.keys.reset(t.table.Rows) }

func (t *table) Client(client int) load.Generator {
	c, err := chooserOf(t.dist, t.table.Rows, client)
	if err != nil {
		panic(err) // newTable has made one already
	}
	return t.generator(c)
}

func (t *table) generator(c chooser) *generator {
	return &generator{t: t, choose: c, all: t.values(nil), key: make([]byte, 0, 32), some: make([][]byte, t.updates), fields: make([]int, t.updates)}
}

// generator makes one client's operations. Its buffers are reused by every call.
type generator struct {
	t      *table
	choose chooser
	key    []byte
	all    [][]byte // a buffer per field
	some   [][]byte // those of the fields that an update changes
	fields []int
	own    load.Rand // of rows
	pool   []*step   // of programs, made when they are first needed
	steps  []*step   // of the program at hand
	batch  [][]byte  // keys of a batch
	many   [][]byte  // values of a batch
}

func (g *generator) Next(r *load.Rand, op *driver.Op) {
	n := pick(g.t.bounds, r)
	op.Program = nil
	if calls := g.t.calls[n]; calls != nil {
		g.program(r, n, calls, op)
		return
	}
	g.fill(r, &g.t.ops[n], op)
	op.Type = n
}

// fill draws what an operation of a type does.
func (g *generator) fill(r *load.Rand, typ *driver.OpType, op *driver.Op) {
	t := g.t
	op.Keys, op.Fields, op.Values, op.Limit = nil, nil, nil, 0
	switch typ.Action {
	case driver.BatchRead, driver.BatchInsert:
		g.fillBatch(r, typ, op)
		return
	case driver.Insert, driver.InsertIfAbsent:
		op.ID = t.keys.take()
		t.fillRow(op.ID, g.all, &g.own)
		op.Values = g.all
	case driver.Delete:
		op.ID = t.keys.drop()
	case driver.Scan:
		op.ID = g.draw(r)
		op.Limit = int(1 + r.Uint64N(uint64(t.scanMax)))
	case driver.ReadByIndex: // the value that a drawn record was made with
		op.ID = g.draw(r)
		f := typ.Fields[0]
		g.own.Seek(t.seed, uint64(f), uint64(op.ID))
		g.all[f] = t.value(f, g.all[f], &g.own, op.ID)
		op.Values, op.Limit = g.all[f:f+1], int(t.lookups)
	case driver.Update, driver.ReadModifyWrite:
		op.ID = g.draw(r)
		g.update(r, typ, op)
	default:
		op.ID = g.draw(r)
	}
	g.key = t.key(g.key[:0], op.ID)
	op.Key = g.key
}

// draw takes the number of a record that exists.
func (g *generator) draw(r *load.Rand) int64 {
	n := g.t.keys.acked.Load()
	k := g.choose.choose(r, n)
	if low := g.t.keys.low.Load(); k < low && low < n {
		k = low + k%(n-low) // its record is deleted: take one that is left
	}
	return k
}

// update picks the changed fields: always the first ones when there are several, else one at random.
func (g *generator) update(r *load.Rand, typ *driver.OpType, op *driver.Op) {
	for i := range g.fields {
		f := i
		if typ.Fields == nil {
			f = int(r.Uint64N(uint64(len(g.all))))
		} else {
			f = typ.Fields[i]
		}
		g.all[f] = g.t.value(f, g.all[f], r, op.ID)
		g.fields[i], g.some[i] = f, g.all[f]
	}
	op.Fields, op.Values = g.fields, g.some
}

// fillBatch draws the records of a batch: those to read one by one, new ones in a row.
func (g *generator) fillBatch(r *load.Rand, typ *driver.OpType, op *driver.Op) {
	t, n := g.t, len(g.t.table.Fields)
	if g.batch == nil {
		g.batch, g.many = make([][]byte, typ.Batch), make([][]byte, 0, typ.Batch*n)
		for range typ.Batch {
			g.many = append(g.many, t.values(nil)...)
		}
	}
	insert := typ.Action == driver.BatchInsert
	if insert {
		op.ID = t.keys.takeAll(int64(typ.Batch))
		op.Values = g.many
	}
	for i := range g.batch {
		id := op.ID + int64(i)
		if insert {
			t.fillRow(id, g.many[i*n:(i+1)*n], &g.own)
		} else {
			id = g.draw(r)
		}
		g.batch[i] = t.key(g.batch[i][:0], id)
	}
	op.Keys, op.Key = g.batch, g.batch[0]
}

// Ack makes an insert's record readable for all clients.
func (g *generator) Ack(op *driver.Op, _ bool) {
	if g.t.calls[op.Type] == nil {
		g.ack(g.t.ops[op.Type].Action, op)
		return
	}
	for _, s := range g.steps {
		g.ack(s.typ.Action, &s.op)
	}
}

func (g *generator) ack(a driver.Action, op *driver.Op) {
	switch a {
	case driver.Insert, driver.InsertIfAbsent:
		g.t.keys.ack(op.ID)
	case driver.BatchInsert:
		for i := range op.Keys {
			g.t.keys.ack(op.ID + int64(i))
		}
	}
}

// columns makes n text fields of the same size.
func columns(n, bytes int64) []driver.Column {
	out := make([]driver.Column, n)
	for i := range out {
		out[i] = driver.Column{Name: fmt.Sprintf("field%d", i), Bytes: int(bytes)}
	}
	return out
}

// has says whether an action is part of the mix, or of its transactions.
func (m *mix) has(actions ...driver.Action) bool {
	in := func(a driver.Action) bool { return slices.Contains(actions, a) }
	return slices.ContainsFunc(m.ops, func(o driver.OpType) bool { return in(o.Action) || slices.ContainsFunc(m.steps[o.Name], in) })
}
