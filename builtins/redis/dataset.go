package redis

import (
	"context"
	"fmt"
	"strings"

	"sextant/interp/driver"
)

// The keys beside the records: which dataset the database holds, and the keys in order where scans need them.
const (
	markerKey = "sextant:dataset"
	indexKey  = "_indices"
)

// state is what the database holds: its fingerprint, "" when it is not sextant's, and how many records.
func state(x *wire) (fingerprint string, records int64, empty bool, err error) {
	v, err := x.call("GET", markerKey)
	if err != nil {
		return "", 0, false, err
	}
	fingerprint, _ = v.(string)
	v, err = x.call("DBSIZE")
	if err != nil {
		return "", 0, false, err
	}
	n, _ := v.(int64)
	if n == 0 {
		return "", 0, true, nil
	}
	if fingerprint == "" {
		return "", n, false, nil
	}
	v, err = x.call("EXISTS", indexKey)
	if err != nil {
		return "", 0, false, err
	}
	index, _ := v.(int64)
	return fingerprint, n - 1 - index, false, nil
}

// one says whether a workload fits: a database holds one table.
func one(w *driver.Workload) error {
	if len(w.Tables) != 1 {
		return fmt.Errorf("a Redis database holds one table of records, not %d", len(w.Tables))
	}
	return nil
}

func (s *system) Inspect(ctx context.Context, w *driver.Workload) (st driver.DatasetState, err error) {
	if err := one(w); err != nil {
		return st, err
	}
	err = s.with(ctx, func(x *wire) error {
		fp, n, empty, err := state(x)
		if err != nil || empty {
			return err
		}
		st = driver.DatasetState{Exists: true, Ours: fp != "", Rows: []int64{n}}
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
func (s *system) foreign(x *wire) error {
	fp, n, empty, err := state(x)
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
	t := w.Tables[0]
	return s.with(ctx, func(x *wire) error {
		if err := s.foreign(x); err != nil {
			return err
		}
		if _, err := x.call("FLUSHDB"); err != nil {
			return err
		}
		if _, err := x.call("SET", markerKey, "loading "+fingerprint); err != nil {
			return err
		}
		var row driver.Row
		n := rows.Rows(0)
		for at := int64(0); at < n; at += batch {
			if err := ctx.Err(); err != nil {
				return err
			}
			replies := 0
			for i := at; i < min(at+batch, n); i++ {
				rows.Row(0, i, &row)
				replies += hset(x, &t, row.Key, nil, row.Values)
				if t.Ordered {
					replies += zadd(x, row.Key)
				}
			}
			if err := x.flush(); err != nil {
				return err
			}
			for range replies {
				var c sum
				if err := x.count(&c); err != nil {
					return fmt.Errorf("loading: %w", err)
				}
			}
		}
		if _, err := x.call("SET", markerKey, fingerprint); err != nil {
			return err
		}
		return nil
	})
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
	return s.with(ctx, func(x *wire) error {
		if err := s.foreign(x); err != nil {
			return err
		}
		_, err := x.call("FLUSHDB")
		return err
	})
}
