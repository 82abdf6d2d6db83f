package load

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"slices"

	"sextant/interp/driver"
)

// A Ledger is what the clients of a trial have written to a sample of the rows, to be compared with what is there afterwards. Several clients may
// have written the same field at the same time; the ledger knows for each write when it was sent and when it was acknowledged. What is there
// may be any write that no other one has followed for sure: none that was sent after it was acknowledged. A write without an acknowledgement
// (time-out, lost connection) may have been done at any time since, or not at all.
type Ledger struct{ clients []*ledger }

// ledger is one client's part. Of its own acknowledged writes to a field only the last one counts.
type ledger struct {
	below uint64 // rows whose scattered number is below are in the sample
	seed  maphash.Seed
	types []driver.OpType
	rows  map[int64][]writes // by record number: whether the row exists, then its fields
}

// writes are those to one field.
type writes struct {
	acked   version
	has     bool
	counts  bool // of existence: a row was inserted or deleted
	unknown []version
}

type version struct {
	hash       uint64
	sent, done int64
}

// The values of the pseudo-field that says whether a row exists.
const (
	gone = iota + 1
	exists
)

// maxUnknown is how many unacknowledged writes to one field a client remembers; a field with more is not checked.
const maxUnknown = 32

// newLedger makes a client's ledger for about sample of the rows.
func newLedger(shape *driver.Workload, sample int64, seed maphash.Seed) *ledger {
	l := &ledger{below: math.MaxUint64, seed: seed, types: shape.All(), rows: map[int64][]writes{}}
	if rows := shape.Tables[0].Rows; rows > sample {
		l.below = uint64(float64(sample) / float64(rows) * 0x1p64)
	}
	return l
}

// note takes an operation that was done, or failed. Records of a batch have numbers that follow one another.
func (l *ledger) note(op *driver.Op, rows int64, err error, sent, done int64) {
	t := &l.types[op.Type]
	switch t.Action {
	case driver.Read, driver.Scan, driver.ReadByIndex, driver.BatchRead:
		return
	case driver.BatchInsert:
		one, n := *op, len(op.Values)/len(op.Keys)
		for i := range op.Keys {
			one.ID, one.Values = op.ID+int64(i), op.Values[i*n:(i+1)*n]
			l.write(t, &one, rows, err, sent, done)
		}
		return
	}
	l.write(t, op, rows, err, sent, done)
}

// write takes a write to one record. A compare-and-set is a program, whose op is what it writes.
func (l *ledger) write(t *driver.OpType, op *driver.Op, rows int64, err error, sent, done int64) {
	if Mix(uint64(op.ID)) > l.below {
		return
	}
	if driver.IsConflict(err) || err == nil && rows == 0 {
		return // it changed nothing
	}
	if class, _ := driver.Classify(err); err != nil && class == driver.Constraint {
		return
	}
	w := l.rows[op.ID]
	add := func(field int, hash uint64) {
		for len(w) <= field {
			w = append(w, writes{})
		}
		f := &w[field]
		switch {
		case err == nil:
			f.acked, f.has = version{hash, sent, done}, true
		case len(f.unknown) <= maxUnknown:
			f.unknown = append(f.unknown, version{hash, sent, math.MaxInt64})
		}
	}
	switch t.Action {
	case driver.Delete:
		add(0, gone)
	default: // a write shows that the row is there, and makes it where systems don't tell the two apart
		add(0, exists)
	}
	w[0].counts = w[0].counts || slices.Contains([]driver.Action{driver.Delete, driver.Insert, driver.InsertIfAbsent, driver.BatchInsert}, t.Action)
	for i, v := range op.Values {
		f := i
		if op.Fields != nil {
			f = op.Fields[i]
		} else if t.Fields != nil {
			f = t.Fields[i]
		}
		add(1+f, l.hash(v))
	}
	l.rows[op.ID] = w
}

// hash is that of a value; blanks at its end are what a column of fixed length adds.
func (l *ledger) hash(v []byte) uint64 { return maphash.Bytes(l.seed, bytes.TrimRight(v, " ")) }

// A Verified is what a comparison found.
type Verified struct {
	Checked int64  // acknowledged writes that were the last ones, and are compared
	Lost    int64  // of them, those that are not there: something else is, or nothing
	Sample  string // one of those in words
}

// Check reads the rows of the sample on a session and compares them. w is the trial's workload.
func (l *Ledger) Check(ctx context.Context, s driver.Session, w Workload) (out Verified, err error) {
	shape := w.Shape()
	table := &shape.Tables[0]
	if err := s.Prepare(ctx, &driver.Workload{Tables: shape.Tables, Ops: []driver.OpType{{Name: "verify", Action: driver.Read}}}); err != nil {
		return out, err
	}
	ids := map[int64]bool{}
	for _, c := range l.clients {
		for id := range c.rows {
			ids[id] = true
		}
	}
	var row driver.Row
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		w.Row(0, id, &row)
		reply := driver.Reply{Keep: true}
		if err := s.Do(ctx, &driver.Op{ID: id, Key: row.Key}, &reply); err != nil {
			return out, fmt.Errorf("reading %s: %w", row.Key, err)
		}
		l.compare(id, table, &row, &reply, &out)
	}
	return out, nil
}

// compare looks at one row.
func (l *Ledger) compare(id int64, table *driver.Table, row *driver.Row, reply *driver.Reply, out *Verified) {
	lose := func(n int64, format string, a ...any) {
		if out.Lost == 0 && n > 0 {
			out.Sample = fmt.Sprintf("%s: %s", row.Key, fmt.Sprintf(format, a...))
		}
		out.Lost += n
	}
	is := uint64(gone)
	if reply.Rows > 0 {
		is = exists
	}
	may, acked, sure := l.admissible(id, 0)
	counts := slices.ContainsFunc(l.clients, func(c *ledger) bool { return len(c.rows[id]) > 0 && c.rows[id][0].counts })
	if counts && acked && sure {
		out.Checked++
		if !slices.Contains(may, is) {
			lose(1, "%s", map[uint64]string{gone: "an acknowledged insert is not there", exists: "an acknowledged delete was not done"}[is])
			return
		}
	}
	if is == gone && (!sure || slices.Contains(may, gone)) {
		return // deleted, as it may be
	}
	for f, c := range table.Fields {
		may, acked, sure := l.admissible(id, 1+f)
		if !acked || !sure || c.Type == driver.Timestamp { // systems write times in forms of their own
			continue
		}
		out.Checked++
		switch {
		case is == gone:
			lose(1, "the row of an acknowledged write is not there")
		case f >= len(reply.Values) || !slices.Contains(may, l.clients[0].hash(reply.Values[f])):
			lose(1, "%s does not hold the last acknowledged write", c.Name)
		}
	}
}

// admissible are the values that a field may have. acked says that there was an acknowledged write, sure that all others are known.
func (l *Ledger) admissible(id int64, field int) (may []uint64, acked, sure bool) {
	var known []version
	sure = true
	for _, c := range l.clients {
		w := c.rows[id]
		if field >= len(w) {
			continue
		}
		if w[field].has {
			known = append(known, w[field].acked)
		}
		if len(w[field].unknown) > maxUnknown {
			sure = false
		}
		for _, u := range w[field].unknown {
			may = append(may, u.hash)
		}
	}
	for _, v := range known {
		if !slices.ContainsFunc(known, func(x version) bool { return x.sent > v.done }) {
			may = append(may, v.hash)
		}
	}
	return may, len(known) > 0, sure
}
