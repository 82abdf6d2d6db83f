// Package audit checks the arithmetic of published tables: whether what is printed can follow from what is printed beside it.
//
// Map of the package:
//
//	read.go     Tables: CSV, Markdown and tab-separated tables of a text, with their captions
//	number.go   Num: a printed number as the interval that rounds to it
//	audit.go    Audit: every check on every table; Finding: one row's result with its computation
//	derived.go  columns that follow from two others: per cent changes and ratios
//	checks.go   intervals, deviations, correlations, Bonferroni marks, classes, Little's law, counts, order of percentiles
//
// A number is taken as anything that rounds to what is printed, so rounding alone is never a finding. A finding is no proof of
// a wrong measurement: means of ratios differ from ratios of means, and columns can be read in more than one way.
package audit
