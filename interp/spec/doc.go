// Package spec is the plain data that every other package speaks: what an experiment is once its script has been
// evaluated. It has no behaviour beyond canonical form, identity and parsing of levels, and imports the standard
// library only.
//
// Map of the package:
//
//	value.go       Value: what an axis or an option may hold; canonical form; Hash
//	types.go       SystemType, WorkloadType, ValueType, Param: what can be written in a script (descriptors, data only)
//	level.go       LevelSetting, Level: the consistency levels of a system and how a script names them
//	experiment.go  Experiment > Cell > Measure (System, Workload, Load, Level): a frozen plan
//	trial.go       Trial, ids and seeds: one cell measured once
//
// The flow: a script is evaluated by interp/lang against a list of descriptors (SystemType, WorkloadType) into
// Experiments; interp/run expands them to Trials, orders and executes them.
package spec
