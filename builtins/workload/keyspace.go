package workload

import (
	"sync"
	"sync/atomic"
)

// window is how far an acknowledged insert may be ahead of the first one that is not, to be kept in a bit.
const window = 1 << 20

// keyspace knows which record numbers exist: [low, acked). Inserts take the next number; it becomes readable when it and
// all before it are acknowledged, so a key drawn is never above the last acknowledged insert. Deletes take the lowest.
// Memory is constant, but for inserts more than a window ahead of one that hangs. A failed insert's number counts as acknowledged, else readers would wait for it for ever; reading
// it finds nothing, and is counted as that.
type keyspace struct {
	next  atomic.Int64
	acked atomic.Int64
	low   atomic.Int64
	done  [window / 32]atomic.Uint32 // a bit for each of the last numbers
	mu    sync.Mutex                 // of advancing acked and of far; only those who are far ahead wait for it
	far   map[int64]struct{}         // acknowledged numbers beyond the window
}

func (k *keyspace) reset(rows int64) {
	for i := range k.done {
		k.done[i].Store(0)
	}
	k.next.Store(rows)
	k.acked.Store(rows)
	k.low.Store(0)
	k.far = map[int64]struct{}{}
}

// take is the number of a new record, takeAll the first of n that follow one another.
func (k *keyspace) take() int64           { return k.takeAll(1) }
func (k *keyspace) takeAll(n int64) int64 { return k.next.Add(n) - n }

// ack makes number id, and all before it that are acknowledged, readable.
func (k *keyspace) ack(id int64) {
	if id < k.acked.Load()+window || !k.putFar(id) {
		word, bit := k.bit(id)
		word.Or(bit)
	}
	// whoever had the lock looks again: others went away because of it
	for k.isDone(k.acked.Load()) && k.mu.TryLock() {
		for a := k.acked.Load(); k.isDone(a) || k.takeFar(a); a++ {
			word, bit := k.bit(a)
			word.And(^bit)
			k.acked.Store(a + 1)
		}
		k.mu.Unlock()
	}
}

// putFar keeps a number that is beyond the window, whose bit is another one's; false when it no longer is.
func (k *keyspace) putFar(id int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if id < k.acked.Load()+window {
		return false
	}
	k.far[id] = struct{}{}
	return true
}

// takeFar says whether a number was kept, under mu.
func (k *keyspace) takeFar(id int64) bool {
	if len(k.far) == 0 {
		return false
	}
	_, ok := k.far[id]
	delete(k.far, id)
	return ok
}

func (k *keyspace) bit(id int64) (*atomic.Uint32, uint32) {
	return &k.done[id%window/32], 1 << (id % 32)
}

func (k *keyspace) isDone(id int64) bool {
	word, bit := k.bit(id)
	return word.Load()&bit != 0
}

// drop takes the lowest record away from the readers, to be deleted. When none is left it gives a number that no longer
// exists, and the delete finds nothing.
func (k *keyspace) drop() int64 { return k.low.Add(1) - 1 }
