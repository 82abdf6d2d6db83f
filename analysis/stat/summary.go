package stat

import "slices"

// A Summary describes one sample. Nil: undefined.
type Summary struct {
	Mean      Estimate
	SD, CVPct *float64
	Median    float64
	Min, Max  float64
	Stability string // "" when the CV is undefined
}

// Summarize describes the values of one cell's trials.
func Summarize(x []float64, confidence float64) (Summary, error) {
	m, err := Mean(x, confidence)
	if err != nil {
		return Summary{}, err
	}
	med, err := Median(x)
	if err != nil {
		return Summary{}, err
	}
	s := Summary{Mean: m, SD: SD(x), CVPct: CV(x), Median: med, Min: slices.Min(x), Max: slices.Max(x)}
	if s.CVPct != nil {
		s.Stability = Stability(*s.CVPct)
		if len(x) < provisional {
			s.Stability += " (provisional)"
		}
	}
	return s, nil
}

// provisional is the sample size below which a class of stability may well change with further runs.
const provisional = 10

// Stability is the class of a CV in percent, not rounded: HIGH below 15, MEDIUM below 30, LOW from 30 on, UNKNOWN for NaN.
func Stability(cvPct float64) string {
	switch {
	case cvPct != cvPct:
		return "UNKNOWN"
	case cvPct < 15:
		return "HIGH"
	case cvPct < 30:
		return "MEDIUM"
	}
	return "LOW"
}
