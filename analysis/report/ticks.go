package report

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// shortTicks writes the labels of an axis without needless digits: 20k for 20000.
func shortTicks(of plot.Ticker) func(lo, hi float64) []plot.Tick {
	return func(lo, hi float64) []plot.Tick {
		ticks := of.Ticks(lo, hi)
		for i := range ticks {
			if ticks[i].Label != "" {
				ticks[i].Label = shortNumber(ticks[i].Value)
			}
		}
		return ticks
	}
}

func shortNumber(v float64) string {
	a := math.Abs(v)
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if a >= u.size {
			return strconv.FormatFloat(v/u.size, 'g', 4, 64) + u.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// logTicks are 1, 2, 5 in every decade where there are few, else the decades.
func logTicks(lo, hi float64) []plot.Tick {
	var out []plot.Tick
	steps := []float64{1, 2, 5}
	if hi/lo > 1000 {
		steps = steps[:1]
	}
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for _, s := range steps {
			if v := s * math.Pow(10, e); v >= lo*0.999 && v <= hi*1.001 {
				out = append(out, plot.Tick{Value: v, Label: shortNumber(v)})
			}
		}
	}
	return out
}
