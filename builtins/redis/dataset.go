package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sextant/interp/driver"
)

// The keys beside the records: which dataset the database holds, and the keys in order where scans need them.
const (
	markerKey = "sextant:dataset"
	indexKey  = "_indices"
)

// state is what the database holds: its fingerprint, "" when it is not sextant's, and how many records.
func state(ctx context.Context, l *links) (fingerprint string, records int64, empty bool, err error) {
	v, err := l.call(ctx, "GET", markerKey)
	if err != nil {
		return "", 0, false, err
	}
	fingerprint, _ = v.(string)
	for _, x := range l.wires {
		v, err = x.call("DBSIZE")
		if err != nil {
			return "", 0, false, err
		}
		n, _ := v.(int64)
		records += n
	}
	if records == 0 {
		return "", 0, true, nil
	}
	if fingerprint == "" {
		return "", records, false, nil
	}
	v, err = l.call(ctx, "EXISTS", indexKey)
	if err != nil {
		return "", 0, false, err
	}
	index, _ := v.(int64)
	return fingerprint, records - 1 - index, false, nil
}

// onLinks runs fn with a connection to every node that has keys; ctx ends it.
func (s *system) onLinks(ctx context.Context, fn func(*links) error) error {
	if s.slotMap.Load() == nil {
		return s.with(ctx, func(x *wire) error { return fn(&links{s: s, wires: []*wire{x}}) })
	}
	l, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer l.close() //nolint:errcheck // every reply was read
	for i, x := range l.wires {
		if x == nil {
			return &driver.Error{Class: driver.Unavailable, Err: fmt.Errorf("the node %s of the cluster does not answer", l.m.nodes[i])}
		}
	}
	stop := context.AfterFunc(ctx, l.interrupt)
	defer stop()
	if err := fn(l); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	return nil
}

// call does a command on the node of its first key.
func (l *links) call(ctx context.Context, command, key string, more ...string) (any, error) {
	x, err := l.to(ctx, []byte(key))
	if err != nil {
		return nil, err
	}
	return x.call(append([]string{command, key}, more...)...)
}

// flushDB empties the database on every node.
func (l *links) flushDB() error {
	for _, x := range l.wires {
		if _, err := x.call("FLUSHDB"); err != nil {
			return err
		}
	}
	return nil
}

// ordered refuses tables that are scanned on a cluster.
func (l *links) ordered(w *driver.Workload) error {
	if l.m == nil || !slices.ContainsFunc(w.Tables, func(t driver.Table) bool { return t.Ordered }) {
		return nil
	}
	return &driver.Error{Class: driver.Other, Err: errors.New("scans need the keys in one sorted set, which a cluster has on one node: scan one server")}
}

// one says whether a workload fits: a database holds one table of records, or any number of keys of other kinds.
func one(w *driver.Workload) error {
	if len(w.Tables) > 0 && !slices.ContainsFunc(w.Tables, func(t driver.Table) bool { return t.Store == "" }) {
		return nil
	}
	if len(w.Tables) != 1 {
		return fmt.Errorf("a Redis database holds one table of records, not %d", len(w.Tables))
	}
	return nil
}

func (s *system) Inspect(ctx context.Context, w *driver.Workload) (st driver.DatasetState, err error) {
	if err := one(w); err != nil {
		return st, err
	}
	err = s.onLinks(ctx, func(l *links) error {
		fp, n, empty, err := state(ctx, l)
		if err != nil || empty {
			return err
		}
		st = driver.DatasetState{Exists: true, Ours: fp != "", Rows: []int64{n}}
		if w.Tables[0].Store != "" {
			if st.Rows, err = sizes(ctx, l, w.Tables, n); err != nil {
				return err
			}
		}
		if !strings.HasPrefix(fp, "loading ") {
			st.Fingerprint = fp
		}
		return nil
	})
	if err != nil {
		return st, fmt.Errorf("looking at the dataset: %w", err)
	}
	return st, nil
}

// foreign is the error about a database with keys that sextant did not make.
func (s *system) foreign(ctx context.Context, l *links) error {
	fp, n, empty, err := state(ctx, l)
	if err != nil || empty || fp != "" {
		return err
	}
	return &driver.Error{Class: driver.Constraint, Err: fmt.Errorf("database %d has %d keys that sextant did not make; it is left as it is", s.opt.DB, n),
		Hint: "name an empty database, such as redis://host:6379/9"}
}

// batch is how many records are sent before their replies are read.
const batch = 500

// Load empties the database, when it is sextant's, and fills it with pipelined HSETs. The fingerprint is set last.
func (s *system) Load(ctx context.Context, w *driver.Workload, fingerprint string, rows driver.RowSource) error {
	if err := one(w); err != nil {
		return err
	}
	return s.onLinks(ctx, func(l *links) error {
		if err := l.ordered(w); err != nil {
			return err
		}
		if err := s.foreign(ctx, l); err != nil {
			return err
		}
		if err := l.flushDB(); err != nil {
			return err
		}
		if _, err := l.call(ctx, "SET", markerKey, "loading "+fingerprint); err != nil {
			return err
		}
		for k := range w.Tables {
			if err := fill(ctx, l, &w.Tables[k], k, rows); err != nil {
				return err
			}
		}
		_, err := l.call(ctx, "SET", markerKey, fingerprint)
		return err
	})
}

// fill loads one table in pipelined batches.
func fill(ctx context.Context, l *links, t *driver.Table, index int, rows driver.RowSource) error {
	var row driver.Row
	n := rows.Rows(index)
	replies := map[*wire]int{}
	var key []byte // as Redis has it
	for at := int64(0); at < n; at += batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i := at; i < min(at+batch, n); i++ {
			rows.Row(index, i, &row)
			switch t.Store {
			case "":
				key = row.Key
			case "string":
				key = append(append(append(key[:0], t.Name...), ':'), row.Key...)
			default:
				key = append(key[:0], t.Name...)
			}
			x, err := l.to(ctx, key)
			if err != nil {
				return err
			}
			if t.Store != "" {
				replies[x] += put(x, t, key, &row)
				continue
			}
			replies[x] += record(x, t, row.Key, row.Values)
		}
		for x := range replies {
			if err := x.flush(); err != nil {
				return err
			}
		}
		for x, n := range replies {
			for range n {
				var c sum
				if err := x.count(&c); err != nil {
					return fmt.Errorf("loading: %w", err)
				}
			}
		}
		clear(replies)
	}
	return nil
}

// put writes the command that adds a row to the store of a key.
func put(x *wire, t *driver.Table, key []byte, row *driver.Row) int {
	var words [][]byte
	switch t.Store {
	case "string":
		words = [][]byte{[]byte("SET"), key, row.Values[0]}
	case "list":
		words = [][]byte{[]byte("RPUSH"), key, row.Values[0]}
	case "set":
		words = [][]byte{[]byte("SADD"), key, row.Values[0]}
	case "fields":
		words = [][]byte{[]byte("HSET"), key, row.Key, row.Values[0]}
	case "zset":
		words = [][]byte{[]byte("ZADD"), key, row.Key, row.Values[0]}
	default:
		words = [][]byte{[]byte("XADD"), key, []byte("*"), []byte("myfield"), row.Values[0]}
	}
	x.begin(len(words))
	for _, w := range words {
		x.part(w)
	}
	return 1
}

// sizes counts the rows of stores: the elements of each, and for strings the keys that are none of the others.
func sizes(ctx context.Context, l *links, tables []driver.Table, keys int64) ([]int64, error) {
	out := make([]int64, len(tables))
	strings := -1
	for i, t := range tables {
		command := map[string]string{"list": "LLEN", "set": "SCARD", "zset": "ZCARD", "fields": "HLEN", "stream": "XLEN"}[t.Store]
		if command == "" {
			strings = i
			continue
		}
		v, err := l.call(ctx, command, t.Name)
		if err != nil {
			return nil, err
		}
		if out[i], _ = v.(int64); out[i] > 0 {
			keys--
		}
	}
	if strings >= 0 {
		out[strings] = keys
	}
	return out, nil
}

// hset writes HSET key field value ...; fields nil: all. It returns 1, the number of replies.
func hset(x *wire, t *driver.Table, key []byte, fields []int, values [][]byte) int {
	x.begin(2 + 2*len(values))
	x.text("HSET")
	x.part(key)
	for i, v := range values {
		f := i
		if fields != nil {
			f = fields[i]
		}
		x.text(t.Fields[f].Name)
		x.part(v)
	}
	return 1
}

// record writes a new record, with its place in the order where scans need one.
func record(x *wire, t *driver.Table, key []byte, values [][]byte) (replies int) {
	replies = hset(x, t, key, nil, values)
	if t.Ordered {
		replies += zadd(x, key)
	}
	return replies
}

func zadd(x *wire, key []byte) int {
	x.begin(4)
	x.text("ZADD")
	x.text(indexKey)
	x.text("0")
	x.part(key)
	return 1
}

func (s *system) Drop(ctx context.Context, w *driver.Workload) error {
	if err := one(w); err != nil {
		return err
	}
	return s.onLinks(ctx, func(l *links) error {
		if err := s.foreign(ctx, l); err != nil {
			return err
		}
		return l.flushDB()
	})
}
