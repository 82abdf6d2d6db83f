package workload

import (
	"context"
	"slices"

	"sextant/builtins/workload/cstress"
	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

func profileParams() []spec.Param {
	return []spec.Param{
		{Name: "file", Kind: spec.KindString, Required: true, Files: true, Doc: "the profile's name, in the folder of the script. Its keyspace is the system's, its consistency levels the experiment's"},
		{Name: "ops", Kind: spec.KindMap, Required: true, Doc: `ratios of insert and of the profile's queries: {"insert": 1, "simple1": 2}`},
		{Name: "records", Kind: spec.KindInt, Default: int64(1_000_000), Doc: "partitions (the tool's n): loaded whole for what reads, written in order by what only inserts", Check: spec.Between(1, 1<<40)},
		populationParam(),
		stressDist("clustering", "gaussian(1..10)", "how many operations of the same kind follow one another at a client"),
	}
}

// profile is the load.Workload of a user profile of cassandra-stress.
type profile struct {
	*cstress.Profile
	ops []*cstress.Query
	turns
	records    int64 // to load
	population partitions
	text       string
}

// The statements around the rows of a batch, behind those of the operations.
func (w *profile) begin() int { return len(w.ops) }
func (w *profile) apply() int { return len(w.ops) + 1 }

// load is the insert by which the table is filled.
func (w *profile) load() int { return len(w.ops) + 2 }

func newProfile(p map[string]any) (*profile, error) {
	f, _ := p["file"].(map[string]any)
	name, _ := f["value"].(string)
	w := &profile{}
	w.text, _ = f["text"].(string)
	var err error
	if w.Profile, err = cstress.ParseProfile(w.text); err != nil {
		return nil, &spec.ParamError{Param: "file", Msg: name + ": " + err.Error()}
	}
	if err := identifier(w.Table.Name); err != nil {
		return nil, &spec.ParamError{Param: "file", Msg: name + ": the table: " + err.Error()}
	}
	queries := map[string]*cstress.Query{"insert": w.Insert}
	known := []string{"insert"}
	for _, q := range w.Queries {
		queries[q.Name], known = q, append(known, q.Name)
	}
	given, _ := p["ops"].(map[string]any)
	names, weights, err := ratioOf("ops", given, known)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		w.ops = append(w.ops, queries[n])
	}
	w.bounds = cumulative(weights)
	records := p["records"].(int64)
	reads := slices.ContainsFunc(w.ops, func(q *cstress.Query) bool { return q != w.Insert })
	if reads {
		w.records = records
	}
	if w.clustering, err = cstress.Parse(p["clustering"].(string)); err != nil || w.clustering.Min < 1 || w.clustering.Sequential() {
		return nil, &spec.ParamError{Param: "clustering", Msg: "must be over numbers from 1, and no seq"}
	}
	return w, w.population.set(p["population"], records, reads)
}

func resolveProfile(p map[string]any) (*spec.Workload, error) {
	w, err := newProfile(p)
	if err != nil {
		return nil, err
	}
	out := &spec.Workload{Params: p, Trims: w.records == 0, Resizes: w.records == 0, Dataset: spec.Dataset{Rows: w.records, RowBytes: int64(w.Table.MaxRows()) * w.Table.RowBytes(),
		Schema: map[string]any{"tables": "cassandra_profile", "profile": w.text, "records": w.records, "version": int64(dataVersion)}}}
	for _, q := range w.ops {
		out.Ops, out.Actions = append(out.Ops, q.Name), append(out.Actions, string(driver.CQL))
		out.Modifies = out.Modifies || !q.Reads
		// An insert writes what is there already, unless it adds to it or leaves columns out; what other statements do can't be told.
		out.Resizes = out.Resizes || q != w.Insert && !q.Reads || q == w.Insert && (w.Insert.Adds || !w.Populate.One())
	}
	return out, nil
}

func (w *profile) Shape() *driver.Workload {
	t := driver.Table{Name: w.Table.Name, Definition: w.Table.Body, After: w.Extra, Rows: w.records, Volatile: w.records == 0}
	for _, c := range w.Table.Partition {
		t.Partition = append(t.Partition, c.Name)
	}
	if t.Duplicates = w.records - 1; w.records == 0 { // populations may be small: partitions of several seeds are one
		t.Duplicates = 0
	}
	for _, c := range w.Table.Columns() {
		t.Fields = append(t.Fields, driver.Column{Name: c.Name, Bytes: int(c.MaxBytes())})
	}
	out := &driver.Workload{Tables: []driver.Table{t}}
	for _, q := range w.ops {
		out.Ops = append(out.Ops, driver.OpType{Name: q.Name, Action: driver.Transaction})
		out.Statements = append(out.Statements, driver.Statement{Parts: q.Parts})
	}
	kind := map[string]string{"UNLOGGED": "UNLOGGED ", "COUNTER": "COUNTER "}[w.Batch]
	out.Statements = append(out.Statements, driver.Statement{Parts: []string{"BEGIN " + kind + "BATCH"}}, driver.Statement{Parts: []string{"APPLY BATCH"}},
		driver.Statement{Parts: w.Insert.Parts})
	return out
}

func (w *profile) Rows(int) int64 { return w.records }

// Row is the first row of a partition in words: the table is filled by Fill.
func (w *profile) Row(_ int, i int64, row *driver.Row) {
	row.ID, row.Key, row.Values = i, nil, row.Values[:0]
	k, columns := w.Table.Walker(), w.Table.Columns()
	k.Open(i + 1)
	k.Rows(cstress.Visit{Chance: 1, Populated: 1}, nil, func(values [][]byte) bool {
		for c, v := range values {
			row.Values = append(row.Values, []byte(columns[c].Display(v)))
		}
		return false
	})
}

// Fill writes whole partitions.
func (w *profile) Fill(s driver.Session) func(ctx context.Context, table int, i int64) error {
	c := w.client()
	return func(ctx context.Context, _ int, i int64) error {
		t, ok := s.(driver.Transactor)
		if !ok {
			return errNoSQL()
		}
		var r load.Rand
		r.Seek(0, 0, uint64(i))
		c.reset()
		c.walker.Open(i + 1)
		c.walker.Rows(cstress.Visit{Chance: 1, Populated: w.Populate.Draw(&r), Insert: true}, &r, func(row [][]byte) bool { c.take(w.Insert, row); return true })
		for c.rows > 0 { // in pieces that any server takes
			n := min(c.rows, fillRows)
			if err := c.write(ctx, t, w.load(), n); err != nil {
				return err
			}
			c.args, c.rows = c.args[n*len(w.Insert.Args):], c.rows-n
		}
		return nil
	}
}

// fillRows is how many rows are loaded by one batch.
const fillRows = 50

func (w *profile) Start(uint64) { w.population.taken.Store(0) }

func (w *profile) Client(int) load.Generator { return w.client() }

func (w *profile) client() *profileClient { return &profileClient{w: w, walker: w.Table.Walker()} }

// profileClient is one client's generator, and the program of its operation.
type profileClient struct {
	w      *profile
	walker *cstress.Walker
	turn
	args  []driver.Arg
	rows  int // that args are for
	arena []byte
	res   driver.Result
}

func (c *profileClient) reset() {
	c.args, c.rows, c.arena = c.args[:0], 0, c.arena[:0]
}

// take adds a row's columns as the arguments of a statement. The walker uses its memory again.
func (c *profileClient) take(q *cstress.Query, row [][]byte) {
	for _, a := range q.Args {
		c.args = append(c.args, c.arg(row[a]))
	}
	c.rows++
}

func (c *profileClient) arg(v []byte) driver.Arg {
	if v == nil {
		return driver.Arg{}
	}
	at := len(c.arena)
	c.arena = append(c.arena, v...) // one that grows leaves the old one to what points into it
	return driver.Arg{Kind: driver.TextArg, Text: c.arena[at:len(c.arena):len(c.arena)]}
}

func (c *profileClient) Next(r *load.Rand, op *driver.Op) {
	w := c.w
	op.Type, op.Program = w.next(&c.turn, r), c
	c.reset()
	q := w.ops[c.op]
	if q == w.Insert {
		for range max(w.Partitions.Draw(r), 1) {
			c.walker.Open(w.population.draw(r))
			c.walker.Rows(cstress.Visit{Chance: w.Select.Draw(r), Populated: w.Populate.Draw(r), Insert: true}, r, func(row [][]byte) bool { c.take(q, row); return true })
		}
		return
	}
	c.walker.Open(w.population.draw(r))
	want := 1
	if !q.SameRow {
		want = max(len(q.Args), 1)
	}
	c.walker.Rows(cstress.Visit{Chance: c.walker.Chance(want), Populated: w.Populate.Draw(r)}, r, func(row [][]byte) bool {
		c.take(q, row)
		return c.rows < want
	})
	if !q.SameRow { // each argument of one of the rows
		n := len(q.Args)
		for i, a := range q.Args {
			if from := int(r.Uint64N(uint64(c.rows))); a >= len(w.Table.Partition) {
				c.args = append(c.args, c.args[from*n+i])
			} else {
				c.args = append(c.args, c.args[i])
			}
		}
		c.args = c.args[c.rows*n:]
	}
	c.rows = 1
}

// Run does the operation: an insert of several rows as one batch.
func (c *profileClient) Run(ctx context.Context, s driver.Session, reply *driver.Reply) error {
	t, ok := s.(driver.Transactor)
	if !ok {
		return errNoSQL()
	}
	if err := c.write(ctx, t, c.op, c.rows); err != nil {
		return err
	}
	reply.Rows, reply.Bytes = c.res.Rows, c.res.Bytes
	return nil
}

// write runs a statement for the first n rows of args.
func (c *profileClient) write(ctx context.Context, t driver.Transactor, number, n int) error {
	per := len(c.args) / c.rows
	if n == 1 {
		return t.Run(ctx, number, c.args[:per], &c.res)
	}
	if err := t.Run(ctx, c.w.begin(), nil, &c.res); err != nil {
		return err
	}
	for i := range n {
		if err := t.Run(ctx, number, c.args[i*per:(i+1)*per], &c.res); err != nil {
			return err
		}
	}
	return t.Run(ctx, c.w.apply(), nil, &c.res)
}
