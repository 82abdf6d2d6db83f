package mongodb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"sextant/interp/driver"
)

// system is an opened server, replica set or sharded cluster.
type system struct {
	url      string // holds the password
	log      func(kind, text string)
	local    *servers // of local(); nil for one that existed
	database string
	user     string
	address  string
	wtimeout time.Duration

	client   *mongo.Client
	db       *mongo.Database
	version  string
	kind     string // MongoDB, FerretDB, SecantusDB
	topology string // standalone, replica set, sharded
	members  int    // that hold data
	secure   bool
	direct   bool // a connection to one primary, whatever set it is of

	probing sync.Mutex
	probed  *honesty
}

// open connects and looks at the server.
func (s *system) open(ctx context.Context) error {
	o := clientOptions(s.url)
	s.secure, s.direct = o.TLSConfig != nil, o.Direct != nil && *o.Direct
	client, err := mongo.Connect(o)
	if err != nil {
		return s.connectError(err)
	}
	s.client, s.db = client, client.Database(s.database)
	return s.look(ctx)
}

// command runs a command on a database and gives the reply.
func command(ctx context.Context, db *mongo.Database, cmd any) (bson.Raw, error) {
	raw, err := db.RunCommand(ctx, cmd).Raw()
	return raw, wrap(err)
}

func (s *system) look(ctx context.Context) error {
	admin := s.client.Database("admin")
	hello, err := admin.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Raw()
	if err != nil {
		return s.connectError(err)
	}
	build, err := admin.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Raw()
	if err != nil {
		return s.connectError(err)
	}
	if _, err := s.db.RunCommand(ctx, bson.D{{Key: "listCollections", Value: 1}, {Key: "nameOnly", Value: true}}).Raw(); err != nil { // the login is looked at only here
		return s.connectError(err)
	}
	s.version, _ = build.Lookup("version").StringValueOK()
	s.kind = "MongoDB"
	for _, other := range []string{"ferretdb", "secantus"} {
		if strings.Contains(strings.ToLower(build.String()), other) {
			s.kind = other
		}
	}
	if set, ok := hello.Lookup("setName").StringValueOK(); ok && strings.Contains(strings.ToLower(set), "secantus") {
		s.kind = "secantus"
	}
	s.topology, s.members = "standalone", 1
	if list, ok := hello.Lookup("hosts").ArrayOK(); ok {
		hosts, err := list.Values()
		if err != nil {
			return wrap(err)
		}
		s.topology, s.members = "replica set", len(hosts)
	}
	if msg, ok := hello.Lookup("msg").StringValueOK(); ok && msg == "isdbgrid" {
		s.topology, s.members = "sharded", 0 // not known from here
	}
	if primary, ok := hello.Lookup("isWritablePrimary").BooleanOK(); !ok || !primary {
		s.direct = false
	}
	var major, minor int
	if _, err := fmt.Sscanf(s.version, "%d.%d", &major, &minor); err != nil || major*100+minor < 402 {
		return &driver.Error{Class: driver.Unavailable, Err: fmt.Errorf("the server's version is %q", s.version), Hint: "sextant measures MongoDB 4.2 and later"}
	}
	return nil
}

func (s *system) Facts(ctx context.Context) ([]driver.Fact, error) {
	facts := []driver.Fact{{Key: "server_version", Value: s.version}, {Key: "server_kind", Value: s.kind}, {Key: "topology", Value: s.topology}}
	if s.members > 0 {
		facts = append(facts, driver.Fact{Key: "members", Value: fmt.Sprint(s.members)})
	}
	h, err := s.honest(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking at what the server does: %w", err)
	}
	facts = append(facts, driver.Fact{Key: "heeds_write_concern", Value: fmt.Sprint(h.writeConcern)}, driver.Fact{Key: "heeds_read_concern", Value: fmt.Sprint(h.readConcern)},
		driver.Fact{Key: "unacknowledged_writes", Value: map[bool]string{true: "no reply", false: "answered: w=0 is refused"}[h.silent]})
	if st, err := command(ctx, s.client.Database("admin"), bson.D{{Key: "serverStatus", Value: 1}}); err == nil {
		for key, path := range map[string][]string{"storage_engine": {"storageEngine", "name"}, "process": {"process"}} {
			if v, ok := st.Lookup(path...).StringValueOK(); ok {
				facts = append(facts, driver.Fact{Key: key, Value: v})
			}
		}
	}
	if d, err := command(ctx, s.client.Database("admin"), bson.D{{Key: "getDefaultRWConcern", Value: 1}}); err == nil {
		for key, path := range map[string]string{"server_setting.defaultWriteConcern": "defaultWriteConcern", "server_setting.defaultReadConcern": "defaultReadConcern"} {
			if v, err := d.LookupErr(path); err == nil {
				facts = append(facts, driver.Fact{Key: key, Value: v.String()})
			}
		}
	}
	tls := "no"
	if s.secure {
		tls = "yes"
	}
	slices.SortFunc(facts[3:], func(a, b driver.Fact) int { return strings.Compare(a.Key, b.Key) })
	return append(facts, driver.Fact{Key: "tls", Value: tls}, driver.Fact{Key: "address", Value: s.address}), nil
}

// parse reads a command of a hook as extended JSON; a value "?" takes the next argument.
func parse(text string, args []any) (bson.D, error) {
	var cmd bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &cmd); err != nil {
		return nil, &driver.Error{Class: driver.Other, Err: fmt.Errorf("the command is no JSON document: %w", err), Hint: `write {"find": "usertable", "filter": {"_id": "?"}}`}
	}
	n := 0
	var fill func(v any) any
	fill = func(v any) any {
		switch v := v.(type) {
		case string:
			if v == "?" && n < len(args) {
				n++
				return args[n-1]
			}
		case bson.D:
			for i := range v {
				v[i].Value = fill(v[i].Value)
			}
		case bson.A:
			for i := range v {
				v[i] = fill(v[i])
			}
		}
		return v
	}
	fill(cmd)
	if n != len(args) {
		return nil, &driver.Error{Class: driver.Other, Err: fmt.Errorf("the command has %d places for arguments, %d arguments were given", n, len(args))}
	}
	return cmd, nil
}

// Exec runs a command and gives the n of its reply.
func (s *system) Exec(ctx context.Context, text string, args []any) (int64, error) {
	cmd, err := parse(text, args)
	if err != nil {
		return 0, err
	}
	reply, err := command(ctx, s.db, cmd)
	if err != nil {
		return 0, err
	}
	n, _ := reply.Lookup("n").AsInt64OK()
	return n, nil
}

// Query runs a command: the documents of its first batch are the rows, or its reply is the one row.
func (s *system) Query(ctx context.Context, text string, args []any) (columns []string, rows [][]any, err error) {
	cmd, err := parse(text, args)
	if err != nil {
		return nil, nil, err
	}
	reply, err := command(ctx, s.db, cmd)
	if err != nil {
		return nil, nil, err
	}
	docs := []bson.Raw{reply}
	if batch, ok := reply.Lookup("cursor", "firstBatch").ArrayOK(); ok {
		values, err := batch.Values()
		if err != nil {
			return nil, nil, wrap(err)
		}
		docs = nil
		for _, v := range values {
			if d, ok := v.DocumentOK(); ok {
				docs = append(docs, d)
			}
		}
	}
	for _, d := range docs { // documents need not have the same fields
		elements, err := d.Elements()
		if err != nil {
			return nil, nil, wrap(err)
		}
		row := make([]any, len(columns))
		for _, e := range elements {
			if k := e.Key(); len(docs) == 1 && (k == "ok" || k == "$clusterTime" || k == "operationTime" || k == "$configTime" || k == "$topologyTime") {
				continue
			}
			i := slices.Index(columns, e.Key())
			if i < 0 {
				i = len(columns)
				columns = append(columns, e.Key())
				row = append(row, nil)
			}
			row[i] = plain(e.Value())
		}
		rows = append(rows, row)
	}
	for i, r := range rows {
		rows[i] = append(r, make([]any, len(columns)-len(r))...)
	}
	return columns, rows, nil
}

// plain makes a value that hooks know.
func plain(v bson.RawValue) any {
	switch v.Type {
	case bson.TypeString:
		return v.StringValue()
	case bson.TypeInt32, bson.TypeInt64:
		n, _ := v.AsInt64OK()
		return n
	case bson.TypeDouble:
		return v.Double()
	case bson.TypeBoolean:
		return v.Boolean()
	case bson.TypeNull:
		return nil
	}
	return v.String()
}

// Counters are the numbers of serverStatus that count what the server did.
func (s *system) Counters(ctx context.Context) ([]driver.Counter, error) {
	st, err := command(ctx, s.client.Database("admin"), bson.D{{Key: "serverStatus", Value: 1}})
	if class, _ := driver.Classify(err); class == driver.Auth {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading serverStatus: %w", err)
	}
	var out []driver.Counter
	for _, section := range [][]string{{"opcounters"}, {"network"}, {"metrics", "document"}, {"wiredTiger", "log"}, {"wiredTiger", "cache"}, {"globalLock"}, {"extra_info"}} {
		d, ok := st.Lookup(section...).DocumentOK()
		if !ok {
			continue
		}
		elements, err := d.Elements()
		if err != nil {
			continue
		}
		for _, e := range elements {
			if n, ok := e.Value().AsInt64OK(); ok && e.Value().IsNumber() {
				out = append(out, driver.Counter{Name: strings.Join(append(section, strings.ReplaceAll(e.Key(), " ", "_")), "."), Value: float64(n)})
			}
		}
	}
	return out, nil
}

func (s *system) Processes(context.Context) ([]int, string) {
	if s.local == nil {
		return nil, "the server was not started by sextant"
	}
	return s.local.processes(), ""
}

// Restart starts throwaway servers again that have died.
func (s *system) Restart(ctx context.Context) (bool, error) {
	if s.local == nil || s.local.alive() {
		return false, nil
	}
	return true, s.local.start(ctx, s)
}

func (s *system) Close(ctx context.Context) error {
	var err error
	if s.client != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if e := s.client.Disconnect(ctx); e != nil && !errors.Is(e, mongo.ErrClientDisconnected) {
			err = wrap(e)
		}
	}
	if s.local != nil {
		err = errors.Join(err, s.local.remove())
	}
	return err
}
