package drivertest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"sextant/interp/driver"
)

// beyond is the workload of actions beside those on single records, as far as the system has them: op.Type by action.
func (c *Config) beyond(actions ...driver.Action) (w *driver.Workload, number map[driver.Action]int) {
	w, number = workload(), map[driver.Action]int{}
	w.Ops = nil
	for _, a := range actions {
		if !slices.Contains(c.Driver.Ops, string(a)) {
			continue
		}
		o := driver.OpType{Name: string(a), Action: a}
		switch a {
		case driver.UpdateIf:
			o.Fields = []int{1}
		case driver.ReadByIndex:
			o.Fields = []int{0}
		case driver.BatchRead:
			o.Batch = 3
		case driver.BatchInsert:
			o.Batch = 2
		}
		number[a] = len(w.Ops)
		w.Ops = append(w.Ops, o)
	}
	return w, number
}

// conditions sees that a conditional write is done or not, is told so, and that of several at once one alone is done.
func (c *Config) conditions(t *testing.T, sys driver.System) {
	w, n := c.beyond(driver.InsertIfAbsent, driver.UpdateIf, driver.Delete, driver.Read)
	if len(n) != len(w.Ops) || len(n) != 4 {
		t.Fatalf("the system has no conditional writes: %v", n)
	}
	s := c.prepared(t, sys, w)
	defer s.Close() //nolint:errcheck // its operations have been looked at
	record := func(text string) [][]byte { return [][]byte{value(0, 9100, 100), []byte(text), value(2, 9100, 3000)} }
	first, second := "first \\ ' \" é", "second"
	for _, x := range []struct {
		what   string
		action driver.Action
		values [][]byte
		key    string
		rows   int64
	}{
		{"an insert of a key that is absent", driver.InsertIfAbsent, record(first), key(9100), 1},
		{"an insert of a key that is there", driver.InsertIfAbsent, record("other"), key(9100), 0},
		{"an update where another value is", driver.UpdateIf, [][]byte{[]byte("third"), []byte(second)}, key(9100), 0},
		{"an update where the value is in capitals", driver.UpdateIf, [][]byte{[]byte("third"), []byte("FIRST \\ ' \" é")}, key(9100), 0},
		{"an update of a missing row", driver.UpdateIf, [][]byte{[]byte("third"), []byte(first)}, "nobody", 0},
		{"an update where the value is", driver.UpdateIf, [][]byte{[]byte(second), []byte(first)}, key(9100), 1},
		{"the same again", driver.UpdateIf, [][]byte{[]byte(second), []byte(first)}, key(9100), 0},
	} {
		r, err := do(t, s, driver.Op{Type: n[x.action], Key: []byte(x.key), Values: x.values})
		if err != nil || r.Rows != x.rows {
			t.Errorf("%s: %+v, %v; want %d rows", x.what, r, err, x.rows)
		}
	}
	if got := c.scalar(t, sys, c.Value, key(9100)); got != second {
		t.Errorf("field1 is %q, want %q", got, second)
	}
	if r, err := do(t, s, driver.Op{Type: n[driver.Read], Key: []byte("nobody")}); err != nil || r.Rows != 0 {
		t.Errorf("a missing row was made: %+v, %v", r, err)
	}
	// several at once: in each round one alone may find the value that was
	var done, failed atomic.Int64
	for round := range 5 {
		var all sync.WaitGroup
		for client := range 4 {
			all.Go(func() {
				mine := c.prepared(t, sys, w)
				defer mine.Close() //nolint:errcheck // its operation has been looked at
				old, now := second, fmt.Sprintf("round %d by %d", round, client)
				if round > 0 {
					old = fmt.Sprintf("round %d", round-1)
				}
				r, err := do(t, mine, driver.Op{Type: n[driver.UpdateIf], Key: []byte(key(9100)), Values: [][]byte{[]byte(now), []byte(old)}})
				done.Add(r.Rows)
				if err != nil {
					failed.Add(1)
					if class, _ := driver.Classify(err); class != driver.Conflict && class != driver.Timeout {
						t.Errorf("round %d: %v (%s)", round, err, class)
					}
				}
			})
		}
		all.Wait()
		if got := done.Swap(0); got > 1 || got == 0 && failed.Load() == 0 {
			t.Errorf("round %d: %d updates of one value were done", round, got)
		}
		now := c.scalar(t, sys, c.Value, key(9100))
		if _, err := do(t, s, driver.Op{Type: n[driver.UpdateIf], Key: []byte(key(9100)), Values: [][]byte{fmt.Appendf(nil, "round %d", round), []byte(fmt.Sprint(now))}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := do(t, s, driver.Op{Type: n[driver.Delete], Key: []byte(key(9100))}); err != nil {
		t.Error(err)
	}
}

// several sees what comes back of an index, and of batches.
func (c *Config) several(t *testing.T, sys driver.System) {
	w, n := c.beyond(driver.ReadByIndex, driver.BatchRead, driver.BatchInsert, driver.Delete, driver.Update)
	s := c.prepared(t, sys, w)
	defer s.Close() //nolint:errcheck // its operations have been looked at
	fresh := func(i int64) [][]byte { return [][]byte{[]byte("Same"), value(1, i, 100), value(2, i, 3000)} }
	r, err := do(t, s, driver.Op{Type: n[driver.BatchInsert], Keys: [][]byte{[]byte(key(9200)), []byte(key(9201))}, Values: append(fresh(9200), fresh(9201)...)})
	if err != nil || r.Rows != 2 {
		t.Errorf("a batch of inserts: %+v, %v", r, err)
	}
	if got := c.scalar(t, sys, c.Count); got != int64(rows+2) {
		t.Errorf("behind a batch of two there are %v rows", got)
	}
	var reply driver.Reply
	reply.Keep = true
	op := driver.Op{Type: n[driver.BatchRead], Keys: [][]byte{[]byte(key(9201)), []byte("nobody"), []byte(key(8))}}
	if err := s.Do(t.Context(), &op, &reply); err != nil || reply.Rows != 2 || reply.Bytes != rowBytes+100+4+3000+20 {
		t.Errorf("a batch of reads: %d rows, %d bytes, %v", reply.Rows, reply.Bytes, err)
	}
	got := map[string]bool{}
	for at := 0; at+4 <= len(reply.Values); at += 4 { // key and fields, in the order of the system
		got[string(reply.Values[at])+" "+string(reply.Values[at+1])] = true
	}
	if len(got) != 2 || !got[key(9201)+" Same"] || !got[key(8)+" "+string(value(0, 8, 100))] {
		t.Errorf("a batch of reads gives %v", got)
	}
	number, has := n[driver.ReadByIndex]
	for _, x := range []struct {
		what, value string
		limit       int
		rows        int64
	}{
		{"a value of one row", string(value(0, 11, 100)), 10, 1}, {"a value of two rows", "Same", 10, 2}, {"the limit", "Same", 1, 1},
		{"a value that no row has", "same", 10, 0},
	} {
		if !has {
			break
		}
		r, err := do(t, s, driver.Op{Type: number, Values: [][]byte{[]byte(x.value)}, Limit: x.limit})
		if err != nil || r.Rows != x.rows || x.rows == 2 && r.Bytes != 2*(10+100+4+3000) {
			t.Errorf("by index, %s: %+v, %v; want %d rows", x.what, r, err, x.rows)
		}
	}
	if has { // the index follows its rows
		if _, err := do(t, s, driver.Op{Type: n[driver.Update], Key: []byte(key(9200)), Fields: []int{0}, Values: [][]byte{[]byte("moved")}}); err != nil {
			t.Error(err)
		}
		if r, err := do(t, s, driver.Op{Type: number, Values: [][]byte{[]byte("moved")}, Limit: 10}); err != nil || r.Rows != 1 {
			t.Errorf("an updated row by its index: %+v, %v", r, err)
		}
	}
	for _, i := range []int64{9200, 9201} {
		if _, err := do(t, s, driver.Op{Type: n[driver.Delete], Key: []byte(key(i))}); err != nil {
			t.Error(err)
		}
	}
}

// names sees that tables and fields may have names that mean something in the system's language.
func (c *Config) names(t *testing.T, sys driver.System) {
	l := c.loader(t, sys)
	w := &driver.Workload{Tables: []driver.Table{{Name: "group", Key: "select", Rows: 3, Ordered: true, Indexes: []string{"order"},
		Fields: []driver.Column{{Name: "order", Bytes: 100}, {Name: "where", Bytes: 100}, {Name: "values", Bytes: 3000}}}}}
	for _, a := range c.Driver.Ops {
		o := driver.OpType{Name: a, Action: driver.Action(a), Batch: 1}
		if o.Action == driver.UpdateIf || o.Action == driver.ReadByIndex {
			o.Fields = []int{0}
		}
		if slices.Contains(driver.RecordActions(), a) {
			w.Ops = append(w.Ops, o)
		}
	}
	if err := l.Drop(t.Context(), workload()); err != nil { // a database of Redis holds one table
		t.Fatal(err)
	}
	if err := l.Load(t.Context(), w, "00000000000000ff", source{n: 3}); err != nil {
		t.Fatal(err)
	}
	if st, err := l.Inspect(t.Context(), w); err != nil || st.Rows[0] != 3 || st.Fingerprint != "00000000000000ff" {
		t.Errorf("%+v, %v", st, err)
	}
	s := c.prepared(t, sys, w)
	defer s.Close() //nolint:errcheck // its operations have been looked at
	for i, o := range w.Ops {
		op := driver.Op{Type: i, Key: []byte(key(2)), Fields: []int{1}, Values: [][]byte{value(0, 2, 100)}, Limit: 5}
		switch o.Action {
		case driver.Insert, driver.InsertIfAbsent:
			op.Key, op.Fields, op.Values = []byte("new-"+o.Name), nil, [][]byte{{'a'}, {'b'}, {'c'}}
		case driver.BatchInsert:
			op.Keys, op.Fields, op.Values = [][]byte{[]byte("batch")}, nil, [][]byte{{'a'}, {'b'}, {'c'}}
		case driver.BatchRead:
			op.Keys, op.Values = [][]byte{op.Key}, nil
		case driver.Read, driver.Scan:
			op.Fields, op.Values = nil, nil
		case driver.Delete:
			op.Key, op.Fields, op.Values = []byte(key(1)), nil, nil
		case driver.UpdateIf:
			op.Fields, op.Values = []int{0}, [][]byte{[]byte("new"), op.Values[0]}
		case driver.ReadByIndex:
			op.Values = [][]byte{value(0, 0, 100)}
		}
		if r, err := do(t, s, op); err != nil || r.Rows == 0 {
			t.Errorf("%s: %+v, %v", o.Name, r, err)
		}
	}
	if err := l.Drop(t.Context(), w); err != nil {
		t.Error(err)
	}
}
