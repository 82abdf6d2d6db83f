package sidebyside

import (
	"context"
	"math"
	"slices"
	"strconv"
	"testing"

	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// Operations runs the first n operations of a workload of programs on one session.
func Operations(t *testing.T, sys driver.System, w load.Workload, n int) {
	t.Helper()
	s, err := sys.Session(t.Context(), spec.Level{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // its operations are looked at
	shape := *w.Shape()
	if err := s.Prepare(t.Context(), &shape); err != nil {
		t.Fatal(err)
	}
	w.Start(7)
	g := w.Client(0)
	var op driver.Op
	for i := range n {
		var r load.Rand
		r.Seek(7, 0, uint64(i))
		g.Next(&r, &op)
		if err := op.Program.Run(t.Context(), s, &driver.Reply{}); err != nil {
			t.Fatalf("operation %d: %v", i, err)
		}
	}
}

// Rows are the rows of a query as texts.
func Rows(t *testing.T, s driver.Scripter, text string) [][]string {
	t.Helper()
	_, rows, err := s.Query(t.Context(), text, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for _, r := range rows {
		var line []string
		for _, v := range r {
			line = append(line, spec.Display(v))
		}
		out = append(out, line)
	}
	return out
}

// Number reads a number of a log or a table.
func Number(t *testing.T, s string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Keys are the first integer arguments of the statements that n operations of a workload of programs run.
func Keys(t *testing.T, w load.Workload, n int) []float64 {
	t.Helper()
	s := &keeper{}
	g := w.Client(0)
	var op driver.Op
	for i := range n {
		var r load.Rand
		r.Seek(3, 0, uint64(i))
		g.Next(&r, &op)
		if err := op.Program.Run(context.Background(), s, &driver.Reply{}); err != nil {
			t.Fatal(err)
		}
	}
	return s.keys
}

// keeper is a session that only keeps the first argument of each statement.
type keeper struct {
	driver.Transactor
	keys []float64
}

func (k *keeper) Run(_ context.Context, _ int, args []driver.Arg, res *driver.Result) error {
	res.Reset()
	if len(args) > 0 && args[0].Kind == driver.IntArg {
		k.keys = append(k.keys, float64(args[0].Int))
	}
	return nil
}

// Alike compares two samples by chi-square over ten classes between their extremes, and over ten within the middle half of
// all values, at 10^-6.
func Alike(t *testing.T, what string, x, y []float64) {
	t.Helper()
	all := slices.Sorted(slices.Values(slices.Concat(x, y)))
	classes(t, what, x, y, all[0], all[len(all)-1])
	if low, high := all[len(all)/4], all[len(all)*3/4]; high > low {
		classes(t, what+" in the middle", x, y, low, high)
	}
}

func classes(t *testing.T, what string, x, y []float64, low, high float64) {
	t.Helper()
	var c [2][12]float64 // below, ten classes, above
	for k, sample := range [][]float64{x, y} {
		for _, v := range sample {
			c[k][min(max(1+int(math.Floor((v-low)/(high-low+1)*10)), 0), 11)]++
		}
	}
	var chi, df float64
	for i := range c[0] {
		sum := c[0][i] + c[1][i]
		if sum == 0 {
			continue
		}
		df++
		for k, n := range []float64{float64(len(x)), float64(len(y))} {
			want := sum * n / float64(len(x)+len(y))
			chi += (c[k][i] - want) * (c[k][i] - want) / want
		}
	}
	df--
	const z = 4.753 // the normal quantile of 1 - 10^-6
	// Wilson and Hilferty 1931: the quantile of chi-square
	if limit := df * math.Pow(1-2/(9*df)+z*math.Sqrt(2/(9*df)), 3); df > 0 && chi > limit {
		t.Errorf("%s is drawn otherwise: chi-square %.1f of %.0f degrees, %v", what, chi, df, c)
	}
}
