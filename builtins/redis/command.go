package redis

import (
	"context"
	"slices"

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

// queued is a command of a batch in a cluster: where it goes, and where its key and its bytes are until all have been answered.
type queued struct {
	x         *wire
	key, sent [2]int // in session.keys and x.out
}

// Queue writes a command's words to the node that has its key.
func (s *session) Queue(op *driver.Op) error {
	s.queued++
	if s.links.m == nil {
		send(s.x, op)
		return nil
	}
	x, err := s.links.to(context.Background(), op.Key) // a node that is away is given up by the dialler
	if err != nil {
		return err
	}
	q := queued{x: x, key: [2]int{len(s.keys), len(s.keys) + len(op.Key)}}
	s.keys = append(s.keys, op.Key...)
	q.sent[0] = len(x.out)
	send(x, op)
	q.sent[1] = len(x.out)
	s.route = append(s.route, q)
	return nil
}

// Flush sends the batch and reads its replies.
func (s *session) Flush(ctx context.Context, done func(i int, reply *driver.Reply, arrived bool, err error)) error {
	n := s.queued
	s.queued = 0
	if s.links.m != nil {
		return s.flushAll(ctx, done)
	}
	if err := s.x.flush(); err != nil {
		return err
	}
	for i := range n {
		arrived, err := s.next(s.x)
		if s.x.torn {
			return err
		}
		done(i, &s.batch, arrived, err)
	}
	return nil
}

// next takes the reply of a batch's next command; arrived says whether it had to be read from the network.
func (s *session) next(x *wire) (arrived bool, err error) {
	reads := x.reads
	s.batch.Rows, s.batch.Bytes, err = answer(x)
	return x.reads != reads, err
}

// flushAll is Flush over the nodes of a cluster: all are sent their part, then the replies are read in the order of the commands. What a node has not done, because the
// key is elsewhere, is asked for anew when all have answered, one by one.
func (s *session) flushAll(ctx context.Context, done func(i int, reply *driver.Reply, arrived bool, err error)) error {
	route, keys := s.route, s.keys
	s.route, s.keys = s.route[:0], s.keys[:0]
	for _, q := range route {
		if len(q.x.out) > 0 {
			if err := q.x.flush(); err != nil {
				return err
			}
		}
	}
	type moved struct {
		i   int
		op  driver.Op
		why error
	}
	var again []moved
	for i, q := range route {
		arrived, err := s.next(q.x)
		if q.x.torn {
			return err
		}
		if _, _, ok := redirect(err); ok {
			op := driver.Op{Key: keys[q.key[0]:q.key[1]], Frame: slices.Clone(q.x.out[:q.sent[1]][q.sent[0]:])} // flush has left the bytes
			again = append(again, moved{i, op, err})
			continue
		}
		done(i, &s.batch, arrived, err)
	}
	for _, m := range again {
		reply := driver.Reply{}
		err := s.routed(ctx, &m.op, &reply, s.command)
		if len(reply.Overcome) == 0 { // another client has learnt it meanwhile
			reply.Overcome = append(reply.Overcome, m.why)
		}
		if err != nil && s.x.torn {
			return err
		}
		done(m.i, &reply, true, err)
	}
	return nil
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
