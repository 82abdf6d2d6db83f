package workload

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// A sysStep is one kind of statement that sysbench's OLTP scripts run: how often an event does, and with what.
type sysStep struct {
	option string // the option that says how often; the name of the statement
	times  int
	text   []string // cut at the table's number and the parameters: the number stands between the first two
	args   string   // i an id, e the end of a range from it, k a k, c a c, p a pad
	second *sysStep // runs behind each one, with the same id
}

// statements is how many the step has on a number of tables.
func (s *sysStep) statements(tables int) int {
	if s.second != nil {
		return 2 * tables
	}
	return tables
}

// The statements of sysbench 1.0's OLTP scripts (its oltp_common.lua, read for the facts; shared definitions).
func sysSteps() []sysStep {
	between := func(option, what, more string) sysStep {
		return sysStep{option: option, text: []string{"SELECT " + what + " FROM sbtest", " WHERE id BETWEEN ", " AND ", more}, args: "ie"}
	}
	return []sysStep{
		{option: "point_selects", text: []string{"SELECT c FROM sbtest", " WHERE id=", ""}, args: "i"},
		between("simple_ranges", "c", ""),
		between("sum_ranges", "SUM(k)", ""),
		between("order_ranges", "c", " ORDER BY c"),
		between("distinct_ranges", "DISTINCT c", " ORDER BY c"),
		{option: "index_updates", text: []string{"UPDATE sbtest", " SET k=k+1 WHERE id=", ""}, args: "i"},
		{option: "non_index_updates", text: []string{"UPDATE sbtest", " SET c=", " WHERE id=", ""}, args: "ci"},
		{option: "delete_inserts", text: []string{"DELETE FROM sbtest", " WHERE id=", ""}, args: "i",
			second: &sysStep{text: []string{"INSERT INTO sbtest", " (id, k, c, pad) VALUES (", ", ", ", ", ", ", ")"}, args: "ikcp"}},
		{option: "deletes", text: []string{"DELETE FROM sbtest", " WHERE id=", ""}, args: "i"},
		{option: "inserts", text: []string{"INSERT INTO sbtest", " (k, c, pad) VALUES (", ", ", ", ", ")"}, args: "kcp"},
	}
}

// sysTest is one of sysbench's OLTP scripts: its statements with their number in an event, in order.
type sysTest struct {
	name        string
	steps       []string
	transaction bool
}

func sysTests() []sysTest {
	reads := []string{"point_selects", "simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges"}
	writes := []string{"index_updates", "non_index_updates", "delete_inserts"}
	return []sysTest{
		{"oltp_point_select", []string{"point_selects"}, false},
		{"oltp_read_only", reads, true},
		{"oltp_write_only", writes, true},
		{"oltp_read_write", append(slices.Clone(reads), writes...), true},
		{"oltp_update_index", []string{"index_updates"}, false},
		{"oltp_update_non_index", []string{"non_index_updates"}, false},
		{"oltp_delete", []string{"deletes"}, false},
		{"oltp_insert", []string{"inserts"}, false},
	}
}

func sysNames() []string {
	var out []string
	for _, t := range sysTests() {
		out = append(out, t.name, strings.TrimPrefix(t.name, "oltp_"))
	}
	return out
}

// sysCounts are the options that say how often an event has a statement, with their defaults.
func sysCounts() []spec.Param {
	count := func(name string, def int64, what string) spec.Param {
		return spec.Param{Name: name, Kind: spec.KindInt, Default: def, Doc: what + " in an event of the scripts with transactions", Check: spec.Between(0, 10000)}
	}
	return []spec.Param{count("point_selects", 10, "selects by id"), count("simple_ranges", 1, "ranges"), count("sum_ranges", 1, "ranges summed up"),
		count("order_ranges", 1, "ranges in order"), count("distinct_ranges", 1, "ranges without duplicates"), count("index_updates", 1, "updates of k"),
		count("non_index_updates", 1, "updates of c"), count("delete_inserts", 1, "rows deleted and inserted again")}
}

func sysParams() []spec.Param {
	return append([]spec.Param{
		{Name: "test", Kind: spec.KindString, Required: true, OneOf: sysNames(), Doc: "one of sysbench's scripts, with or without oltp_"},
		{Name: "tables", Kind: spec.KindInt, Default: int64(1), Doc: "tables sbtest1, sbtest2, ...; each group of statements takes one of them", Check: spec.Between(1, 10000)},
		{Name: "table_size", Kind: spec.KindInt, Default: int64(10000), Doc: "rows of each", Check: spec.Between(1, 1<<31-1)},
		{Name: "distribution", Kind: spec.KindString, Default: "special", OneOf: sysDistributions(), Doc: "of the ids, as --rand-type names it"},
		{Name: "skip_trx", Kind: spec.KindBool, Default: false, Doc: "leave out BEGIN and COMMIT"},
		{Name: "range_size", Kind: spec.KindInt, Default: int64(100), Doc: "ids in a range", Check: spec.Between(1, 1<<31-1)},
	}, sysCounts()...)
}

// sysbench is the load.Workload of sysbench's OLTP scripts.
type sysbench struct {
	test      sysTest
	steps     []sysStep
	tables    int64
	size      int64
	rangeSize int64
	draw      func(r *load.Rand, n int64) int64 // from 1 to n
	trx       bool
	begin     int // number of BEGIN among the statements, behind those of the steps
	seed      uint64
}

func newSysbench(p map[string]any, seed uint64) (*sysbench, error) {
	w := &sysbench{tables: p["tables"].(int64), size: p["table_size"].(int64), rangeSize: p["range_size"].(int64), seed: seed}
	if w.tables*w.size > 1<<40 {
		return nil, &spec.ParamError{Param: "table_size", Msg: fmt.Sprintf("of %d in %d tables is more than 2^40 rows", w.size, w.tables)}
	}
	name := "oltp_" + strings.TrimPrefix(p["test"].(string), "oltp_")
	for _, t := range sysTests() {
		if t.name == name {
			w.test = t
		}
	}
	w.trx = w.test.transaction && !p["skip_trx"].(bool)
	w.draw = sysDraw(p["distribution"].(string), w.size)
	for _, s := range sysSteps() {
		if !slices.Contains(w.test.steps, s.option) {
			continue
		}
		if s.times = 1; w.test.transaction {
			s.times = int(p[s.option].(int64))
		}
		if s.times > 0 {
			w.steps = append(w.steps, s)
			w.begin += s.statements(int(w.tables))
		}
	}
	if len(w.steps) == 0 {
		return nil, &spec.ParamError{Param: "test", Msg: fmt.Sprintf("%s has no statement left: all its counts are 0", w.test.name)}
	}
	return w, nil
}

func resolveSysbench(p map[string]any) (*spec.Workload, error) {
	w, err := newSysbench(p, 0)
	if err != nil {
		return nil, err
	}
	out := &spec.Workload{Params: p, Ops: []string{w.test.name}, Actions: []string{string(driver.Transaction)},
		Resizes: w.test.name == "oltp_insert" || w.test.name == "oltp_delete",
		Dataset: spec.Dataset{Rows: w.tables * w.size, RowBytes: 190, Schema: map[string]any{"tables": "sysbench", "number": w.tables, "table_size": w.size,
			"distribution": p["distribution"], "version": int64(dataVersion)}}}
	for _, s := range w.steps {
		out.Modifies = out.Modifies || !strings.HasPrefix(s.text[0], "SELECT")
	}
	return out, nil
}

func (w *sysbench) Shape() *driver.Workload {
	out := &driver.Workload{Ops: []driver.OpType{{Name: w.test.name, Action: driver.Transaction}}}
	for t := range w.tables {
		out.Tables = append(out.Tables, driver.Table{Name: fmt.Sprintf("sbtest%d", t+1), Key: "id", KeyType: driver.Int, Serial: true, Rows: w.size, Indexes: []string{"k"},
			Fields: []driver.Column{{Name: "k", Type: driver.Int, Bytes: 4}, {Name: "c", Type: driver.Char, Bytes: 120}, {Name: "pad", Type: driver.Char, Bytes: 60}}})
	}
	add := func(s *sysStep) {
		for t := range w.tables {
			parts := append([]string{fmt.Sprintf("%s%d%s", s.text[0], t+1, s.text[1])}, s.text[2:]...)
			out.Statements = append(out.Statements, driver.Statement{Parts: parts})
		}
	}
	for i := range w.steps {
		add(&w.steps[i])
		if w.steps[i].second != nil {
			add(w.steps[i].second)
		}
	}
	if w.trx {
		out.Statements = append(out.Statements, driver.Statement{Parts: []string{"BEGIN"}}, driver.Statement{Parts: []string{"COMMIT"}})
	}
	return out
}

func (w *sysbench) Rows(int) int64 { return w.size }

func (w *sysbench) Row(table int, i int64, row *driver.Row) {
	row.ID = i
	row.Key = strconv.AppendInt(row.Key[:0], i+1, 10)
	if len(row.Values) != 3 {
		row.Values = [][]byte{make([]byte, 0, 10), make([]byte, 0, 120), make([]byte, 0, 60)}
	}
	var r load.Rand
	r.Seek(w.seed, uint64(table), uint64(i))
	row.Values[0] = strconv.AppendInt(row.Values[0][:0], w.draw(&r, w.size), 10)
	row.Values[1] = appendGroups(row.Values[1][:0], &r, 10)
	row.Values[2] = appendGroups(row.Values[2][:0], &r, 5)
}

// appendGroups appends groups of eleven digits with dashes between them.
func appendGroups(b []byte, r *load.Rand, n int) []byte {
	const digits = 11
	for g := range n {
		if g > 0 {
			b = append(b, '-')
		}
		v := r.Uint64N(100_000_000_000)
		at := len(b)
		b = append(b, "00000000000"...)
		for i := digits - 1; i >= 0; i-- {
			b[at+i] = '0' + byte(v%10)
			v /= 10
		}
	}
	return b
}

func (w *sysbench) Start(uint64) {}

func (w *sysbench) Client(int) load.Generator {
	return &sysClient{w: w, args: make([]driver.Arg, 0, 4), c: make([]byte, 0, 120), pad: make([]byte, 0, 60)}
}

// sysClient is one client's generator and program.
type sysClient struct {
	w      *sysbench
	start  load.Rand
	rng    load.Rand
	args   []driver.Arg
	c, pad []byte
	res    driver.Result
}

func (c *sysClient) Next(r *load.Rand, op *driver.Op) {
	c.start = *r
	op.Type, op.Program = 0, c
}

// Run does one event. A group of statements takes one table, as the scripts do.
func (c *sysClient) Run(ctx context.Context, s driver.Session, reply *driver.Reply) error {
	t, ok := s.(driver.Transactor)
	if !ok {
		return errNoSQL()
	}
	c.rng, c.args = c.start, c.args[:0]
	w := c.w
	tables := int(w.tables)
	first := 0 // number of the step's first statement
	if w.trx {
		if err := c.run(ctx, t, w.begin, reply); err != nil {
			return err
		}
	}
	for i := range w.steps {
		step := &w.steps[i]
		table := int(c.rng.Uint64N(uint64(tables)))
		for range step.times {
			id := w.draw(&c.rng, w.size)
			c.bind(step.args, id)
			if err := c.run(ctx, t, first+table, reply); err != nil {
				return err
			}
			if step.second != nil {
				c.bind(step.second.args, id)
				if err := c.run(ctx, t, first+tables+table, reply); err != nil {
					return err
				}
			}
		}
		first += step.statements(tables)
	}
	if w.trx {
		c.args = c.args[:0]
		return c.run(ctx, t, w.begin+1, reply)
	}
	return nil
}

// bind draws the arguments of a statement.
func (c *sysClient) bind(args string, id int64) {
	c.args = c.args[:0]
	for _, a := range []byte(args) {
		x := driver.Arg{Kind: driver.IntArg, Int: id}
		switch a {
		case 'e':
			x.Int = id + c.w.rangeSize - 1
		case 'k':
			x.Int = c.w.draw(&c.rng, c.w.size)
		case 'c':
			c.c = appendGroups(c.c[:0], &c.rng, 10)
			x = driver.Arg{Kind: driver.TextArg, Text: c.c}
		case 'p':
			c.pad = appendGroups(c.pad[:0], &c.rng, 5)
			x = driver.Arg{Kind: driver.TextArg, Text: c.pad}
		}
		c.args = append(c.args, x)
	}
}

func (c *sysClient) run(ctx context.Context, t driver.Transactor, n int, reply *driver.Reply) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.Run(ctx, n, c.args, &c.res); err != nil {
		return err
	}
	reply.Rows += c.res.Rows
	reply.Bytes += c.res.Bytes
	return nil
}

func sysDistributions() []string {
	return []string{"special", "uniform", "gaussian", "pareto", "zipfian"}
}

// Parameters of sysbench's distributions, by default.
const (
	sysIterations = 12   // --rand-spec-iter: numbers whose mean is about normal
	sysHotShare   = 0.75 // --rand-spec-res: of the draws, for the hot values
	sysHotValues  = 0.01 // --rand-spec-pct: of the values, around the middle
	sysParetoH    = 0.2  // --rand-pareto-h
	sysZipfTheta  = 0.8  // --rand-zipfian-exp
)

// sysDraw draws from 1 to size as sysbench 1.0 does by the name of its --rand-type.
func sysDraw(name string, size int64) func(r *load.Rand, n int64) int64 {
	t := float64(size - 1)
	middle := func(r *load.Rand) int64 {
		var sum float64
		for range sysIterations {
			sum += math.Floor(r.Float64() * float64(size))
		}
		return 1 + int64(sum/sysIterations)
	}
	switch name {
	case "uniform":
		return func(r *load.Rand, n int64) int64 { return 1 + int64(r.Uint64N(uint64(n))) }
	case "gaussian":
		return func(r *load.Rand, _ int64) int64 { return middle(r) }
	case "pareto":
		power := math.Log(sysParetoH) / math.Log(1-sysParetoH)
		return func(r *load.Rand, n int64) int64 { return 1 + int64(float64(n)*math.Pow(r.Float64(), power)) }
	case "zipfian":
		z := newZipf(sysZipfTheta, size)
		return func(r *load.Rand, _ int64) int64 { return 1 + z.next(r) }
	}
	// special: one number decides between the two parts and places the hot value, so these are the upper three quarters of
	// the values around the middle, as samples of the tool show.
	low, width := 1+t/2-t*sysHotValues/2, 1+t*sysHotValues
	return func(r *load.Rand, n int64) int64 {
		u := r.Float64()
		if u < 1-sysHotShare {
			return middle(r)
		}
		return min(int64(low+u*width), n)
	}
}
