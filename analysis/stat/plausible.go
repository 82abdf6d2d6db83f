package stat

import (
	"fmt"
	"math"
)

// A LoadCheck compares a closed loop's numbers by Little's law.
type LoadCheck struct {
	InFlight    float64 // throughput x response time
	GapPct      float64 // of that to the clients, in per cent of them
	ClientSideS float64 // what is left of a client's cycle, in seconds; below 0 it can't be
}

// CheckLoad is Little's law for clients (connections times depth) with a throughput in operations a second and a mean response
// time in seconds. Within one run the operations in flight are no more than the clients.
func CheckLoad(clients, throughput, response float64) (LoadCheck, error) {
	if !(clients > 0) || !(throughput > 0) || !(response >= 0) || clients+throughput+response > 1e150 {
		return LoadCheck{}, fmt.Errorf("Little's law needs clients and a rate above 0, not %v, %v, %v", clients, throughput, response)
	}
	in := LittlesLaw(throughput, response, 0)
	return LoadCheck{InFlight: in, GapPct: 100 * (in - clients) / clients, ClientSideS: clients/throughput - response}, nil
}

// A Plausibility says whether a printed summary of n values can be one at all.
type Plausibility struct {
	Samuelson    float64 // no value is farther from the mean: sd (n-1)/sqrt n
	BhatiaDavis  float64 // no deviation is larger: sqrt((max-mean)(mean-min) n/(n-1))
	MaxDeviation float64 // of minimum and maximum from the mean
	Possible     bool
}

// CheckSummary tests a mean, deviation, minimum and maximum of n values against two bounds (Samuelson 1968; Bhatia and Davis
// 2000).
func CheckSummary(n int, mean, sd, low, high float64) (Plausibility, error) {
	if n < 2 || !(sd >= 0) || usable([]float64{mean, sd, low, high}) != nil {
		return Plausibility{}, fmt.Errorf("a summary of %d values with deviation %v can't be checked", n, sd)
	}
	k := float64(n)
	p := Plausibility{Samuelson: sd * (k - 1) / math.Sqrt(k), MaxDeviation: max(high-mean, mean-low)}
	if spread := (high - mean) * (mean - low); spread >= 0 {
		p.BhatiaDavis = math.Sqrt(spread * k / (k - 1))
		p.Possible = p.MaxDeviation <= p.Samuelson && sd <= p.BhatiaDavis
	}
	return p, nil
}

// RunDifference compares two runs of the same: the change from the first to the second in per cent of the first, their mean,
// and the CV of the two, which is |difference| / (sqrt 2 mean).
func RunDifference(first, second float64) (changePct, mean, cvPct float64, err error) {
	if changePct, err = ChangePct(first, second); err != nil {
		return 0, 0, 0, err
	}
	mean = (first + second) / 2
	if mean == 0 {
		return 0, 0, 0, fmt.Errorf("two runs whose mean is 0 have no CV")
	}
	return changePct, mean, 100 * math.Abs(second-first) / (math.Sqrt2 * math.Abs(mean)), nil
}

// Amplification is how much farther reads are ahead of writes in one setting than in another: the ratio of the two ratios, from
// unrounded numbers.
func Amplification(readA, writeA, readB, writeB float64) (ratioA, ratioB, amplification float64, err error) {
	if !(readA > 0 && writeA > 0 && readB > 0 && writeB > 0) || readA+writeA+readB+writeB > 1e150 {
		return 0, 0, 0, fmt.Errorf("ratios need rates above 0, not %v/%v and %v/%v", readA, writeA, readB, writeB)
	}
	ratioA, ratioB = readA/writeA, readB/writeB
	return ratioA, ratioB, ratioB / ratioA, nil
}

// MeanFromSummary is the t interval of a mean that is known only by its printed mean, deviation and n.
func MeanFromSummary(mean, sd float64, n int, confidence float64) (Estimate, error) {
	if n < 2 || !(sd >= 0) || !(confidence > 0 && confidence < 1) || usable([]float64{mean, sd}) != nil {
		return Estimate{}, fmt.Errorf("no interval of a mean from n = %d and deviation %v", n, sd)
	}
	half := tQuantile(1-(1-confidence)/2, float64(n-1)) * sd / math.Sqrt(float64(n))
	lo, hi := mean-half, mean+half
	return Estimate{Value: mean, Lo: &lo, Hi: &hi, N: n, Method: "mean, t interval from a summary"}, nil
}
