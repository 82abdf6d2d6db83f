package mongodb

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// session is the operations of one client, on the shared pool.
type session struct {
	s       *system
	level   spec.Level
	write   bsoncore.Document // write concern; nil: the server's default
	read    string            // read concern
	pref    *readpref.ReadPref
	reading *options.RunCmdOptionsBuilder
	silent  bool // w=0
	w       *driver.Workload
	ops     []driver.OpType
	quiet   []*mongo.Collection // by table, for writes without an answer
	buf     []byte
	kept    [][]byte
}

func (s *system) newSession(l spec.Level) (*session, error) {
	x := &session{s: s, level: l, write: s.writeConcern(l), read: l.Get("read_concern"), silent: l.Get("w") == "0"}
	var err error
	if x.pref, err = preference(l); err != nil {
		return nil, err
	}
	x.reading = options.RunCmd().SetReadPreference(x.pref)
	return x, nil
}

func (s *system) Session(ctx context.Context, level spec.Level) (driver.Session, error) {
	x, err := s.newSession(level)
	if err != nil {
		return nil, err
	}
	if err := s.client.Ping(ctx, x.pref); err != nil { // the server must be there
		return nil, s.connectError(err)
	}
	return x, nil
}

func (s *session) Prepare(_ context.Context, w *driver.Workload) error {
	for _, op := range w.All() {
		if op.Action != driver.Transaction && !slices.Contains(driver.RecordActions(), string(op.Action)) {
			return &driver.Error{Class: driver.Other, Err: fmt.Errorf("MongoDB can't do the action %q", op.Action)}
		}
		if s.silent && (op.Action == driver.InsertIfAbsent || op.Action == driver.UpdateIf) {
			return &driver.Error{Class: driver.Other, Err: fmt.Errorf("at w=0 nobody is told whether a %s was done", op.Action)}
		}
	}
	s.w, s.ops = w, w.All()
	for _, t := range w.Tables {
		s.quiet = append(s.quiet, s.s.db.Collection(t.Name, options.Collection().SetWriteConcern(writeconcern.Unacknowledged())))
	}
	return nil
}

// appendRead adds the read concern to a command.
func (s *session) appendRead(b []byte) []byte {
	if s.read == "" {
		return b
	}
	i, b := bsoncore.AppendDocumentElementStart(b, "readConcern")
	b = bsoncore.AppendStringElement(b, "level", s.read)
	b, _ = bsoncore.AppendDocumentEnd(b, i)
	return b
}

// run sends a command.
func (s *session) run(ctx context.Context, cmd []byte, read bool) (bson.Raw, error) {
	if read {
		raw, err := s.s.db.RunCommand(ctx, bson.Raw(cmd), s.reading).Raw()
		return raw, wrap(err)
	}
	raw, err := s.s.db.RunCommand(ctx, bson.Raw(cmd)).Raw() // also the errors within a reply that says ok
	return raw, wrap(err)
}

// Do performs one operation. Its context is what ends it; what the server has begun goes on there.
func (s *session) Do(ctx context.Context, op *driver.Op, reply *driver.Reply) error {
	o := &s.ops[op.Type]
	t := &s.w.Tables[o.Table]
	switch o.Action {
	case driver.Read:
		return s.find(ctx, t, op, reply)
	case driver.Scan, driver.ReadByIndex, driver.BatchRead:
		s.findMany(o, t, op)
		return s.take(ctx, t, true, reply)
	case driver.ReadModifyWrite:
		if err := s.find(ctx, t, op, reply); err != nil || reply.Rows == 0 {
			return err
		}
		reply.Rows = 0
	}
	if s.silent {
		return s.unacknowledged(ctx, o, op, reply)
	}
	return s.change(ctx, o, t, op, reply)
}

// begin starts a command of a table.
func (s *session) begin(name string, t *driver.Table) int32 {
	i, b := bsoncore.AppendDocumentStart(s.buf[:0])
	s.buf = bsoncore.AppendStringElement(b, name, t.Name)
	return i
}

// text appends a string element of bytes, without making a string of them.
func text8(b []byte, key string, v []byte) []byte {
	b = bsoncore.AppendHeader(b, bsoncore.TypeString, key)
	b = bsoncore.AppendInt32(b, int32(len(v)+1))
	return append(append(b, v...), 0)
}

// byKey appends {KEY: {_id: key}}.
func byKey(b []byte, key string, id []byte) []byte {
	i, b := bsoncore.AppendDocumentElementStart(b, key)
	b = text8(b, "_id", id)
	b, _ = bsoncore.AppendDocumentEnd(b, i)
	return b
}

func (s *session) find(ctx context.Context, t *driver.Table, op *driver.Op, reply *driver.Reply) error {
	i := s.begin("find", t)
	s.buf = byKey(s.buf, "filter", op.Key)
	s.buf = bsoncore.AppendInt32Element(s.buf, "limit", 1)
	s.buf = bsoncore.AppendBooleanElement(s.buf, "singleBatch", true)
	s.buf = s.appendRead(s.buf)
	s.buf, _ = bsoncore.AppendDocumentEnd(s.buf, i)
	return s.take(ctx, t, false, reply)
}

// findMany is the command of a read of several documents.
func (s *session) findMany(o *driver.OpType, t *driver.Table, op *driver.Op) {
	limit := op.Limit
	i := s.begin("find", t)
	f, b := bsoncore.AppendDocumentElementStart(s.buf, "filter")
	switch o.Action {
	case driver.Scan:
		g, c := bsoncore.AppendDocumentElementStart(b, "_id")
		b, _ = bsoncore.AppendDocumentEnd(text8(c, "$gte", op.Key), g)
	case driver.ReadByIndex:
		b = text8(b, t.Fields[o.Fields[0]].Name, op.Values[0])
	case driver.BatchRead:
		limit = len(op.Keys)
		g, c := bsoncore.AppendDocumentElementStart(b, "_id")
		in, c := bsoncore.AppendArrayElementStart(c, "$in")
		for k, key := range op.Keys {
			c = text8(c, strconv.Itoa(k), key)
		}
		c, _ = bsoncore.AppendArrayEnd(c, in)
		b, _ = bsoncore.AppendDocumentEnd(c, g)
	}
	b, _ = bsoncore.AppendDocumentEnd(b, f)
	if o.Action == driver.Scan {
		sort, c := bsoncore.AppendDocumentElementStart(b, "sort")
		b, _ = bsoncore.AppendDocumentEnd(bsoncore.AppendInt32Element(c, "_id", 1), sort)
	}
	b = bsoncore.AppendInt32Element(b, "limit", int32(limit))
	b = bsoncore.AppendInt32Element(b, "batchSize", int32(limit))
	b = bsoncore.AppendBooleanElement(b, "singleBatch", true)
	s.buf, _ = bsoncore.AppendDocumentEnd(s.appendRead(b), i)
}

// take sends the command and counts the documents of its reply. The key counts for a scan.
func (s *session) take(ctx context.Context, t *driver.Table, withKey bool, reply *driver.Reply) error {
	raw, err := s.run(ctx, s.buf, true)
	if err != nil {
		return err
	}
	batch, ok := bsoncore.Document(raw).Lookup("cursor", "firstBatch").ArrayOK()
	if !ok {
		return &driver.Error{Class: driver.Other, Err: fmt.Errorf("the reply to a find has no documents")}
	}
	docs, err := batch.Values()
	if err != nil {
		return wrap(err)
	}
	s.kept = s.kept[:0]
	for _, v := range docs {
		doc, ok := v.DocumentOK()
		if !ok {
			return &driver.Error{Class: driver.Other, Err: fmt.Errorf("a row of a find is no document")}
		}
		reply.Rows++
		if reply.Keep {
			s.keep(doc, t, withKey)
		}
		elements, err := doc.Elements()
		if err != nil {
			return wrap(err)
		}
		for _, e := range elements {
			if text, ok := e.Value().StringValueOK(); ok && (withKey || e.Key() != "_id") {
				reply.Bytes += int64(len(text))
			}
		}
	}
	if reply.Keep {
		reply.Values = s.kept
	}
	return nil
}

// keep adds the values of a document in the order of the table's fields.
func (s *session) keep(doc bsoncore.Document, t *driver.Table, withKey bool) {
	add := func(name string) {
		var v []byte
		if text, ok := doc.Lookup(name).StringValueOK(); ok {
			v = []byte(text)
		}
		s.kept = append(s.kept, v)
	}
	if withKey {
		add("_id")
	}
	for _, f := range t.Fields {
		add(f.Name)
	}
}

// fields appends values under the names of their fields.
func fields(b []byte, t *driver.Table, values [][]byte, which []int) []byte {
	for i, v := range values {
		f := i
		if which != nil {
			f = which[i]
		}
		b = text8(b, t.Fields[f].Name, v)
	}
	return b
}

// documents appends a document for each record of an insert, between the start and the end of a list.
func documents(b []byte, t *driver.Table, op *driver.Op) []byte {
	keys := op.Keys
	if keys == nil {
		keys = [][]byte{op.Key}
	}
	n := len(op.Values) / len(keys)
	for k, key := range keys {
		item, c := bsoncore.AppendDocumentElementStart(b, strconv.Itoa(k))
		b, _ = bsoncore.AppendDocumentEnd(fields(text8(c, "_id", key), t, op.Values[k*n:(k+1)*n], nil), item)
	}
	return b
}

// change runs a write and reads how many documents it met.
func (s *session) change(ctx context.Context, o *driver.OpType, t *driver.Table, op *driver.Op, reply *driver.Reply) error {
	var i, list, item int32
	b := s.buf
	switch o.Action {
	case driver.Insert, driver.InsertIfAbsent, driver.BatchInsert:
		i = s.begin("insert", t)
		list, b = bsoncore.AppendArrayElementStart(s.buf, "documents")
		b = documents(b, t, op)
	case driver.Delete:
		i = s.begin("delete", t)
		list, b = bsoncore.AppendArrayElementStart(s.buf, "deletes")
		item, b = bsoncore.AppendDocumentElementStart(b, "0")
		b = bsoncore.AppendInt32Element(byKey(b, "q", op.Key), "limit", 1)
		b, _ = bsoncore.AppendDocumentEnd(b, item)
	default:
		i = s.begin("update", t)
		list, b = bsoncore.AppendArrayElementStart(s.buf, "updates")
		item, b = bsoncore.AppendDocumentElementStart(b, "0")
		q, b2 := bsoncore.AppendDocumentElementStart(b, "q")
		b = text8(b2, "_id", op.Key)
		values, which := op.Values, op.Fields
		if which == nil {
			which = o.Fields
		}
		if o.Action == driver.UpdateIf {
			b = text8(b, t.Fields[o.Fields[0]].Name, op.Values[1])
			values = values[:1]
		}
		b, _ = bsoncore.AppendDocumentEnd(b, q)
		u, c := bsoncore.AppendDocumentElementStart(b, "u")
		to, c := bsoncore.AppendDocumentElementStart(c, "$set")
		c, _ = bsoncore.AppendDocumentEnd(fields(c, t, values, which), to)
		b, _ = bsoncore.AppendDocumentEnd(c, u)
		b, _ = bsoncore.AppendDocumentEnd(b, item)
	}
	b, _ = bsoncore.AppendArrayEnd(b, list)
	if s.write != nil {
		b = bsoncore.AppendDocumentElement(b, "writeConcern", s.write)
	}
	s.buf, _ = bsoncore.AppendDocumentEnd(b, i)
	raw, err := s.run(ctx, s.buf, false)
	if class, _ := driver.Classify(err); o.Action == driver.InsertIfAbsent && class == driver.Constraint {
		return nil // it is there
	}
	if err != nil {
		return err
	}
	reply.Rows += lookup(raw, "n")
	return nil
}

// unacknowledged runs a write whose reply nobody waits for: the library must know, so it is one of its own operations.
func (s *session) unacknowledged(ctx context.Context, o *driver.OpType, op *driver.Op, reply *driver.Reply) error {
	t := &s.w.Tables[o.Table]
	coll := s.quiet[o.Table]
	doc := func(id []byte, which []int, values bool) bson.Raw {
		i, b := bsoncore.AppendDocumentStart(nil)
		if id != nil {
			b = text8(b, "_id", id)
		}
		if values {
			b = fields(b, t, op.Values, which)
		}
		b, _ = bsoncore.AppendDocumentEnd(b, i)
		return b
	}
	var err error
	switch o.Action {
	case driver.Insert, driver.BatchInsert:
		i, b := bsoncore.AppendArrayStart(nil)
		b, _ = bsoncore.AppendArrayEnd(documents(b, t, op), i)
		var list []bsoncore.Value
		if list, err = bsoncore.Array(b).Values(); err != nil {
			break
		}
		var docs []any
		for _, v := range list {
			docs = append(docs, bson.Raw(v.Document()))
		}
		_, err = coll.InsertMany(ctx, docs)
	case driver.Delete:
		_, err = coll.DeleteOne(ctx, doc(op.Key, nil, false))
	default:
		which := op.Fields
		if which == nil {
			which = o.Fields
		}
		_, err = coll.UpdateOne(ctx, doc(op.Key, nil, false), bson.D{{Key: "$set", Value: doc(nil, which, true)}})
	}
	if err != nil {
		return wrap(err)
	}
	reply.Rows += max(int64(len(op.Keys)), 1) // nobody knows
	return nil
}

// Close leaves the shared pool open.
func (s *session) Close() error { return nil }
