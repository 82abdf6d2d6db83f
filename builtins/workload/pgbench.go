package workload

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sextant/builtins/workload/pgscript"
	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// builtinScript is one of pgbench's own scripts (PostgreSQL documentation, pgbench, "What Is the “Transaction” Actually
// Performed in pgbench?"; shared definitions: ids uniform over their table, delta uniform from -5000 to 5000).
type builtinScript struct{ name, shown, text string }

func builtinScripts() []builtinScript {
	draw := "\\set aid random(1, 100000 * :scale)\n\\set bid random(1, 1 * :scale)\n\\set tid random(1, 10 * :scale)\n\\set delta random(-5000, 5000)\n"
	update := "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"
	others := "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\nUPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n"
	history := "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n"
	return []builtinScript{
		{"tpcb", "tpcb-like", draw + "BEGIN;\n" + update + others + history + "END;\n"},
		{"simple-update", "simple-update", draw + "BEGIN;\n" + update + history + "END;\n"},
		{"select-only", "select-only", "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"},
	}
}

func builtinNames() []string {
	out := []string{"tpcb-like"}
	for _, b := range builtinScripts() {
		out = append(out, b.name)
	}
	return out
}

// Rows of each table per unit of scale, and the scale from which account numbers need 64 bits.
const (
	pgbenchTellers  = 10
	pgbenchAccounts = 100_000
	pgbenchBigScale = 20_000
	pgbenchMaxScale = 1_000_000
)

// pgbenchTables are pgbench's tables at a scale, in the order in which it makes them.
func pgbenchTables(scale int64) []driver.Table {
	col := func(name string, t driver.Type, bytes int) driver.Column {
		return driver.Column{Name: name, Type: t, Bytes: bytes}
	}
	aid := driver.Int
	if scale >= pgbenchBigScale {
		aid = driver.BigInt
	}
	return []driver.Table{
		{Name: "pgbench_accounts", Key: "aid", KeyType: aid, Rows: scale * pgbenchAccounts,
			Fields: []driver.Column{col("bid", driver.Int, 4), col("abalance", driver.Int, 4), col("filler", driver.Char, 84)}},
		{Name: "pgbench_branches", Key: "bid", KeyType: driver.Int, Rows: scale, Hot: true,
			Fields: []driver.Column{col("bbalance", driver.Int, 4), col("filler", driver.Char, 88)}},
		{Name: "pgbench_tellers", Key: "tid", KeyType: driver.Int, Rows: scale * pgbenchTellers, Hot: true,
			Fields: []driver.Column{col("bid", driver.Int, 4), col("tbalance", driver.Int, 4), col("filler", driver.Char, 84)}},
		{Name: "pgbench_history", Volatile: true,
			Fields: []driver.Column{col("tid", driver.Int, 4), col("bid", driver.Int, 4), col("aid", aid, 4), col("delta", driver.Int, 4),
				col("mtime", driver.Timestamp, 8), col("filler", driver.Char, 22)}},
	}
}

// pgbench is the load.Workload of pgbench's scripts.
type pgbench struct {
	scale   int64
	tables  bool
	scripts []*pgscript.Script
	weights []float64
	bounds  []uint64
	seed    int64
	zero    []byte // of rows
	blank   []byte
}

// newPgbench reads the parameters of workload.pgbench.
func newPgbench(p map[string]any) (*pgbench, error) {
	w := &pgbench{scale: p["scale"].(int64), tables: p["tables"].(bool), zero: []byte("0"), blank: []byte{}}
	name, _ := p["script"].(string)
	files, _ := p["scripts"].(map[string]any)
	if (name == "") == (len(files) == 0) {
		return nil, &spec.ParamError{Param: "scripts", Msg: fmt.Sprintf("give either one of %s, or files with their weights", strings.Join(builtinNames(), ", "))}
	}
	for _, b := range builtinScripts() {
		if name == b.name || name == b.shown {
			s, err := pgscript.Parse(b.shown, b.text)
			if err != nil {
				return nil, fmt.Errorf("built-in script %s: %w", b.shown, err)
			}
			w.scripts, w.weights = []*pgscript.Script{s}, []float64{1}
		}
	}
	var sum float64
	for _, f := range slices.Sorted(maps.Keys(files)) {
		file := files[f].(map[string]any) // as the language gives a file: its text, and the value of its key
		weight, ok := file["value"].(int64)
		if !ok || weight < 0 {
			return nil, &spec.ParamError{Param: "scripts", Msg: fmt.Sprintf("gives %s the weight %s; a weight is a whole number from 0", f, spec.Display(file["value"]))}
		}
		s, err := pgscript.Parse(f, file["text"].(string))
		if err != nil {
			return nil, &spec.ParamError{Param: "scripts", Msg: fmt.Sprintf("%s, %v", f, err)}
		}
		if weight > 0 {
			w.scripts, w.weights = append(w.scripts, s), append(w.weights, float64(weight))
		}
		sum += float64(weight)
	}
	if name == "" && sum == 0 {
		return nil, &spec.ParamError{Param: "scripts", Msg: "no script has a weight above 0"}
	}
	w.bounds = cumulative(w.weights)
	return w, nil
}

func resolvePgbench(p map[string]any) (*spec.Workload, error) {
	w, err := newPgbench(p)
	if err != nil {
		return nil, err
	}
	out := &spec.Workload{Params: p, Dataset: spec.Dataset{Schema: map[string]any{"tables": "none"}}}
	if w.tables {
		out.Dataset = spec.Dataset{Schema: map[string]any{"tables": "pgbench", "scale": w.scale, "version": int64(1)}, RowBytes: 100}
		for _, t := range pgbenchTables(w.scale) {
			out.Dataset.Rows += t.Rows
		}
	}
	for _, s := range w.scripts {
		out.Ops = append(out.Ops, s.Name)
		out.Actions = append(out.Actions, string(driver.Transaction))
		for _, st := range s.Statements {
			if st.Control() == driver.NoControl && !strings.HasPrefix(strings.ToUpper(st.Parts[0]), "SELECT") {
				out.Modifies = true
			}
		}
	}
	out.Resizes = out.Modifies && w.tables // the history grows; what else a script does is seen by counting
	out.Trims = w.tables                   // also where it only reads: the trial before may have been another script's
	return out, nil
}

func (w *pgbench) Shape() *driver.Workload {
	out := &driver.Workload{}
	if w.tables {
		out.Tables = pgbenchTables(w.scale)
	}
	for _, s := range w.scripts {
		out.Ops = append(out.Ops, driver.OpType{Name: s.Name, Action: driver.Transaction, Sleeps: s.Sleeps()})
		out.Statements = append(out.Statements, s.Statements...)
	}
	return out
}

func (w *pgbench) Rows(table int) int64 { return pgbenchTables(w.scale)[table].Rows }

// Row is row i of a table: balances 0; the filler of accounts is blank, that of the other tables NULL, as pgbench -i has it.
func (w *pgbench) Row(table int, i int64, row *driver.Row) {
	row.ID = i
	row.Key = strconv.AppendInt(row.Key[:0], i+1, 10)
	branch := func(per int64) []byte {
		var old []byte
		if len(row.Values) == 3 { // of these two tables; the values of branches are shared
			old = row.Values[0][:0]
		}
		return strconv.AppendInt(old, i/per+1, 10)
	}
	switch table {
	case 0:
		row.Values = append(row.Values[:0], branch(pgbenchAccounts), w.zero, w.blank)
	case 1:
		row.Values = append(row.Values[:0], w.zero, nil)
	case 2:
		row.Values = append(row.Values[:0], branch(pgbenchTellers), w.zero, nil)
	}
}

func (w *pgbench) Start(seed uint64) { w.seed = int64(seed >> 1) }

func (w *pgbench) Client(client int) load.Generator {
	given := map[string]int64{"client_id": int64(client), "scale": w.scale, "random_seed": w.seed, "default_seed": w.seed}
	g := &scriptGenerator{w: w}
	first := 0
	for _, s := range w.scripts {
		g.programs = append(g.programs, s.NewProgram(first, given))
		first += len(s.Statements)
	}
	return g
}

// scriptGenerator picks one client's next script.
type scriptGenerator struct {
	w        *pgbench
	programs []*pgscript.Program
}

func (g *scriptGenerator) Next(r *load.Rand, op *driver.Op) {
	op.Type = pick(g.w.bounds, r)
	p := g.programs[op.Type]
	p.Begin(r)
	op.Program = p
}

// cumulative makes the bounds by which pick draws from weights.
func cumulative(weights []float64) []uint64 {
	var sum, cum float64
	for _, w := range weights {
		sum += w
	}
	var out []uint64
	for i, w := range weights {
		cum += w
		b := ^uint64(0)
		if cum < sum && i < len(weights)-1 { // from there on only weights of 0 may follow
			b = uint64(cum / sum * 0x1p64)
		}
		out = append(out, b)
	}
	return out
}

// pick draws an index by the weights behind bounds.
func pick(bounds []uint64, r *load.Rand) int {
	u := r.Uint64()
	i := 0
	for u > bounds[i] {
		i++
	}
	return i
}
