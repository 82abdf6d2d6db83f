package redis

import (
	"context"

	"sextant/interp/driver"
)

func (s *session) command(op *driver.Op, reply *driver.Reply) error {
	send(s.x, op)
	if err := s.x.flush(); err != nil {
		return err
	}
	var err error
	reply.Rows, reply.Bytes, err = answer(s.x)
	return err
}

// send writes a command.
func send(x *wire, op *driver.Op) {
	if op.Frame != nil {
		x.out = append(x.out, op.Frame...)
		return
	}
	x.begin(len(op.Values))
	for _, w := range op.Values {
		x.part(w)
	}
}

// Queue writes a command's words to the node that has its key.
func (s *session) Queue(op *driver.Op) error {
	x := s.x
	if s.links.m != nil {
		var err error
		if x, err = s.links.to(context.Background(), op.Key); err != nil { // a node that is away is given up by the dialler
			return err
		}
		s.route = append(s.route, x)
	}
	send(x, op)
	s.queued++
	return nil
}

// Flush sends the batch and reads its replies. In a cluster a command of a batch that is redirected is an error: what came behind it was done already.
// The next batch goes where it should.
func (s *session) Flush(ctx context.Context, done func(i int, rows int64, arrived bool, err error)) error {
	n := s.queued
	s.queued = 0
	if s.links.m != nil {
		return s.flushAll(ctx, n, done)
	}
	if err := s.x.flush(); err != nil {
		return err
	}
	for i := range n {
		reads := s.x.reads
		rows, _, err := answer(s.x)
		if s.x.torn {
			return err
		}
		done(i, rows, s.x.reads != reads, err)
	}
	return nil
}

// flushAll is Flush over the nodes of a cluster: all are sent their part, then the replies are read in the order of the commands.
func (s *session) flushAll(ctx context.Context, n int, done func(i int, rows int64, arrived bool, err error)) error {
	route := s.route
	s.route = s.route[:0]
	for _, x := range route {
		if len(x.out) > 0 {
			if err := x.flush(); err != nil {
				return err
			}
		}
	}
	var moved string
	for i := range n {
		reads := route[i].reads
		rows, _, err := answer(route[i])
		if route[i].torn {
			return err
		}
		if addr, ask, ok := redirect(err); ok && !ask {
			moved = addr
		}
		done(i, rows, route[i].reads != reads, err)
	}
	if moved == "" {
		return nil
	}
	_, err := s.links.follow(ctx, moved, false)
	return err
}

// answer reads the reply of a command: nil and an empty list are no rows.
func answer(x *wire) (rows, bytes int64, err error) {
	var c sum
	if err := x.count(&c); err != nil {
		return 0, 0, err
	}
	if c.leaves == 0 && (c.nilReply || c.empty) {
		return 0, 0, nil
	}
	return max(c.leaves, 1), c.bytes, nil
}
