package load

import (
	"context"
	"errors"

	"sextant/interp/driver"
)

// batches is the closed loop of a client that sends several operations before it reads the first reply. A batch is due, and sent,
// as one; each operation is done when its own reply has come. Replies that came in one piece have one time.
func (c *client) batches(ctx context.Context) {
	depth := c.t.cfg.Pipeline
	types := make([]int, depth)
	left := make([]bool, depth) // operations whose reply hasn't come
	var op driver.Op
	for i := uint64(0); ctx.Err() == nil; {
		b, ok := c.session.(driver.Batcher)
		if !ok {
			c.lost = errors.New("this system's sessions can't be pipelined")
			return
		}
		n := 0
		var err error
		for ; n < depth && err == nil && c.t.more(0, false); n++ {
			c.rng.at(c.own, i)
			i++
			c.gen.Next(&c.rng, &op)
			types[n], left[n] = op.Type, true
			err = b.Queue(&op)
		}
		sent := c.t.clock.now()
		if n == 0 || sent >= c.t.slots.end() {
			return
		}
		first, done := true, int64(0)
		c.busy.Store(sent + 1)
		if err == nil {
			err = b.Flush(ctx, func(k int, reply *driver.Reply, arrived bool, err error) {
				if arrived || first {
					first, done = false, c.t.clock.now()
				}
				for _, e := range reply.Overcome {
					c.rec.again(e, sent)
				}
				switch {
				case err != nil:
					c.rec.add(types[k], sent, sent, done, c.rec.fail(err, sent))
				case reply.Rows == 0 && c.keyed[types[k]]:
					c.rec.add(types[k], sent, sent, done, NotFound)
				default:
					c.rec.add(types[k], sent, sent, done, OK)
				}
				left[k] = false
			})
		}
		done = c.t.clock.now()
		c.busy.Store(0)
		c.done = done
		c.rec.batched(sent, done)
		if cut := c.cut.Swap(0) == sent+1; cut && err != nil {
			err = &driver.Error{Class: driver.Timeout, Code: "client", Err: err}
		}
		if err == nil {
			if think := int64(c.t.cfg.Think); think > 0 && c.t.clock.wait(ctx, done+think) != nil {
				return
			}
			continue
		}
		for k := range n {
			if left[k] {
				c.rec.add(types[k], sent, sent, done, c.rec.fail(err, sent))
			}
		}
		if !c.replace(ctx) {
			return
		}
	}
}
