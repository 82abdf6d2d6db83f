// Package cstress makes the rows of cassandra-stress, byte for byte: what the tool has written is what is expected here, and the other way round.
//
// Map of the package:
//
//	java.go          javaRandom and fasterRandom: the generators that the tool's rows come from
//	distribution.go  Parse, Distribution: gaussian(1..10M), uniform(4..8), fixed(34), ~exp(1..5), ...
//	row.go           Rows: the key and the columns of a seed
//
// A row is a function of its seed, a number from 1: the key's text is drawn from it, and the columns are drawn from a hash of the key. The
// facts are those of the tool's source (versions 3.11 to 5.0) and of the tables that it leaves.
package cstress
