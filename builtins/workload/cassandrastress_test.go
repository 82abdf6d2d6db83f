package workload

import (
	"math"
	"slices"
	"strings"
	"testing"

	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

func stressOf(t *testing.T, params map[string]any) *stress {
	t.Helper()
	return made[*stress](t, "cassandra_stress", params)
}

// operationsOfStress are the first n operations of a client.
func operationsOfStress(w *stress, n int) (kinds []string, seeds []int64) {
	g := w.Client(0)
	var r load.Rand
	var op driver.Op
	for i := range n {
		r.Seek(3, 0, uint64(i))
		g.Next(&r, &op)
		kinds, seeds = append(kinds, w.ops[op.Type]), append(seeds, op.ID+1)
	}
	return kinds, seeds
}

// The tool's commands: statements as its source builds them, tables, and what a trial does to them.
func TestCassandraStressCommands(t *testing.T) {
	for _, c := range []struct {
		params                    map[string]any
		statements                string
		rows                      int64
		trims, resizes, modifies  bool
		distribution, tablesNames string
	}{
		{map[string]any{"command": "write", "columns": int64(2)}, `UPDATE "standard1" SET "C0" = ?,"C1" = ? WHERE KEY=?`, 0, true, true, true, "seq(1..1000000)", "standard1"},
		{map[string]any{"command": "read", "columns": int64(2), "records": int64(50)}, `SELECT "C0","C1" FROM "standard1" WHERE KEY=?`, 50, false, false, false, "gaussian(1..50)", "standard1"},
		{map[string]any{"command": "counter_write", "columns": int64(2)}, `UPDATE counter1 SET "C0"="C0"+?,"C1"="C1"+? WHERE KEY=?`, 0, true, true, true, "seq(1..1000000)", "counter1"},
		{map[string]any{"command": "counter_read", "population": "uniform(1..7)"}, `SELECT * FROM "counter1" WHERE KEY=?`, 1_000_000, false, false, false, "uniform(1..7)", "counter1"},
		{map[string]any{"command": "mixed", "columns": int64(1)}, `UPDATE "standard1" SET "C0" = ? WHERE KEY=?; SELECT "C0" FROM "standard1" WHERE KEY=?`, 1_000_000, false, false, true, "gaussian(1..1000000)", "standard1"},
		{map[string]any{"command": "mixed", "columns": int64(1), "ratio": map[string]any{"counter_write": int64(1), "counter_read": int64(2)}},
			`UPDATE counter1 SET "C0"="C0"+? WHERE KEY=?; SELECT * FROM "counter1" WHERE KEY=?`, 1_000_000, false, true, true, "gaussian(1..1000000)", "counter1"},
	} {
		w, err := resolve(t, "cassandra_stress", c.params)
		if err != nil {
			t.Fatal(err)
		}
		s := stressOf(t, c.params)
		var texts, tables []string
		for _, st := range s.statements {
			texts = append(texts, st.Text(func(int) string { return "?" }))
		}
		for _, x := range s.tables {
			tables = append(tables, x.Name)
		}
		if got := strings.Join(texts, "; "); got != c.statements {
			t.Errorf("%v: %s", c.params, got)
		}
		if w.Dataset.Rows != c.rows || w.Trims != c.trims || w.Resizes != c.resizes || w.Modifies != c.modifies || s.population.String() != c.distribution || strings.Join(tables, " ") != c.tablesNames {
			t.Errorf("%v: %+v, %s over %v", c.params, w, s.population.Distribution, tables)
		}
		if slices.ContainsFunc(w.Actions, func(a string) bool { return a != string(driver.CQL) }) {
			t.Errorf("actions %v", w.Actions)
		}
	}
}

// Writes go through their seeds in order and begin again.
func TestCassandraStressSequence(t *testing.T) {
	w := stressOf(t, map[string]any{"command": "write", "population": "seq(11..13)"})
	if _, seeds := operationsOfStress(w, 7); !slices.Equal(seeds, []int64{11, 12, 13, 11, 12, 13, 11}) {
		t.Errorf("seeds %v", seeds)
	}
	w.Start(1)
	if _, seeds := operationsOfStress(w, 1); seeds[0] != 11 {
		t.Errorf("the next trial begins at %d", seeds[0])
	}
}

// Mixed: shares by ratio, and runs of the same kind as long as the clustering says. A run is followed by another of the same kind by chance.
func TestCassandraStressMixed(t *testing.T) {
	const n = 200_000
	w := stressOf(t, map[string]any{"command": "mixed", "ratio": map[string]any{"write": int64(1), "read": int64(3)}, "clustering": "fixed(4)"})
	kinds, _ := operationsOfStress(w, n)
	reads, changes := 0, 0
	for i, k := range kinds {
		if k == "read" {
			reads++
		}
		if i > 0 && k != kinds[i-1] {
			changes++
			if i%4 != 0 {
				t.Fatalf("the kind changes at operation %d", i)
			}
		}
	}
	if p := float64(reads) / n; math.Abs(p-0.75) > 5*math.Sqrt(0.75*0.25/(n/4)) {
		t.Errorf("%.4f are reads", p)
	}
	if p := float64(changes) / (n / 4); math.Abs(p-2*0.75*0.25) > 0.01 {
		t.Errorf("the kind changes after %.4f of the runs", p)
	}
	w = stressOf(t, map[string]any{"command": "mixed"})
	kinds, seeds := operationsOfStress(w, n)
	changes = 0
	var sum, squares float64
	for i := range kinds {
		if i > 0 && kinds[i] != kinds[i-1] {
			changes++
		}
		sum, squares = sum+float64(seeds[i]), squares+float64(seeds[i])*float64(seeds[i])
	}
	// Runs of gaussian(1..10), mean 5 after cutting off (5.0 to 5.1), each followed by a change with probability 1/2.
	if length := float64(n) / float64(changes) / 2; length < 4.9 || length > 5.2 {
		t.Errorf("runs of %.3f operations", length)
	}
	mean := sum / n
	if dev := math.Sqrt(squares/n - mean*mean); math.Abs(mean-500_000) > 2000 || math.Abs(dev-999_999.0/6) > 2500 {
		t.Errorf("seeds have mean %.0f and deviation %.0f", mean, dev)
	}
}

func TestCassandraStressRefuses(t *testing.T) {
	for _, c := range []struct {
		params map[string]any
		want   string
	}{
		{map[string]any{"command": "read", "population": "uniform(1..2M)"}, "the partitions are 1 to 1000000"},
		{map[string]any{"command": "write", "population": "uniform(0..10)"}, "is over 0 to 10"},
		{map[string]any{"command": "read", "ratio": map[string]any{"read": int64(1)}}, "of the command mixed"},
		{map[string]any{"command": "mixed", "ratio": map[string]any{"raed": int64(1)}}, "there are write, read"},
		{map[string]any{"command": "mixed", "ratio": map[string]any{"raed": int64(1), "read": int64(1)}}, "there are write, read"},
		{map[string]any{"command": "mixed", "ratio": map[string]any{"read": int64(-1)}}, "a number from 0"},
		{map[string]any{"command": "read", "column_bytes": "exp(1..10)"}, "fixed, uniform or gaussian"},
		{map[string]any{"command": "read", "column_bytes": "fixed(0)"}, "sizes from 1"},
		{map[string]any{"command": "mixed", "clustering": "seq(1..10)"}, "can't be a seq"},
		{map[string]any{"command": "mixed", "clustering": "uniform(0..10)"}, "numbers from 1"},
		{map[string]any{"command": "read", "key_bytes": int64(4)}, "too few"},
	} {
		_, err := resolve(t, "cassandra_stress", c.params)
		if pe, ok := err.(*spec.ParamError); !ok || !strings.Contains(pe.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.params, err, c.want)
		}
	}
}

func TestCassandraStressAllocatesNothing(t *testing.T) {
	w := stressOf(t, map[string]any{"command": "mixed"})
	if n := testing.AllocsPerRun(1000, drawing(w)); n > 0.1 { // the first ones make their buffers
		t.Errorf("%g allocations an operation", n)
	}
}
