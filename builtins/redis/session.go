package redis

import (
	"context"
	"fmt"
	"strconv"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// session is one client's connection.
type session struct {
	links  *links
	x      *wire  // of the operation at hand
	reader *wire  // of reads at read=replica; nil: they go where writes go
	wait   string // replicas that each write waits for; "" none
	w      *driver.Workload
	ops    []driver.OpType
	does   []func(*driver.Op, *driver.Reply) error // parallel to ops
	queued int                                     // commands of the batch that is not sent yet
	number []byte
	route  []queued     // the commands of the batch, in a cluster
	keys   []byte       // theirs
	batch  driver.Reply // of a command in a batch
}

func (s *session) Level(_ context.Context, asked spec.Level) (string, error) {
	var got spec.Level
	all := len(asked.Settings) == 0
	if all || asked.Get("appendfsync") != "" {
		v, err := config(s.x, "appendfsync")
		if err != nil && !all {
			return "", fmt.Errorf("reading the level back: %w", err)
		}
		if err != nil {
			v = "unknown"
		}
		got.Settings = append(got.Settings, spec.Setting{Name: "appendfsync", Value: v})
	}
	if all || asked.Get("wait") != "" {
		v := s.wait // it is no state of the server: each write asks for it
		if v == "" {
			v = "0"
		}
		got.Settings = append(got.Settings, spec.Setting{Name: "wait", Value: v})
	}
	if all || asked.Get("read") != "" {
		v, err := s.source().call("ROLE")
		if err != nil && !all {
			return "", fmt.Errorf("reading the level back: %w", err)
		}
		role := "unknown"
		if l, _ := v.([]any); len(l) > 0 {
			if role = fmt.Sprint(l[0]); role == "master" {
				role = "primary"
			} else if role == "slave" {
				role = "replica"
			}
		}
		got.Settings = append(got.Settings, spec.Setting{Name: "read", Value: role})
	}
	return got.String(), nil
}

func (s *session) Prepare(_ context.Context, w *driver.Workload) error {
	if err := one(w); err != nil {
		return err
	}
	if err := s.links.ordered(w); err != nil {
		return err
	}
	s.w, s.ops = w, w.All()
	for _, o := range s.ops {
		do := s.doing(o.Action)
		if do == nil && o.Action != driver.Transaction { // what that does are its calls
			return &driver.Error{Class: driver.Other, Err: fmt.Errorf("Redis can't do the action %q", o.Action)}
		}
		s.does = append(s.does, do)
		if o.Batch > 0 && s.links.m != nil {
			return errBatch
		}
		if o.Action == driver.Command && s.wait != "" {
			return &driver.Error{Class: driver.Other, Err: fmt.Errorf("the level wait=%s is for records: commands of one's own are sent without WAIT", s.wait)}
		}
	}
	return nil
}

// waitMillis is how long a write waits for its replicas.
const waitMillis = "1000"

// Do sends one request, writes and their WAIT in one piece, and reads its replies.
func (s *session) Do(ctx context.Context, op *driver.Op, reply *driver.Reply) error {
	do := s.does[op.Type]
	if s.ops[op.Type].Action != driver.ReadModifyWrite {
		return s.routed(ctx, op, reply, do)
	}
	if err := s.routed(ctx, op, reply, s.read); err != nil || reply.Rows == 0 {
		return err
	}
	bytes := reply.Bytes
	err := s.routed(ctx, op, reply, do)
	reply.Bytes = bytes
	return err
}

// doing is what does an action; of a read-modify-write, its second request.
func (s *session) doing(a driver.Action) func(*driver.Op, *driver.Reply) error {
	switch a {
	case driver.Read:
		return s.read
	case driver.Update, driver.ReadModifyWrite:
		return s.update
	case driver.Insert:
		return s.insert
	case driver.Delete:
		return s.remove
	case driver.Scan:
		return s.scan
	case driver.InsertIfAbsent:
		return s.insertIfAbsent
	case driver.UpdateIf:
		return s.updateIf
	case driver.BatchRead:
		return s.readBatch
	case driver.BatchInsert:
		return s.insertBatch
	case driver.Command:
		return s.command
	}
	return nil
}

// maxHops is how often one request follows a cluster's redirections.
const maxHops = 5

// routed does a request where its key is. A node of a cluster that doesn't have the key says who has it: that is followed, and counted.
func (s *session) routed(ctx context.Context, op *driver.Op, reply *driver.Reply, do func(*driver.Op, *driver.Reply) error) error {
	x, err := s.links.to(ctx, op.Key)
	if err != nil {
		return err
	}
	s.x = x
	for hop := 0; ; hop++ {
		err := do(op, reply)
		if err == nil || s.links.m == nil {
			return err
		}
		addr, ask, ok := redirect(err)
		if !ok || hop == maxHops {
			return err
		}
		reply.Overcome = append(reply.Overcome, err)
		reply.Rows, reply.Bytes = 0, 0
		if s.x, err = s.links.follow(ctx, addr, ask); err != nil {
			return err
		}
	}
}

// source is where a read goes.
func (s *session) source() *wire {
	if s.reader != nil {
		return s.reader
	}
	return s.x
}

func (s *session) update(op *driver.Op, reply *driver.Reply) error {
	return s.write(hset(s.x, &s.w.Tables[0], op.Key, op.Fields, op.Values), reply)
}

func (s *session) insert(op *driver.Op, reply *driver.Reply) error {
	return s.write(record(s.x, &s.w.Tables[0], op.Key, op.Values), reply)
}

func (s *session) read(op *driver.Op, reply *driver.Reply) error {
	x := s.source()
	x.begin(2)
	x.text("HGETALL")
	x.part(op.Key)
	if err := x.flush(); err != nil {
		return err
	}
	return s.hash(x, nil, reply)
}

// hash reads the reply of HGETALL: names and values in turns. The bytes are those of the values.
func (s *session) hash(x *wire, key []byte, reply *driver.Reply) error {
	if reply.Keep {
		return s.keep(x, key, reply)
	}
	var c sum
	if err := x.count(&c); err != nil {
		return err
	}
	if c.leaves > 0 {
		reply.Rows++
		for i := range int(c.leaves / 2) {
			c.bytes -= int64(len(s.w.Tables[0].Fields[i%len(s.w.Tables[0].Fields)].Name))
		}
		reply.Bytes += c.bytes
	}
	return nil
}

// keep is hash for a reply that wants its values: a scan's key, then the fields in the order of the table.
func (s *session) keep(x *wire, key []byte, reply *driver.Reply) error {
	v, err := x.value()
	if err != nil {
		return err
	}
	pairs, _ := v.([]any)
	if len(pairs) == 0 {
		return nil
	}
	reply.Rows++
	if key != nil {
		reply.Values = append(reply.Values, key)
	}
	for _, f := range s.w.Tables[0].Fields {
		var got []byte
		for i := 0; i+1 < len(pairs); i += 2 {
			if text, _ := pairs[i+1].(string); pairs[i] == f.Name {
				got = []byte(text)
			}
		}
		reply.Values = append(reply.Values, got)
		reply.Bytes += int64(len(got))
	}
	return nil
}

// write adds the WAIT of the level and reads all replies.
func (s *session) write(replies int, reply *driver.Reply) error {
	_, err := s.replies(replies)
	if err == nil {
		reply.Rows = 1
	}
	return err
}

// replies sends what was written, with the WAIT of the level behind it, and reads every reply, also behind one that is an error: the next operation must
// not find them. It gives the integer of the first.
func (s *session) replies(n int) (integer int64, first error) {
	if s.wait != "" {
		s.x.begin(3)
		s.x.text("WAIT")
		s.x.text(s.wait)
		s.x.text(waitMillis)
	}
	if err := s.x.flush(); err != nil {
		return 0, err
	}
	for i := range n {
		var c sum
		err := s.x.count(&c)
		if s.x.torn {
			return 0, err
		}
		if err != nil && first == nil {
			first = err
		}
		if i == 0 {
			integer = c.integer
		}
	}
	if s.wait == "" {
		return integer, first
	}
	var c sum
	if err := s.x.count(&c); err != nil {
		return 0, err
	}
	if want, _ := strconv.ParseInt(s.wait, 10, 64); c.integer < want && first == nil { // no error of Redis
		first = &driver.Error{Class: driver.Timeout, Code: fmt.Sprintf("WAIT %d of %d", c.integer, want),
			Err: fmt.Errorf("%d of %d replicas had the write within %s ms", c.integer, want, waitMillis)}
	}
	return integer, first
}

func (s *session) remove(op *driver.Op, reply *driver.Reply) error {
	s.x.begin(2)
	s.x.text("DEL")
	s.x.part(op.Key)
	n := 1
	if s.w.Tables[0].Ordered {
		s.x.begin(3)
		s.x.text("ZREM")
		s.x.text(indexKey)
		s.x.part(op.Key)
		n++
	}
	var err error
	reply.Rows, err = s.replies(n)
	return err
}

// scan takes the keys from the sorted set, then their hashes in one pipeline: as a client must.
func (s *session) scan(op *driver.Op, reply *driver.Reply) error {
	x := s.source()
	x.begin(7)
	x.text("ZRANGEBYLEX")
	x.text(indexKey)
	s.number = append(append(s.number[:0], '['), op.Key...)
	x.part(s.number)
	x.text("+")
	x.text("LIMIT")
	x.text("0")
	s.number = strconv.AppendInt(s.number[:0], int64(op.Limit), 10)
	x.part(s.number)
	if err := x.flush(); err != nil {
		return err
	}
	v, err := x.value()
	if err != nil {
		return err
	}
	list, _ := v.([]any)
	var keys [][]byte
	for _, k := range list {
		key, _ := k.(string)
		keys = append(keys, []byte(key))
	}
	return s.hashes(x, keys, reply)
}

// Interrupt cuts the connection: Redis has no way to end another client's command. What was sent may still be done.
func (s *session) Interrupt() { s.links.interrupt() }

// CanPoll is true where there is one server.
func (s *session) CanPoll() bool { return s.links.m == nil && s.reader == nil }

// Poll takes the one connection.
func (s *session) Poll(wait func()) (int, error) {
	return driver.StreamOf(s.links.wires[0].conn).Detach(wait)
}

func (s *session) Close() error { return s.links.close() }
