// Package pgscript reads scripts in pgbench's language and runs them: SQL with :variables between meta-commands, as in the
// PostgreSQL documentation of pgbench, "Custom Scripts" (read for version 17; nothing of its code is used).
//
// Map of the package:
//
//	script.go   Parse: a text to a Script: commands with jumps, statements cut at their variables, problems with lines
//	split.go    where SQL commands end: quotes, comments, semicolons
//	expr.go     expressions of \set and \if, parsed to closures
//	cut.go      Named, Positional: single SQL statements cut at their parameters
//	token.go    the words of an expression
//	ops.go      operators on values: integers, doubles, booleans, NULL
//	funcs.go    functions
//	random.go   random, random_exponential, random_gaussian, random_zipfian, hashes
//	program.go  Program: one client's run of a script (a driver.Program)
//
// Differences from pgbench, each an error at plan time and never a silent one: \setshell and \shell are refused, as are
// variables within quotes, \; and permute(). Variables don't live on from one transaction to the next one. NULL is sent as
// NULL, where pgbench sends the text "NULL" or, for a column that \gset took, an empty one. \syncpipeline waits for its replies.
package pgscript
