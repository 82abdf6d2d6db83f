// Package stat is statistics as pure functions over []float64, on gonum. Numbers come with their interval, n, method and
// warnings; what is undefined (the deviation of one value) is nil, never 0 and never NaN.
//
// Map of the package:
//
//	estimate.go  Mean (t interval), SD, CV, Quantile (Hyndman-Fan types 1, 6, 7, 8), Median
//	twosample.go Welch, Paired, MannWhitney, HodgesLehmann, EffectSize
//	correlation.go  Pearson, Spearman, Kendall, Autocorrelation, DurbinWatson
//	groups.go    ANOVA, BrownForsythe, KruskalWallis; Bonferroni, Holm, BenjaminiHochberg
//	ratio.go     Ratio, ChangePct, Scalability, LittlesLaw
//	order.go     QuantileInterval (by ranks), SignedRank (Wilcoxon)
//	equivalence.go  TOST, GeometricMean, TwoLevelMean
//	bootstrap.go Resample: BCa intervals
//	usl.go       USL: the universal scalability law
//	trend.go     MannKendall, MSER5: is a series steady, and where does its warm-up end
//	regression.go   Linear (least squares), ANOVA2 (two factors)
//	changepoints.go ChangePoints (PELT), EnergySplit (E-divisive), LevelSplit, SteadyFrom, NoiseSigma
//	design.go    Power, SampleSize, Fieller, ShortestMedianRanks, SDFactors
//	plausible.go CheckLoad, CheckSummary, RunDifference, Amplification: can published numbers be?
//	hdr.go       HDR: what other tools' histograms say; Corrected: for coordinated omission
//	summary.go   Summarize: one sample's description; Stability: its class by CV
//
// Definitions and test vectors (testdata/vectors.json) were computed in R 4.2 and cross-checked with scipy.
package stat
