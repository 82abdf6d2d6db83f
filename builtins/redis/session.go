package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// session is one client's connection.
type session struct {
	x      *wire
	wait   string // replicas that each write waits for; "" none
	w      *driver.Workload
	ops    []driver.OpType
	queued int // commands of the batch that is not sent yet
	number []byte
	keys   [][]byte // of a scan; reused
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
	return got.String(), nil
}

func (s *session) Prepare(_ context.Context, w *driver.Workload) error {
	if err := one(w); err != nil {
		return err
	}
	s.w, s.ops = w, w.All()
	for _, o := range s.ops {
		if o.Action == driver.Command && s.wait != "" {
			return &driver.Error{Class: driver.Other, Err: fmt.Errorf("the level wait=%s is for records: commands of one's own are sent without WAIT", s.wait)}
		}
	}
	return nil
}

// waitMillis is how long a write waits for its replicas.
const waitMillis = "1000"

// Do sends one request, writes and their WAIT in one piece, and reads its replies.
func (s *session) Do(_ context.Context, op *driver.Op, reply *driver.Reply) error {
	t := &s.w.Tables[0]
	switch s.ops[op.Type].Action {
	case driver.Read:
		return s.read(op.Key, reply)
	case driver.Update:
		return s.write(hset(s.x, t, op.Key, op.Fields, op.Values), reply)
	case driver.Insert:
		n := hset(s.x, t, op.Key, op.Fields, op.Values)
		if t.Ordered {
			n += zadd(s.x, op.Key)
		}
		return s.write(n, reply)
	case driver.Delete:
		return s.remove(op.Key, t.Ordered, reply)
	case driver.Scan:
		return s.scan(op, reply)
	case driver.ReadModifyWrite:
		if err := s.read(op.Key, reply); err != nil || reply.Rows == 0 {
			return err
		}
		bytes := reply.Bytes
		err := s.write(hset(s.x, t, op.Key, op.Fields, op.Values), reply)
		reply.Bytes = bytes
		return err
	}
	if s.ops[op.Type].Action == driver.Command {
		if err := s.Queue(op); err != nil {
			return err
		}
		if err := s.x.flush(); err != nil {
			return err
		}
		var err error
		reply.Rows, reply.Bytes, err = s.reply()
		s.queued = 0
		return err
	}
	return &driver.Error{Class: driver.Other, Err: fmt.Errorf("Redis can't do the action %q", s.ops[op.Type].Action)}
}

// Queue writes a command's words.
func (s *session) Queue(op *driver.Op) error {
	s.x.begin(len(op.Values))
	for _, w := range op.Values {
		s.x.part(w)
	}
	s.queued++
	return nil
}

// Flush sends the batch and reads its replies.
func (s *session) Flush(_ context.Context, done func(i int, rows int64, err error)) error {
	n := s.queued
	s.queued = 0
	if err := s.x.flush(); err != nil {
		return err
	}
	for i := range n {
		rows, _, err := s.reply()
		if s.x.torn {
			return err
		}
		done(i, rows, err)
	}
	return nil
}

// reply reads the reply of a command: nil and an empty list are no rows.
func (s *session) reply() (rows, bytes int64, err error) {
	var c sum
	if err := s.x.count(&c); err != nil {
		return 0, 0, err
	}
	if c.leaves == 0 && (c.nilReply || c.empty) {
		return 0, 0, nil
	}
	return max(c.leaves, 1), c.bytes, nil
}

func (s *session) read(key []byte, reply *driver.Reply) error {
	s.x.begin(2)
	s.x.text("HGETALL")
	s.x.part(key)
	if err := s.x.flush(); err != nil {
		return err
	}
	return s.hash("", reply)
}

// hash reads the reply of HGETALL: names and values in turns. The bytes are those of the values.
func (s *session) hash(key string, reply *driver.Reply) error {
	if reply.Keep {
		return s.keep(key, reply)
	}
	var c sum
	if err := s.x.count(&c); err != nil {
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
func (s *session) keep(key string, reply *driver.Reply) error {
	v, err := s.x.value()
	if err != nil {
		return err
	}
	pairs, _ := v.([]any)
	if len(pairs) == 0 {
		return nil
	}
	reply.Rows++
	if key != "" {
		reply.Values = append(reply.Values, []byte(key))
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
	if s.wait != "" {
		s.x.begin(3)
		s.x.text("WAIT")
		s.x.text(s.wait)
		s.x.text(waitMillis)
	}
	if err := s.x.flush(); err != nil {
		return err
	}
	var first error
	for range replies {
		var c sum
		if err := s.x.count(&c); err != nil {
			if s.x.torn {
				return err
			}
			first = err
		}
	}
	if err := s.waited(); err != nil {
		return err
	}
	reply.Rows = 1
	return first
}

// waited reads the reply of WAIT: how many replicas have what was written. Fewer than asked for is no error of Redis.
func (s *session) waited() error {
	if s.wait == "" {
		return nil
	}
	var c sum
	if err := s.x.count(&c); err != nil {
		return err
	}
	if want, _ := strconv.ParseInt(s.wait, 10, 64); c.integer < want {
		return &driver.Error{Class: driver.Timeout, Code: "WAIT", Err: fmt.Errorf("%d of %d replicas had the write within %s ms", c.integer, want, waitMillis)}
	}
	return nil
}

func (s *session) remove(key []byte, ordered bool, reply *driver.Reply) error {
	s.x.begin(2)
	s.x.text("DEL")
	s.x.part(key)
	n := 1
	if ordered {
		s.x.begin(3)
		s.x.text("ZREM")
		s.x.text(indexKey)
		s.x.part(key)
		n++
	}
	if s.wait != "" {
		s.x.begin(3)
		s.x.text("WAIT")
		s.x.text(s.wait)
		s.x.text(waitMillis)
	}
	if err := s.x.flush(); err != nil {
		return err
	}
	for i := range n {
		var c sum
		if err := s.x.count(&c); err != nil {
			return err
		}
		if i == 0 {
			reply.Rows = c.integer
		}
	}
	return s.waited()
}

// scan takes the keys from the sorted set, then their hashes in one pipeline: as a client must.
func (s *session) scan(op *driver.Op, reply *driver.Reply) error {
	s.x.begin(7)
	s.x.text("ZRANGEBYLEX")
	s.x.text(indexKey)
	s.number = append(append(s.number[:0], '['), op.Key...)
	s.x.part(s.number)
	s.x.text("+")
	s.x.text("LIMIT")
	s.x.text("0")
	s.number = strconv.AppendInt(s.number[:0], int64(op.Limit), 10)
	s.x.part(s.number)
	if err := s.x.flush(); err != nil {
		return err
	}
	v, err := s.x.value()
	if err != nil {
		return err
	}
	list, _ := v.([]any)
	for _, k := range list {
		key, _ := k.(string)
		s.x.begin(2)
		s.x.text("HGETALL")
		s.x.text(key)
	}
	if len(list) == 0 {
		return nil
	}
	if err := s.x.flush(); err != nil {
		return err
	}
	for _, k := range list {
		key, _ := k.(string)
		if err := s.hash(key, reply); err != nil {
			return err
		}
		reply.Bytes += int64(len(key))
	}
	return nil
}

// Interrupt cuts the connection: Redis has no way to end another client's command. What was sent may still be done.
func (s *session) Interrupt() { _ = s.x.conn.SetDeadline(time.Unix(1, 0)) } // it fails only on a closed connection

func (s *session) Close() error { return s.x.conn.Close() }
