package load

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sextant/interp/driver"
)

// book is a workload over 40 records of three fields: updates, inserts, deletes and reads, all values different.
type book struct {
	next, low, value int64
	mu               sync.Mutex
}

func (b *book) Shape() *driver.Workload {
	return &driver.Workload{Tables: []driver.Table{{Name: "t", Key: "k", Rows: 40, Fields: []driver.Column{{Name: "a"}, {Name: "b"}, {Name: "c"}}}},
		Ops: []driver.OpType{{Name: "update", Action: driver.Update}, {Name: "insert", Action: driver.Insert}, {Name: "delete", Action: driver.Delete}, {Name: "read", Action: driver.Read}}}
}

func (b *book) Rows(int) int64 { return 40 }
func (b *book) Row(_ int, i int64, r *driver.Row) {
	r.Key, r.Values = []byte(strconv.FormatInt(i, 10)), [][]byte{[]byte("old"), []byte("old"), []byte("old")}
}
func (b *book) Start(uint64) { b.next, b.low = 40, 0 }
func (b *book) Client(int) Generator {
	return &bookClient{b: b}
}

type bookClient struct{ b *book }

func (c *bookClient) Next(r *Rand, op *driver.Op) {
	b := c.b
	b.mu.Lock()
	defer b.mu.Unlock()
	value := func() []byte { b.value++; return []byte("v" + strconv.FormatInt(b.value, 10)) }
	op.Fields, op.Values = nil, nil
	op.ID = b.low + int64(r.Uint64N(uint64(b.next-b.low)))
	switch r.Uint64N(10) {
	case 0:
		op.Type, op.ID, op.Values = 1, b.next, [][]byte{value(), value(), value()}
		b.next++
	case 1:
		if b.next-b.low > 10 {
			op.Type, op.ID = 2, b.low
			b.low++
			break
		}
		fallthrough
	case 2:
		op.Type = 3
	default:
		op.Type, op.Fields, op.Values = 0, []int{int(r.Uint64N(3))}, [][]byte{value()}
	}
	op.Key = []byte(strconv.FormatInt(op.ID, 10))
}

// shelf keeps the records of a book behind fake sessions. fate decides what becomes of each write.
type shelf struct {
	mu   sync.Mutex
	rows map[string][]string
	fate func() (apply bool, err error)
}

func newShelf(fate func() (bool, error)) *shelf {
	s := &shelf{rows: map[string][]string{}, fate: fate}
	for i := range 40 {
		s.rows[strconv.Itoa(i)] = []string{"old", "old", "old"}
	}
	return s
}

func (s *shelf) do(ctx context.Context, x *fakeSession, n int64, op *driver.Op, reply *driver.Reply) error {
	if n%7 == 0 { // others go on meanwhile
		if err := x.busy(ctx, 100*time.Microsecond); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.rows[string(op.Key)]
	if reply.Keep || op.Type == 3 {
		if reply.Rows = 0; row != nil {
			reply.Rows = 1
			for _, v := range row {
				reply.Values = append(reply.Values, []byte(v))
			}
		}
		return nil
	}
	apply, err := s.fate()
	if row == nil && op.Type != 1 {
		reply.Rows = 0
		return err
	}
	if apply {
		switch op.Type {
		case 0:
			row = append([]string(nil), row...)
			row[op.Fields[0]] = string(op.Values[0])
			s.rows[string(op.Key)] = row
		case 1:
			s.rows[string(op.Key)] = []string{string(op.Values[0]), string(op.Values[1]), string(op.Values[2])}
		case 2:
			delete(s.rows, string(op.Key))
		}
	}
	return err
}

func verified(t *testing.T, s *shelf, spoil func()) Verified {
	t.Helper()
	srv := &fakeServer{do: s.do}
	w := &book{}
	res, err := Run(t.Context(), Config{Clients: 8, Operations: 4000, Window: 20 * time.Second, Interval: time.Second, Drain: time.Second, Seed: 3, Workload: w, Open: srv.open, Verify: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	if spoil != nil {
		spoil()
	}
	x, err := srv.open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := res.Ledger.Check(t.Context(), x, w)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A server that keeps what it acknowledges has lost nothing, whatever clients do at the same time, and whatever became of writes without an acknowledgement.
func TestLedgerOfAnHonestServer(t *testing.T) {
	lost := &driver.Error{Class: driver.Timeout, Err: errors.New("no answer")}
	conflict := &driver.Error{Class: driver.Conflict, Err: errors.New("conflict")}
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		got := verified(t, newShelf(func() (bool, error) {
			switch r.IntN(12) {
			case 0:
				return true, lost
			case 1:
				return false, lost
			case 2:
				return false, conflict
			}
			return true, nil
		}), nil)
		if got.Lost != 0 || got.Checked < 100 {
			t.Errorf("seed %d: %+v", seed, got)
		}
	}
}

// A server that acknowledges what it doesn't do is found out, write by write.
func TestLedgerOfALyingServer(t *testing.T) {
	n := 0
	got := verified(t, newShelf(func() (bool, error) { n++; return n%10 != 0, nil }), nil)
	if got.Lost < 5 || got.Lost > got.Checked/4 || got.Sample == "" {
		t.Errorf("%+v", got)
	}
}

// What is lost afterwards: a field that goes back, a row that is gone, a deleted one that is there again. Each is one.
func TestLedgerCountsEachLoss(t *testing.T) {
	for what, spoil := range map[string]func(s *shelf) int64{
		"field": func(s *shelf) int64 {
			for k, row := range s.rows {
				for f := range row {
					if row[f] != "old" {
						row = append([]string(nil), row...)
						row[f] = "other"
						s.rows[k] = row
						return 1
					}
				}
			}
			return 0
		},
		"row": func(s *shelf) (n int64) {
			for k, row := range s.rows {
				if id, _ := strconv.Atoi(k); id >= 40 { // inserted
					delete(s.rows, k)
					return 1
				}
				_ = row
			}
			return 0
		},
		"deleted": func(s *shelf) int64 {
			s.rows["0"] = []string{"old", "old", "old"}
			return 1
		},
	} {
		s := newShelf(func() (bool, error) { return true, nil })
		var want int64
		got := verified(t, s, func() { want = spoil(s) })
		if want == 0 || got.Lost < want || what != "deleted" && got.Lost != want || what == "deleted" && got.Lost > 4 {
			t.Errorf("%s: %+v, want %d", what, got, want)
		}
	}
}

// The order of writes is known only where one was sent after the other was acknowledged.
func TestLedgerOrder(t *testing.T) {
	w := &book{}
	shape := w.Shape()
	check := func(value string, notes func(a, b *ledger)) Verified {
		t.Helper()
		l := &Ledger{}
		seed := maphash.MakeSeed()
		for range 2 {
			l.clients = append(l.clients, newLedger(shape, 1<<40, seed))
		}
		notes(l.clients[0], l.clients[1])
		var out Verified
		var row driver.Row
		w.Row(0, 5, &row)
		l.compare(5, &shape.Tables[0], &row, &driver.Reply{Rows: 1, Values: [][]byte{[]byte(value), nil, nil}}, &out)
		return out
	}
	write := func(l *ledger, value string, sent, done int64, err error) {
		l.note(&driver.Op{Type: 0, ID: 5, Fields: []int{0}, Values: [][]byte{[]byte(value)}}, 1, err, sent, done)
	}
	noAnswer := fmt.Errorf("gone: %w", &driver.Error{Class: driver.Connection})
	for _, c := range []struct {
		name  string
		notes func(a, b *ledger)
		fine  string // values that may be there
		lost  string
	}{
		{"one after the other", func(a, b *ledger) { write(a, "x", 0, 1, nil); write(b, "y", 2, 3, nil) }, "y", "x old"},
		{"at the same time", func(a, b *ledger) { write(a, "x", 0, 5, nil); write(b, "y", 2, 3, nil) }, "x y", "old"},
		{"of one client", func(a, _ *ledger) { write(a, "x", 0, 1, nil); write(a, "y", 1, 2, nil) }, "y", "x"},
		{"without an answer", func(a, b *ledger) { write(a, "x", 0, 1, noAnswer); write(b, "y", 2, 3, nil) }, "x y", "old"},
		{"without an answer alone", func(a, _ *ledger) { write(a, "x", 0, 1, noAnswer) }, "x old anything", ""},
		{"that was refused", func(a, b *ledger) {
			write(a, "y", 0, 1, nil)
			write(b, "x", 2, 3, &driver.Error{Class: driver.Conflict})
			write(b, "z", 4, 5, &driver.Error{Class: driver.Constraint})
		}, "y", "x z"},
		{"that changed nothing", func(a, b *ledger) {
			write(a, "x", 0, 1, nil)
			b.note(&driver.Op{Type: 0, ID: 5, Fields: []int{0}, Values: [][]byte{[]byte("y")}}, 0, nil, 2, 3)
		}, "x", "y"},
	} {
		for _, v := range strings.Fields(c.fine) {
			if got := check(v, c.notes); got.Lost != 0 {
				t.Errorf("%s: %s is lost: %+v", c.name, v, got)
			}
		}
		for _, v := range strings.Fields(c.lost) {
			if got := check(v, c.notes); got.Lost != 1 || got.Checked != 1 {
				t.Errorf("%s: %s is not lost: %+v", c.name, v, got)
			}
		}
	}
}

// The sample has about as many of the rows as asked for.
func TestLedgerSample(t *testing.T) {
	shape := (&book{}).Shape()
	shape.Tables[0].Rows = 100_000
	l := newLedger(shape, 1000, maphash.MakeSeed())
	for i := range int64(100_000) {
		l.note(&driver.Op{Type: 0, ID: i, Fields: []int{0}, Values: [][]byte{[]byte("x")}}, 1, nil, 0, 1)
	}
	if n := len(l.rows); n < 850 || n > 1150 {
		t.Errorf("%d rows", n)
	}
}

// Each record of a batch is noted with its own values, a compare-and-set by what it wrote; reads, also those that look for a value, are no writes.
func TestLedgerActions(t *testing.T) {
	shape := &driver.Workload{Tables: []driver.Table{{Rows: 10, Fields: make([]driver.Column, 2)}}, Ops: []driver.OpType{
		{Action: driver.BatchInsert, Batch: 2}, {Action: driver.ReadByIndex, Fields: []int{0}}, {Action: driver.BatchRead}, {Action: driver.Transaction, One: true}, {Action: driver.InsertIfAbsent}}}
	l := newLedger(shape, 100, maphash.MakeSeed())
	texts := func(s ...string) (out [][]byte) {
		for _, x := range s {
			out = append(out, []byte(x))
		}
		return out
	}
	l.note(&driver.Op{Type: 0, ID: 20, Keys: texts("k20", "k21"), Values: texts("a", "b", "c", "d")}, 2, nil, 1, 2)
	l.note(&driver.Op{Type: 1, ID: 5, Values: texts("x")}, 1, nil, 3, 4)
	l.note(&driver.Op{Type: 2, Keys: texts("k1", "k2")}, 2, nil, 5, 6)
	l.note(&driver.Op{Type: 3, ID: 7, Fields: []int{1}, Values: texts("y")}, 1, nil, 7, 8)
	l.note(&driver.Op{Type: 3, ID: 8, Fields: []int{1}, Values: texts("z")}, 0, &driver.Error{Class: driver.Conflict}, 9, 10)
	l.note(&driver.Op{Type: 4, ID: 22, Values: texts("e", "f")}, 0, nil, 11, 12) // it was there
	l.note(&driver.Op{Type: 4, ID: 23, Values: texts("e", "f")}, 1, nil, 11, 12)
	if len(l.rows) != 4 {
		t.Fatalf("rows %v are noted", slices.Sorted(maps.Keys(l.rows)))
	}
	for id, want := range map[int64][]string{20: {"a", "b"}, 21: {"c", "d"}, 23: {"e", "f"}, 7: {"", "y"}} {
		w := l.rows[id]
		if len(w) != 3 || !w[0].has || w[0].counts != (id != 7) {
			t.Fatalf("%d: %+v", id, w)
		}
		for f, v := range want {
			if got := w[1+f]; got.has != (v != "") || got.has && got.acked.hash != l.hash([]byte(v)) {
				t.Errorf("field %d of %d: %+v", f, id, got)
			}
		}
	}
}
