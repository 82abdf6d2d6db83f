// Package cstress makes the rows of cassandra-stress, byte for byte: what the tool has written is what is expected here, and the other way round.
//
// Map of the package:
//
//	java.go          javaRandom and fasterRandom: the generators that the tool's rows come from
//	distribution.go  Parse, Distribution: gaussian(1..10M), uniform(4..8), fixed(34), ~exp(1..5), ...
//	row.go           Rows: the key and the columns of a seed, of the predefined commands
//	stream.go        draws from a distribution after a seed
//	profile.go       ParseProfile: user profiles in YAML; cql.go: their table and statements
//	value.go         Column: values of every type, in the form of the protocol
//	partition.go     Walker: the rows of a partition of a profile's table
//
// A row of the predefined commands is a function of its seed, a number from 1: the key's text is drawn from it, and the columns are drawn from a hash of the key. The
// facts are those of the tool's source (versions 3.11 to 5.0) and of the tables that it leaves.
package cstress
