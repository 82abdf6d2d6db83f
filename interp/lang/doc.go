// Package lang turns a Starlark script into experiments. Evaluation is pure and bounded: no network, no clock, no files
// but load() within the script's own folder, limits on steps, time and memory.
//
// Map of the package:
//
//	lang.go        Registry, Options, Program; Eval: file -> Program, or *Problems with everything that is wrong
//	load.go        modules: reading within the script's folder, load()
//	tree.go        the syntax trees behind positions: which argument of which call; the guard of repeats
//	problem.go     Problem: position, source line, caret, stack, suggestion
//	starlarkerr.go Starlark's own errors -> Problems
//	args.go        binding of arguments to a table of parameters
//	convert.go     Starlark values <-> spec.Value
//	values.go      what constructors return: system, workload, load, measure, tagged value, secret
//	sweep.go       grid, paired, rows, +, *, .where, .exclude
//	memo.go        functions of the cell, called once per combination of axis values that they read
//	builtins.go    the predeclared names
//	experiment.go  experiment(...): declaration
//	expand.go      declaration -> spec.Experiment
//	fields.go      the keywords of measure(...): values, checks
//	window.go      operations(...), until(...): windows that don't end by time; saturation(...): ramps that end early
//	hooks.go       hooks at run time: ctx
//	analyze.go     the analyze hook: r
//	tablevalue.go  result tables in a script: where, select, sort, column; tablegroup.go: group, pivot
//	stats.go, statsmore.go   stats.NAME on lists of numbers; statstables.go on tables
//	where.go       --where expressions
//	format.go      Format
//
// Nothing stops at the first mistake: a constructor that finds one reports it and returns an invalid value that absorbs
// whatever is done with it, so the rest of the file is checked too.
package lang
