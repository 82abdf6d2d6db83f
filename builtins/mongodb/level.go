package mongodb

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// writeConcern is the document that writes carry; nil when the level doesn't speak of it.
func (s *system) writeConcern(l spec.Level) bsoncore.Document {
	w, j := l.Get("w"), l.Get("j")
	if w == "" && j == "" {
		return nil
	}
	i, b := bsoncore.AppendDocumentStart(nil)
	if n, err := strconv.Atoi(w); err == nil {
		b = bsoncore.AppendInt32Element(b, "w", int32(n))
	} else if w != "" {
		b = bsoncore.AppendStringElement(b, "w", w)
	}
	if j != "" {
		b = bsoncore.AppendBooleanElement(b, "j", j == "true")
	}
	if w != "0" {
		b = bsoncore.AppendInt64Element(b, "wtimeout", max(s.wtimeout.Milliseconds(), 1))
	}
	b, _ = bsoncore.AppendDocumentEnd(b, i) // the start was made above
	return b
}

// preference is the library's value of a level's read preference.
func preference(l spec.Level) (*readpref.ReadPref, error) {
	mode, err := readpref.ModeFromString(or(l.Get("read_preference"), "primary"))
	if err != nil {
		return nil, err
	}
	return readpref.New(mode)
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// CheckLevel refuses what the members can't give and what the server only pretends to do.
func (s *system) CheckLevel(ctx context.Context, l spec.Level) error {
	refuse := func(format string, a ...any) error {
		return &driver.LevelRefused{Level: l, Reason: fmt.Sprintf(format, a...)}
	}
	h, err := s.honest(ctx)
	if err != nil {
		return err
	}
	w, j, rc, rp := l.Get("w"), l.Get("j"), l.Get("read_concern"), l.Get("read_preference")
	n, numeric := strconv.Atoi(w)
	switch {
	case w == "0" && !h.silent:
		return refuse("the server answers writes that ask for no answer: replies would get mixed up")
	case (w != "" && w != "0" || j != "") && !h.writeConcern:
		return refuse("the server ignores write concerns: it took one that doesn't exist")
	case rc != "" && !h.readConcern:
		return refuse("the server ignores read concerns: it took one that doesn't exist")
	case numeric == nil && s.members > 0 && n > s.members:
		return refuse("w=%d needs %d members, the %s has %d", n, n, s.topology, s.members)
	case rp == "secondary" && s.topology != "sharded" && s.members < 2:
		return refuse("there is no secondary")
	case w == "majority" && s.topology == "standalone" && s.kind != "MongoDB":
		return refuse("a server alone has no majority")
	}
	if rc == "" && rp == "" {
		return nil
	}
	x, err := s.newSession(l) // a read says whether this server can
	if err != nil {
		return err
	}
	i, cmd := bsoncore.AppendDocumentStart(nil)
	cmd = bsoncore.AppendStringElement(cmd, "find", "sextant_probe")
	cmd = bsoncore.AppendInt32Element(cmd, "limit", 1)
	cmd = x.appendRead(cmd)
	cmd, _ = bsoncore.AppendDocumentEnd(cmd, i)
	if _, err := x.run(ctx, cmd, true); err != nil {
		if class, _ := driver.Classify(err); class == driver.Connection && rp == "" {
			return err
		}
		return refuse("%v", err)
	}
	return nil
}

// Level runs a read and a write of the session on a client of its own whose commands are looked at as they leave, and gives what
// they carried. What a level doesn't ask for is the server's own default, as the server says it.
func (s *session) Level(ctx context.Context, asked spec.Level) (string, error) {
	all := len(asked.Settings) == 0
	sent, err := s.s.observe(ctx, s.level)
	if err != nil {
		return "", fmt.Errorf("reading the level back: %w", err)
	}
	var got spec.Level
	for _, setting := range Driver().Levels {
		if all || asked.Get(setting.Name) != "" {
			got.Settings = append(got.Settings, spec.Setting{Name: setting.Name, Value: or(sent[setting.Name], "server")})
		}
	}
	return got.String(), nil
}

// observe sends one read and one write of a level and gives the level's settings that the commands carried.
func (s *system) observe(ctx context.Context, l spec.Level) (map[string]string, error) {
	sent := map[string]string{}
	monitor := &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		if wc, ok := e.Command.Lookup("writeConcern").DocumentOK(); ok {
			if v, err := wc.LookupErr("w"); err == nil {
				sent["w"] = strings.Trim(text(v), `"`)
			}
			if v, ok := wc.Lookup("j").BooleanOK(); ok {
				sent["j"] = fmt.Sprint(v)
			}
		}
		if rc, ok := e.Command.Lookup("readConcern", "level").StringValueOK(); ok {
			sent["read_concern"] = rc
		}
		if mode, ok := e.Command.Lookup("$readPreference", "mode").StringValueOK(); ok && e.CommandName == "find" {
			sent["read_preference"] = mode
		}
	}}
	client, err := mongo.Connect(clientOptions(s.url).SetMonitor(monitor))
	if err != nil {
		return nil, wrap(err)
	}
	defer client.Disconnect(context.WithoutCancel(ctx)) //nolint:errcheck // its commands have been seen
	probe := &system{client: client, db: client.Database(s.database), database: s.database, wtimeout: s.wtimeout, address: s.address, user: s.user}
	x, err := probe.newSession(l)
	if err != nil {
		return nil, err
	}
	w := &driver.Workload{Tables: []driver.Table{{Name: "sextant_probe", Key: "_id", Fields: []driver.Column{{Name: "x"}}}},
		Ops: []driver.OpType{{Action: driver.Read}, {Action: driver.Update}}}
	if err := x.Prepare(ctx, w); err != nil {
		return nil, err
	}
	var r driver.Reply
	if err := x.Do(ctx, &driver.Op{Type: 0, Key: []byte("level")}, &r); err != nil {
		return nil, err
	}
	if err := x.Do(ctx, &driver.Op{Type: 1, Key: []byte("level"), Fields: []int{0}, Values: [][]byte{[]byte("1")}}, &r); err != nil {
		return nil, err
	}
	// Commands that name none go to the primary. On a direct connection to a primary the library says primaryPreferred for
	// primary, so that the server doesn't refuse; there is one server to go to.
	if v := sent["read_preference"]; v == "" || v == "primaryPreferred" && s.direct && or(l.Get("read_preference"), "primary") == "primary" {
		sent["read_preference"] = "primary"
	}
	return sent, nil
}

func text(v bson.RawValue) string {
	if n, ok := v.AsInt64OK(); ok && v.IsNumber() {
		return fmt.Sprint(n)
	}
	return v.String()
}
