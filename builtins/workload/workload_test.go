package workload

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// resolve makes a spec from the given parameters and the defaults.
func resolve(t testing.TB, name string, params map[string]any) (*spec.Workload, error) {
	t.Helper()
	for _, wt := range Types() {
		if wt.Name != name {
			continue
		}
		full := map[string]any{}
		for _, p := range wt.Params {
			full[p.Name] = p.Default
			if v, ok := params[p.Name]; ok {
				full[p.Name] = v
			}
		}
		w, err := wt.Resolve(full)
		if err == nil {
			w.Type = name
		}
		return w, err
	}
	t.Fatalf("no workload %q", name)
	return nil, nil
}

// made is a workload of a type, resolved and started.
func made[W load.Workload](t testing.TB, name string, params map[string]any) W {
	t.Helper()
	w, err := resolve(t, name, params)
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(w, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.Start(1)
	return l.(W)
}

func build(t testing.TB, name string, params map[string]any) *table {
	t.Helper()
	return made[*table](t, name, params)
}

func TestKeyVectors(t *testing.T) {
	for n, want := range map[int64]string{0: "user6284781860667377211", 1: "user8517097267634966620", 2: "user1820151046732198393"} {
		if got := string(appendKey(nil, n)); got != want {
			t.Errorf("key of %d is %s, want %s", n, got, want)
		}
	}
}

// stream draws n operations of a client.
func stream(w *table, seed uint64, client int, n int, each func(*driver.Op)) {
	g := w.Client(client)
	var r load.Rand
	var op driver.Op
	for i := range n {
		r.Seek(seed, uint64(client), uint64(i))
		g.Next(&r, &op)
		each(&op)
		g.(load.Acker).Ack(&op, true)
	}
}

// chiSquare is the statistic of observed counts against expected ones; classes with little expectation are joined.
func chiSquare(observed []int64, expected []float64) (stat float64, classes int) {
	var o, e float64
	for i := range observed {
		o += float64(observed[i])
		e += expected[i]
		if e >= 10 || i == len(observed)-1 {
			if e > 0 {
				stat += (o - e) * (o - e) / e
				classes++
			}
			o, e = 0, 0
		}
	}
	return stat, classes
}

// fits fails when the statistic is further than 5 standard deviations above its expectation.
func fits(t *testing.T, what string, observed []int64, expected []float64) {
	t.Helper()
	stat, classes := chiSquare(observed, expected)
	df := float64(classes - 1)
	if limit := df + 5*math.Sqrt(2*df); stat > limit {
		t.Errorf("%s: chi-square %.1f over %d classes, limit %.1f", what, stat, classes, limit)
	}
}

func TestProportions(t *testing.T) {
	want := map[string]map[string]float64{
		"a": {"read": .5, "update": .5}, "b": {"read": .95, "update": .05}, "c": {"read": 1},
		"d": {"read": .95, "insert": .05}, "e": {"scan": .95, "insert": .05}, "f": {"read": .5, "read-modify-write": .5},
	}
	const n = 100_000
	for name, shares := range want {
		w := build(t, "ycsb", map[string]any{"workload": name, "records": int64(1000)})
		got := map[string]int64{}
		stream(w, 7, 0, n, func(op *driver.Op) { got[w.ops[op.Type].Name]++ })
		var observed []int64
		var expected []float64
		for op, s := range shares {
			observed = append(observed, got[op])
			expected = append(expected, s*n)
		}
		fits(t, "workload "+name, observed, expected)
		if len(got) != len(shares) {
			t.Errorf("workload %s has operations %v", name, got)
		}
	}
}

func TestScanLengthsAreUniform(t *testing.T) {
	w := build(t, "ycsb", map[string]any{"workload": "e"})
	observed, expected := make([]int64, 100), make([]float64, 100)
	total := 0
	stream(w, 3, 0, 200_000, func(op *driver.Op) {
		if w.ops[op.Type].Action == driver.Scan {
			observed[op.Limit-1]++
			total++
		}
	})
	for i := range expected {
		expected[i] = float64(total) / 100
	}
	fits(t, "scan lengths 1..100", observed, expected)
}

// Every distribution against its theory, on 10^6 draws.
func TestDistributions(t *testing.T) {
	const n, draws = 1000, 1_000_000
	zipfian := func(theta float64) []float64 {
		z := zetaSum(theta, n)
		p := make([]float64, n)
		for i := range p {
			p[i] = math.Pow(float64(i+1), -theta) / z
		}
		return p
	}
	scatter := func(p []float64) []float64 {
		perm := newPermutation(n)
		out := make([]float64, n)
		for i := range p {
			out[perm.at(int64(i))] = p[i]
		}
		return out
	}
	flat := func(f func(i int) float64) []float64 {
		p := make([]float64, n)
		for i := range p {
			p[i] = f(i)
		}
		return p
	}
	gamma := -math.Log(0.05) / 0.8571428571
	for _, c := range []struct {
		dist map[string]any
		want []float64
	}{
		{map[string]any{"$": "uniform"}, flat(func(int) float64 { return 1.0 / n })},
		{map[string]any{"$": "zipfian", "theta": 0.99}, scatter(zipfian(0.99))},
		{map[string]any{"$": "zipfian", "theta": 1.0}, scatter(zipfian(1))},
		{map[string]any{"$": "zipfian", "theta": 1.5}, scatter(zipfian(1.5))},
		{map[string]any{"$": "hotspot", "keys": 0.2, "operations": 0.8}, flat(func(i int) float64 {
			if i < n/5 {
				return 0.8 / (n / 5)
			}
			return 0.2 / (n - n/5)
		})},
		{map[string]any{"$": "exponential", "percentile": 95.0, "fraction": 0.8571428571}, flat(func(i int) float64 {
			return (math.Exp(-gamma*float64(i)/n) - math.Exp(-gamma*float64(i+1)/n)) / (1 - math.Exp(-gamma))
		})},
		{map[string]any{"$": "sequential"}, flat(func(int) float64 { return 1.0 / n })},
	} {
		ch, err := chooserOf(c.dist, n, 0)
		if err != nil {
			t.Fatal(err)
		}
		var r load.Rand
		observed := make([]int64, n)
		for i := range draws {
			r.Seek(5, 0, uint64(i))
			observed[ch.choose(&r, n)]++
		}
		expected := make([]float64, n)
		for i := range expected {
			expected[i] = c.want[i] * draws
		}
		fits(t, fmt.Sprint(c.dist), observed, expected)
	}
}

// The hottest keys have the shares that the literature and YCSB's code give.
func TestHottestKeys(t *testing.T) {
	share := func(dist map[string]any, n int64) float64 {
		ch, err := chooserOf(dist, n, 0)
		if err != nil {
			t.Fatal(err)
		}
		var r load.Rand
		counts := map[int64]int{}
		top := 0
		for i := range 400_000 {
			r.Seek(9, 0, uint64(i))
			k := ch.choose(&r, n)
			counts[k]++
			top = max(top, counts[k])
		}
		return 100 * float64(top) / 400_000
	}
	if s := share(map[string]any{"$": "zipfian", "theta": 0.99}, 1000); math.Abs(s-12.9) > 0.3 {
		t.Errorf("zipfian over 1000: hottest key %.2f %%, want 12.9", s)
	}
	for _, n := range []int64{1000, 100_000} {
		if s := share(map[string]any{"$": "scrambled_zipfian"}, n); math.Abs(s-3.78) > 0.25 {
			t.Errorf("scrambled zipfian over %d: hottest key %.2f %%, want 3.78", n, s)
		}
	}
}

func TestZetaAgainstTheSum(t *testing.T) {
	for _, theta := range []float64{0.2, 0.5, 0.99} {
		c := zetaConstant(theta)
		for _, n := range []int64{1, 2, 255, 256, 257, 1000, 1_000_000} {
			if got, want := zetaAt(theta, c, n), zetaSum(theta, n); math.Abs(got/want-1) > 1e-11 {
				t.Errorf("zeta(%d, %v) = %v, the sum is %v", n, theta, got, want)
			}
		}
	}
	if got := zetaAt(ycsbTheta, zetaConstant(ycsbTheta), scrambledItems); math.Abs(got/scrambledZeta-1) > 1e-6 {
		t.Errorf("zeta(10^10, 0.99) = %v, YCSB has %v", got, scrambledZeta)
	}
}

func TestPermutationIsOne(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 5, 100, 1023, 1024, 1025} {
		p := newPermutation(n)
		seen := map[int64]bool{}
		for i := range n {
			k := p.at(i)
			if k < 0 || k >= n || seen[k] {
				t.Fatalf("n=%d: %d goes to %d", n, i, k)
			}
			seen[k] = true
		}
	}
	if p := newPermutation(1 << 40); p.at(1<<40-1) >= 1<<40 {
		t.Error("out of range for 2^40")
	}
}

// The same (seed, client, index) gives the same operation, another client another stream.
func TestRule9OperationsArePure(t *testing.T) {
	take := func(seed uint64, client int) []string {
		var out []string
		w := build(t, "ycsb", map[string]any{"workload": "a", "records": int64(5000)})
		stream(w, seed, client, 200, func(op *driver.Op) {
			out = append(out, fmt.Sprint(op.Type, op.ID, string(op.Key), op.Fields, op.Values))
		})
		return out
	}
	if !slices.Equal(take(1, 2), take(1, 2)) {
		t.Error("two runs of one stream differ")
	}
	if slices.Equal(take(1, 2), take(1, 3)) || slices.Equal(take(1, 2), take(2, 2)) {
		t.Error("streams of different clients or seeds are equal")
	}
}

func TestRule9RowsArePure(t *testing.T) {
	a := build(t, "ycsb", map[string]any{"workload": "a"})
	b := build(t, "ycsb", map[string]any{"workload": "e"})
	var ra, rb driver.Row
	keys := map[string]bool{}
	for i := range int64(1000) {
		a.Row(0, i, &ra)
		b.Row(0, i, &rb)
		if string(ra.Key) != string(rb.Key) || fmt.Sprint(ra.Values) != fmt.Sprint(rb.Values) {
			t.Fatalf("row %d differs between two instances", i)
		}
		keys[string(ra.Key)] = true
		for f, v := range ra.Values {
			if len(v) != 100 {
				t.Fatalf("field %d has %d bytes", f, len(v))
			}
			for _, c := range v {
				if c < ' ' || c > '~' {
					t.Fatalf("field %d holds byte %d", f, c)
				}
			}
		}
	}
	if len(keys) != 1000 {
		t.Errorf("1000 rows have %d keys", len(keys))
	}
}

// No key is ever drawn above the last acknowledged insert, while inserts go on at all clients.
func TestKeysStayBelowTheLastAcknowledgedInsert(t *testing.T) {
	for _, name := range []string{"d", "e"} {
		w := build(t, "ycsb", map[string]any{"workload": name, "records": int64(100)})
		var acked sync.Map // id -> true, set before Ack
		var wg sync.WaitGroup
		for client := range 4 {
			wg.Go(func() {
				g := w.Client(client)
				var r load.Rand
				var op driver.Op
				for i := range 20_000 {
					r.Seek(1, uint64(client), uint64(i))
					g.Next(&r, &op)
					if w.ops[op.Type].Action == driver.Insert {
						acked.Store(op.ID, true)
						g.(load.Acker).Ack(&op, i%7 != 0)
						continue
					}
					if _, ok := acked.Load(op.ID); op.ID >= 100 && !ok {
						t.Errorf("workload %s: key %d was drawn before its insert was acknowledged", name, op.ID)
						return
					}
				}
			})
		}
		wg.Wait()
		if got := w.keys.acked.Load(); got != w.keys.next.Load() {
			t.Errorf("workload %s: %d of %d records are readable after all is acknowledged", name, got, w.keys.next.Load())
		}
	}
}

func TestLatestIsHottestAtTheEnd(t *testing.T) {
	w := build(t, "ycsb", map[string]any{"workload": "d", "records": int64(1000)})
	hits := map[int64]int{}
	n := 0
	stream(w, 2, 0, 50_000, func(op *driver.Op) {
		if w.ops[op.Type].Action == driver.Read {
			hits[w.keys.acked.Load()-1-op.ID]++
			n++
		}
	})
	if s := float64(hits[0]) / float64(n); s < 0.10 || s > 0.14 {
		t.Errorf("the last acknowledged record gets %.3f of the reads, want about 0.12", s)
	}
}

func TestDeletesTakeEachRecordOnce(t *testing.T) {
	w := build(t, "records", map[string]any{"records": int64(500), "mix": map[string]any{"delete": int64(1), "read": 1.0}})
	gone := map[int64]bool{}
	stream(w, 1, 0, 800, func(op *driver.Op) {
		switch {
		case w.ops[op.Type].Action == driver.Delete && gone[op.ID]:
			t.Errorf("record %d is deleted twice", op.ID)
		case w.ops[op.Type].Action == driver.Delete:
			gone[op.ID] = true
		case gone[op.ID]:
			t.Errorf("record %d is read after its delete", op.ID)
		}
	})
}

func TestCountsAre64Bit(t *testing.T) {
	const n = int64(1) << 33
	w := build(t, "records", map[string]any{"records": n, "mix": map[string]any{"read": int64(1)}})
	above := 0
	stream(w, 1, 0, 1000, func(op *driver.Op) {
		if op.ID < 0 || op.ID >= n {
			t.Fatalf("key %d of %d", op.ID, n)
		}
		if op.ID > math.MaxInt32 {
			above++
		}
	})
	if above < 600 {
		t.Errorf("%d of 1000 keys are above 2^31", above)
	}
}

func TestBadParameters(t *testing.T) {
	for _, c := range []struct {
		params map[string]any
		param  string
		hint   string
	}{
		{map[string]any{"mix": map[string]any{"raed": int64(1)}}, "mix", "read"},
		{map[string]any{"mix": map[string]any{"read": int64(0)}}, "mix", ""},
		{map[string]any{"mix": map[string]any{"read": -1.0}}, "mix", ""},
		{map[string]any{"mix": map[string]any{"read": "x"}}, "mix", ""},
		{map[string]any{"mix": map[string]any{"read": int64(1)}, "update_fields": int64(11)}, "update_fields", ""},
		{map[string]any{"mix": map[string]any{"read": int64(1)}, "field_bytes": "x"}, "field_bytes", ""},
		{map[string]any{"mix": map[string]any{"read": int64(1)}, "field_bytes": int64(0)}, "field_bytes", ""},
		{map[string]any{"mix": map[string]any{"read": int64(1)}, "field_bytes": map[string]any{"Ä": int64(1)}}, "field_bytes", ""},
		{map[string]any{"mix": map[string]any{"read": int64(1)}, "field_bytes": map[string]any{"id": int64(1)}}, "field_bytes", ""},
	} {
		c.params["records"] = int64(10)
		_, err := resolve(t, "records", c.params)
		var pe *spec.ParamError
		if !errors.As(err, &pe) || pe.Param != c.param || pe.Suggestion != c.hint {
			t.Errorf("%v: %v", c.params, err)
		}
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	for _, name := range ycsbNames() {
		if n := testing.AllocsPerRun(2000, drawing(build(t, "ycsb", map[string]any{"workload": name}))); n != 0 {
			t.Errorf("workload %s: %v allocations per operation", name, n)
		}
	}
	for _, a := range driver.RecordActions() { // each alone: a mean over a mix is rounded
		if n := testing.AllocsPerRun(2000, drawing(alone(t, a, 1000, 2, 20))); n != 0 {
			t.Errorf("%s: %v allocations per operation", a, n)
		}
	}
}

// alone is a workload of one action on records.
func alone(t testing.TB, action string, records, fields, bytes int64) load.Workload {
	t.Helper()
	return build(t, "records", map[string]any{"records": records, "fields": fields, "field_bytes": bytes, "indexes": []any{"field0"}, "mix": map[string]any{action: int64(1)}})
}

func BenchmarkNext(b *testing.B) {
	next := func(name string, w func() load.Workload) {
		b.Run(name, func(b *testing.B) {
			one := drawing(w())
			b.ReportAllocs()
			for b.Loop() {
				one()
			}
		})
	}
	for _, name := range ycsbNames() {
		next(name, func() load.Workload {
			return build(b, "ycsb", map[string]any{"workload": name, "records": int64(1_000_000)})
		})
	}
	for _, a := range driver.RecordActions() {
		next(a, func() load.Workload { return alone(b, a, 1_000_000, 10, 100) })
	}
}
