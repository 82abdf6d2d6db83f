package redis

import (
	"errors"

	"sextant/interp/driver"
)

// The conditional writes, as scripts that the server runs as a whole. They are sent as texts: one that a server has only by its number is gone when it
// is started again. KEYS are the record and, where scans need the keys in order, the index.
const (
	ifAbsent = `if redis.call('EXISTS',KEYS[1])==1 then return 0 end ` +
		`redis.call('HSET',KEYS[1],unpack(ARGV)) ` +
		`if KEYS[2] then redis.call('ZADD',KEYS[2],'0',KEYS[1]) end return 1`
	ifEqual = `if redis.call('HGET',KEYS[1],ARGV[1])~=ARGV[2] then return 0 end ` +
		`redis.call('HSET',KEYS[1],ARGV[1],ARGV[3]) return 1`
)

var errBatch = &driver.Error{Class: driver.Other, Err: errors.New("a batch of records is one request to one server, which a cluster isn't")}

// eval begins a script's command, of so many arguments.
func (s *session) eval(script string, key []byte, index bool, args int) {
	keys := "1"
	if index {
		keys, args = "2", args+1
	}
	s.x.begin(4 + args)
	s.x.text("EVAL")
	s.x.text(script)
	s.x.text(keys)
	s.x.part(key)
	if index {
		s.x.text(indexKey)
	}
}

func (s *session) insertIfAbsent(op *driver.Op, reply *driver.Reply) (err error) {
	t := &s.w.Tables[0]
	s.eval(ifAbsent, op.Key, t.Ordered, 2*len(op.Values))
	for i, v := range op.Values {
		s.x.text(t.Fields[i].Name)
		s.x.part(v)
	}
	reply.Rows, err = s.replies(1)
	return err
}

func (s *session) updateIf(op *driver.Op, reply *driver.Reply) (err error) {
	s.eval(ifEqual, op.Key, false, 3)
	s.x.text(s.w.Tables[0].Fields[s.ops[op.Type].Fields[0]].Name)
	s.x.part(op.Values[1])
	s.x.part(op.Values[0])
	reply.Rows, err = s.replies(1)
	return err
}

// insertBatch sends the inserts of a batch, and one WAIT behind them, in one pipeline.
func (s *session) insertBatch(op *driver.Op, reply *driver.Reply) error {
	t, replies, n := &s.w.Tables[0], 0, len(op.Values)/len(op.Keys)
	for i, key := range op.Keys {
		replies += record(s.x, t, key, op.Values[i*n:(i+1)*n])
	}
	_, err := s.replies(replies)
	if err == nil {
		reply.Rows = int64(len(op.Keys))
	}
	return err
}

func (s *session) readBatch(op *driver.Op, reply *driver.Reply) error {
	return s.hashes(s.source(), op.Keys, reply)
}

// hashes reads records in one pipeline; their keys count as what was read.
func (s *session) hashes(x *wire, keys [][]byte, reply *driver.Reply) error {
	for _, key := range keys {
		x.begin(2)
		x.text("HGETALL")
		x.part(key)
	}
	if len(keys) == 0 {
		return nil
	}
	if err := x.flush(); err != nil {
		return err
	}
	var first error
	for _, key := range keys {
		before := reply.Rows
		if err := s.hash(x, key, reply); err != nil {
			if first = err; x.torn {
				return err
			}
		}
		if reply.Rows > before {
			reply.Bytes += int64(len(key))
		}
	}
	return first
}
