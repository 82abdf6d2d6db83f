package workload

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

func recordsWorkload(t *testing.T, params map[string]any) *table {
	t.Helper()
	p := map[string]any{"records": int64(1000), "fields": int64(3), "field_bytes": int64(20)}
	maps.Copy(p, params)
	return made[*table](t, "records", p)
}

// memory is a session over records in memory. meanwhile is called between a read and what follows.
type memory struct {
	noted
	fields    map[string][][]byte
	meanwhile func(key string)
}

func newMemory(w *table) *memory {
	m := &memory{noted: *newNoted(w), fields: map[string][][]byte{}}
	m.tracer.line = func(s string) { m.lines = append(m.lines, strings.TrimSpace(s)) }
	var row driver.Row
	for i := range w.Rows(0) {
		w.Row(0, i, &row)
		var kept [][]byte
		for _, v := range row.Values {
			kept = append(kept, bytes.Clone(v))
		}
		m.fields[string(row.Key)] = kept
	}
	return m
}

func (m *memory) Do(_ context.Context, op *driver.Op, reply *driver.Reply) error {
	o := m.shape.All()[op.Type]
	m.lines = append(m.lines, m.describe(op))
	row, there := m.fields[string(op.Key)]
	switch {
	case o.Action == driver.Read && there:
		reply.Rows = 1
		if reply.Keep {
			reply.Values = slices.Clone(row)
		}
		if m.meanwhile != nil {
			m.meanwhile(string(op.Key))
		}
	case o.Action == driver.UpdateIf && there && bytes.Equal(row[o.Fields[0]], op.Values[1]):
		row[o.Fields[0]], reply.Rows = bytes.Clone(op.Values[0]), 1
	case o.Action == driver.Update && there:
		row[op.Fields[0]], reply.Rows = bytes.Clone(op.Values[0]), 1
	case o.Action == driver.Insert:
		m.fields[string(op.Key)], reply.Rows = slices.Clone(op.Values), 1
	}
	return nil
}

// A compare-and-set writes only over the value that it has read; a conflict is told as one, and another attempt reads anew; a record that is not
// there is not found. What it writes is in the operation, for a ledger to note.
func TestCompareAndSet(t *testing.T) {
	w := recordsWorkload(t, map[string]any{"mix": map[string]any{"compare-and-set": int64(1)}})
	m := newMemory(w)
	g := w.Client(0)
	var r load.Rand
	var op driver.Op
	for i := range uint64(200) {
		r.Seek(5, 0, i)
		g.Next(&r, &op)
		key, want := string(op.Key), string(op.Values[0])
		if len(op.Fields) != 1 || op.Fields[0] != 0 || m.fields[key] == nil {
			t.Fatalf("%s: %v", key, op.Fields)
		}
		between := 0
		m.meanwhile = func(k string) {
			if between++; between < 3 && k == key {
				m.fields[k][0] = []byte{byte(between)}
			}
		}
		for attempt := 1; ; attempt++ {
			var reply driver.Reply
			err := op.Program.Run(t.Context(), m, &reply)
			if attempt < 3 {
				if class, code := driver.Classify(err); class != driver.Conflict || code != "not applied" || string(m.fields[key][0]) == want {
					t.Fatalf("attempt %d: %v; the field is %q", attempt, err, m.fields[key][0])
				}
				continue
			}
			if err != nil || reply.Rows != 1 || string(m.fields[key][0]) != want {
				t.Fatalf("%+v, %v; the field is %q, not %q", reply, err, m.fields[key][0], want)
			}
			break
		}
		g.(load.Acker).Ack(&op, true)
	}
	clear(m.fields)
	var reply driver.Reply
	if err := op.Program.Run(t.Context(), m, &reply); err != nil || reply.Rows != 0 || !w.Shape().Ops[0].One {
		t.Errorf("of a record that isn't there: %+v, %v", reply, err)
	}
}

// The steps of a transaction are done in their order between BEGIN and COMMIT, each on a record of its own, and alike in every attempt.
func TestRecordTransactions(t *testing.T) {
	w := recordsWorkload(t, map[string]any{"mix": map[string]any{"pay": int64(1), "read": int64(1)}, "transactions": map[string]any{
		"pay": tagged("transaction", map[string]any{"statements": []any{"read", "update", "update", "insert"}})}})
	m := newMemory(w)
	g := w.Client(0)
	var r load.Rand
	var op driver.Op
	same, n := 0, 0
	for i := range uint64(400) {
		r.Seek(5, 0, i)
		g.Next(&r, &op)
		if op.Program == nil {
			continue
		}
		n++
		before := w.keys.acked.Load()
		first, reply := attempts(t, &op, m, &m.lines)
		if reply.Rows != 4 {
			t.Fatalf("%+v", reply)
		}
		var words []string
		for _, l := range first {
			words = append(words, strings.Fields(l)[0])
		}
		if strings.Join(words, " ") != "BEGIN read update update insert COMMIT" {
			t.Fatalf("%q", first)
		}
		if first[2] == first[3] || strings.Fields(first[1])[2] == strings.Fields(first[2])[2] {
			same++
		}
		if w.keys.acked.Load() != before {
			t.Fatal("an insert can be read before it was acknowledged")
		}
		if g.(load.Acker).Ack(&op, true); w.keys.acked.Load() != before+1 {
			t.Fatal("an acknowledged insert can't be read")
		}
	}
	if same > n/10 || n < 100 {
		t.Errorf("in %d of %d transactions the steps have one record", same, n)
	}
}

// Batches have as many keys as they should: those of reads exist, those of inserts are new and become readable when they are acknowledged. An index
// read takes the value of a record.
func TestBatchesAndIndexes(t *testing.T) {
	w := recordsWorkload(t, map[string]any{"mix": map[string]any{"batch_read": int64(1), "batch-insert": int64(1), "read-by-index": int64(1)}, "batch": int64(7),
		"indexes": []any{"field2"}, "index_limit": int64(4)})
	exists, values, drawn := map[string]bool{}, map[string]bool{}, map[string]bool{}
	var row driver.Row
	for i := range w.Rows(0) {
		w.Row(0, i, &row)
		exists[string(row.Key)], values[string(row.Values[2])] = true, true
	}
	g := w.Client(0)
	var r load.Rand
	var op driver.Op
	count := map[driver.Action]int{}
	for i := range uint64(300) {
		r.Seek(5, 0, i)
		g.Next(&r, &op)
		o := w.Shape().Ops[op.Type]
		count[o.Action]++
		switch o.Action {
		case driver.ReadByIndex:
			if !values[string(op.Values[0])] || len(op.Values) != 1 || op.Limit != 4 || o.Fields[0] != 2 || len(op.Keys) > 0 {
				t.Fatalf("%+v", op)
			}
		case driver.BatchRead:
			for _, k := range op.Keys {
				if !exists[string(k)] {
					t.Fatalf("%s is no record", k)
				}
				drawn[string(k)] = true
			}
		case driver.BatchInsert:
			for i, k := range op.Keys {
				w.Row(0, op.ID+int64(i), &row)
				if exists[string(k)] || !bytes.Equal(row.Key, k) || !slices.EqualFunc(row.Values, op.Values[3*i:3*i+3], bytes.Equal) {
					t.Fatalf("record %d of a batch: %s", i, k)
				}
				exists[string(k)], values[string(row.Values[2])] = true, true
			}
		}
		if o.Action != driver.ReadByIndex && len(op.Keys) != 7 || o.Batch != 7 && o.Action != driver.ReadByIndex {
			t.Fatalf("%d keys", len(op.Keys))
		}
		before := w.keys.acked.Load()
		g.(load.Acker).Ack(&op, true)
		if got := w.keys.acked.Load() - before; got != 0 && o.Action != driver.BatchInsert || got != 7 && o.Action == driver.BatchInsert {
			t.Fatalf("%s acknowledges %d records", o.Name, got)
		}
	}
	if len(count) != 3 || len(drawn) < 300 {
		t.Errorf("%v, %d records drawn for batches", count, len(drawn))
	}
}

func TestRecordsBadInput(t *testing.T) {
	read := map[string]any{"read": int64(1)}
	steps := func(s ...any) map[string]any {
		return map[string]any{"pay": tagged("transaction", map[string]any{"statements": s})}
	}
	for _, x := range []struct {
		params      map[string]any
		where, want string
	}{
		{map[string]any{"mix": map[string]any{"red": int64(1)}}, "mix", "unknown operation"},
		{map[string]any{"mix": map[string]any{"read-by-index": int64(1)}}, "mix", `indexes = ["field0"]`},
		{map[string]any{"mix": read, "indexes": []any{"fild0"}}, "indexes", "no field"},
		{map[string]any{"mix": read, "indexes": []any{"field0", "field0"}}, "indexes", "twice"},
		{map[string]any{"mix": read, "indexes": []any{"field0"}, "field_bytes": int64(5000)}, "indexes", "an index takes"},
		{map[string]any{"mix": map[string]any{"scan": int64(1)}, "scan_max": int64(1001)}, "scan_max", "1000 records"},
		{map[string]any{"mix": map[string]any{"batch-read": int64(1)}, "batch": int64(11), "records": int64(10)}, "batch", "10 records"},
		{map[string]any{"mix": read, "transactions": steps("read")}, "transactions", "no weight"},
		{map[string]any{"mix": map[string]any{"pay": int64(1)}, "transactions": steps("reed")}, "transactions", `step "reed"`},
		{map[string]any{"mix": map[string]any{"pay": int64(1)}, "transactions": steps("compare-and-set")}, "transactions", "step"},
		{map[string]any{"mix": map[string]any{"pay": int64(1)}, "transactions": steps("read-by-index")}, "mix", "indexes"},
		{map[string]any{"mix": map[string]any{"pay": int64(1)}, "transactions": map[string]any{"pay": []any{"read"}}}, "transactions", "must be a transaction"},
		{map[string]any{"mix": read, "transactions": map[string]any{"read": steps("read")["pay"]}}, "transactions", "already"},
	} {
		p := map[string]any{"records": int64(1000), "fields": int64(3), "field_bytes": int64(20)}
		maps.Copy(p, x.params)
		_, err := resolve(t, "records", p)
		var pe *spec.ParamError
		if !errors.As(err, &pe) || pe.Param != x.where || !strings.Contains(pe.Msg, x.want) {
			t.Errorf("%v: %v", x.params, err)
		}
	}
	for _, x := range []struct {
		mix                         map[string]any
		resizes, modifies, verifies bool
	}{
		{map[string]any{"read-by-index": int64(1)}, false, false, true}, {map[string]any{"compare-and-set": int64(1)}, false, true, true},
		{map[string]any{"batch-insert": int64(1)}, true, true, true}, {map[string]any{"pay": int64(1)}, true, true, false},
	} {
		p := map[string]any{"records": int64(1000), "fields": int64(3), "field_bytes": int64(20), "indexes": []any{"field0"}, "mix": x.mix}
		if x.mix["pay"] != nil {
			p["transactions"] = steps("read", "delete")
		}
		w, err := resolve(t, "records", p)
		if err != nil || w.Resizes != x.resizes || w.Modifies != x.modifies || w.Verifies != x.verifies {
			t.Errorf("%v: %+v, %v", x.mix, w, err)
		}
	}
}

// Numbers that are acknowledged by many at once, in any order and in batches, become readable when all before them are, and never before; the ring is
// used several times over.
func TestKeyspaceOfManyClients(t *testing.T) {
	k := new(keyspace)
	k.reset(100)
	const clients, rounds, batch = 8, 600, 500 // 2.4 million numbers over a ring of a million
	var acked [clients * rounds * batch]atomic.Bool
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			var r load.Rand
			r.Seek(7, uint64(c), 0)
			for range rounds {
				first := k.takeAll(batch)
				for i := range int64(batch) {
					id := first + (i*7+int64(c))%batch // in another order
					acked[id-100].Store(true)
					k.ack(id)
				}
				if n := k.acked.Load(); n > 100 && !acked[n-101].Load() {
					t.Errorf("%d is readable and was not acknowledged", n-1)
				}
			}
		})
	}
	all.Wait()
	if got, want := k.acked.Load(), int64(100+clients*rounds*batch); got != want || k.next.Load() != want {
		t.Errorf("%d are readable, %d were taken of %d", got, k.next.Load(), want)
	}
}

// An insert that hangs holds back what is readable, and nothing else: when it comes, all that was acknowledged meanwhile is, however much that is.
func TestKeyspaceBehindAStall(t *testing.T) {
	k := new(keyspace)
	k.reset(10)
	stalled := k.take()
	var last int64
	for range 2*window + window/2 {
		last = k.take()
		k.ack(last)
	}
	if n := k.acked.Load(); n != stalled {
		t.Fatalf("%d are readable before number %d is acknowledged", n, stalled)
	}
	if k.ack(stalled); k.acked.Load() != last+1 || len(k.far) != 0 {
		t.Errorf("%d are readable of %d, %d are kept", k.acked.Load(), last+1, len(k.far))
	}
	for range 3 {
		last = k.take()
		k.ack(last)
	}
	if k.acked.Load() != last+1 {
		t.Errorf("%d are readable of %d afterwards", k.acked.Load(), last+1)
	}
}
