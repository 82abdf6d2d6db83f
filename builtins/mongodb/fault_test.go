package mongodb

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"sextant/interp/driver"
	"sextant/interp/driver/drivertest"
	"sextant/interp/spec"
)

func level(t *testing.T, text string) spec.Level {
	t.Helper()
	return drivertest.Level(t, Driver(), text)
}

// What goes over the wire: the whole commands of a read and a write at a level.
func TestCommandsCarryTheLevel(t *testing.T) {
	s := local(t)
	var sent []string
	client, err := mongo.Connect(clientOptions(s.url).SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) { sent = append(sent, e.Command.String()) }}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(context.Background()) //nolint:errcheck // its commands have been seen
	probe := &system{client: client, db: client.Database("sextant"), wtimeout: 2 * time.Second}
	w := &driver.Workload{Tables: []driver.Table{{Name: "t", Key: "_id", Fields: []driver.Column{{Name: "f"}}}}}
	for _, a := range []driver.Action{driver.Read, driver.Update, driver.Insert, driver.Delete, driver.Scan} {
		w.Ops = append(w.Ops, driver.OpType{Action: a})
	}
	ops := []driver.Op{{Type: 0, Key: []byte("k")}, {Type: 1, Key: []byte("k"), Fields: []int{0}, Values: [][]byte{[]byte("v")}}, {Type: 2, Key: []byte("k"), Values: [][]byte{[]byte("v")}},
		{Type: 4, Key: []byte("k"), Limit: 3}, {Type: 3, Key: []byte("k")}}
	for text, want := range map[string][2]string{ // in reads, in writes
		"default":                     {"", ""},
		"majority+j=true":             {"", `"writeConcern": {"w": "majority","j": true,"wtimeout": {"$numberLong":"2000"}}`},
		"1":                           {"", `"writeConcern": {"w": {"$numberInt":"1"},"wtimeout": {"$numberLong":"2000"}}`},
		"j=false":                     {"", `"writeConcern": {"j": false,"wtimeout": {"$numberLong":"2000"}}`},
		"0+read_concern=majority":     {`"readConcern": {"level": "majority"}`, `"writeConcern": {"w": {"$numberInt":"0"}}`},
		"linearizable":                {`"readConcern": {"level": "linearizable"}`, ""},
		"available+nearest":           {`"$readPreference": {"mode": "nearest"}`, ""},
		"majority+read_concern=local": {`"readConcern": {"level": "local"}`, `"w": "majority"`},
	} {
		x, err := probe.newSession(level(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Prepare(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		for _, op := range ops {
			sent = nil
			if err := x.Do(t.Context(), &op, &driver.Reply{}); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			reads := op.Type == 0 || op.Type == 4
			has := want[1]
			if reads {
				has = want[0]
			}
			if len(sent) != 1 || !strings.Contains(sent[0], has) || !reads && has == "" && strings.Contains(sent[0], "writeConcern") || reads && strings.Contains(sent[0], "writeConcern") ||
				!reads && strings.Contains(sent[0], "readConcern") || text == "default" && strings.Contains(sent[0], "Concern") {
				t.Errorf("%s: %s, want %s", text, sent, has)
			}
		}
		if text == "0+read_concern=majority" { // the writes before are done when a later command on the connections is
			if _, err := probe.Exec(t.Context(), `{"ping": 1}`, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The server's answers have their classes.
func TestErrorsAreClassed(t *testing.T) {
	s := local(t)
	for text, want := range map[string]string{
		`{"insert": "u", "documents": [{"_id": 1}, {"_id": 1}]}`: "constraint 11000",
		`{"nosuchcommand": 1}`: "other CommandNotFound",
		`{"insert": "u", "documents": [{"_id": 2}], "writeConcern": {"w": "tag", "wtimeout": 100}}`: "unavailable UnknownReplWriteConcern",
	} {
		_, err := s.Exec(t.Context(), text, nil)
		if class, code := driver.Classify(err); string(class)+" "+code != want {
			t.Errorf("%s: %s %s, %v", text, class, code, err)
		}
	}
	if _, err := s.Exec(t.Context(), `{"ping": `, nil); err == nil || !strings.Contains(err.Error(), "no JSON document") {
		t.Error(err)
	}
	if _, err := s.Exec(t.Context(), `{"ping": 1}`, []any{"x"}); err == nil || !strings.Contains(err.Error(), "0 places for arguments, 1 arguments") {
		t.Error(err)
	}
}

func open(t *testing.T, url string) error {
	t.Helper()
	return drivertest.OpenError(t, Driver(), map[string]any{"url": url, "wtimeout": time.Second}, 4*time.Second)
}

// What can't be reached is told with what to do, and without the password.
func TestUnreachable(t *testing.T) {
	s := local(t)
	if _, err := s.Exec(t.Context(), `{"createUser": "app", "pwd": "goodpass", "roles": [{"role": "root", "db": "admin"}]}`, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.local.procs[0].Stop(syscall.SIGTERM, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	s.local.settings = append(s.local.settings, "--auth")
	if again, err := s.Restart(t.Context()); !again || err != nil {
		t.Fatal(again, err)
	}
	stranger, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close() //nolint:errcheck // it has no state
	at, opts := s.address, "/sextant?directConnection=true&authSource=sextant"
	for _, x := range []struct{ url, class, hint string }{
		{"mongodb://app:goodpass@" + at + opts, "", ""},
		{"mongodb://app:wrongpass@" + at + opts, "auth", `check user "app"`},
		{"mongodb://app:hush@127.0.0.1:1" + opts, "connection", "is the server running"},
		{"mongodb://app:hush@" + stranger.Addr().String() + opts, "timeout", "does it speak MongoDB's protocol"},
		{"postgres://app:hush@" + at, "other", "mongodb://user"},
	} {
		err := open(t, x.url)
		if (err == nil) != (x.class == "") {
			t.Errorf("%s: %v", x.url, err)
			continue
		}
		if err == nil {
			continue
		}
		if got, _ := driver.Classify(err); string(got) != x.class || !strings.Contains(err.Error(), x.hint) {
			t.Errorf("%s: class %s, %v", x.url, got, err)
		}
		for _, secret := range []string{"goodpass", "wrongpass", "hush"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the password shows: %v", err)
			}
		}
	}
}

func TestBadOptions(t *testing.T) {
	for url, ok := range map[string]bool{"mongodb://me:pw@host/db": false, "mongodb://me@host/db": true, "mongodb://h1,h2/db?replicaSet=r": true, "host": false, "mongodb+srv://me:pw@host": false, "mongodb+srv://host/db": true} {
		if err := checkURL(url); (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, text := range []string{"w=0+j=true", "linearizable+secondary"} {
		if checkLevel(nil, level(t, text)) == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// A killed server's operations are lost connections; it comes back with its data.
func TestKilledServer(t *testing.T) {
	s := local(t)
	w := &driver.Workload{Tables: []driver.Table{{Name: "t", Key: "_id", Rows: 1, Fields: []driver.Column{{Name: "f", Bytes: 1}}}}, Ops: []driver.OpType{{Action: driver.Read}}}
	if err := s.Load(t.Context(), w, "0123456789abcdef", oneRow{}); err != nil {
		t.Fatal(err)
	}
	x, err := s.Session(t.Context(), level(t, "majority+j=true"))
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Prepare(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	op := &driver.Op{Type: 0, Key: []byte("a")}
	var r driver.Reply
	if err := x.Do(t.Context(), op, &r); err != nil || r.Rows != 1 {
		t.Fatal(r, err)
	}

	pid := s.local.procs[0].PID() // stopped: the context ends the operation
	drivertest.Stop(t, pid)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begin := time.Now()
	err = x.Do(ctx, op, &r)
	if class, _ := driver.Classify(err); class != driver.Timeout || time.Since(begin) > 2*time.Second {
		t.Errorf("after %v: %s %v", time.Since(begin), class, err)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := x.Do(t.Context(), op, &r); err != nil {
		t.Errorf("afterwards: %v", err)
	}

	for _, p := range s.local.processes() {
		if err := syscall.Kill(p, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
	<-s.local.procs[0].Done()
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 2 {
		err := x.Do(ctx, op, &r)
		if !driver.IsConnection(err) && !strings.Contains(fmt.Sprint(err), "server selection") {
			t.Errorf("after a kill: %v", err)
		}
	}
	if again, err := s.Restart(t.Context()); !again || err != nil {
		t.Fatal(again, err)
	}
	r = driver.Reply{}
	if err := x.Do(t.Context(), op, &r); err != nil || r.Rows != 1 {
		t.Errorf("after the restart: %+v %v", r, err)
	}
}

type oneRow struct{}

func (oneRow) Rows(int) int64 { return 1 }
func (oneRow) Row(_ int, _ int64, r *driver.Row) {
	r.Key, r.Values = []byte("a"), [][]byte{[]byte("x")}
}

// A server that takes every concern and heeds none is found out: FerretDB 1.
func TestServerThatIgnoresConcerns(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(cache, "sextant", "ferretdb", "ferretdb"), t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		if os.Getenv("SEXTANT_REQUIRE_SERVERS") != "" {
			t.Fatal(err)
		}
		t.Skipf("SKIP: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	o := map[string]any{"url": strings.TrimSpace(url) + "sextant?directConnection=true", "wtimeout": time.Second}
	opened, err := Driver().Open(t.Context(), driver.Target{System: &spec.System{Maker: "server", Name: "db", Options: o}, Options: o, Log: func(string, string) {}})
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*system)
	defer s.Close(context.Background()) //nolint:errcheck // its answers have been looked at
	for text, want := range map[string]string{"majority": "ignores write concerns", "w=1": "ignores write concerns", "j=true": "ignores write concerns", "local": "ignores read concerns",
		"linearizable": "ignores read concerns", "w=0": "answers writes that ask for no answer", "w=3": "ignores write concerns"} {
		err := s.CheckLevel(t.Context(), level(t, text))
		var lr *driver.LevelRefused
		if !errors.As(err, &lr) || !strings.Contains(lr.Reason, want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if err := s.CheckLevel(t.Context(), spec.Level{}); err != nil {
		t.Errorf("the default level: %v", err)
	}
	facts, err := s.Facts(t.Context())
	if text := fmt.Sprint(facts); err != nil || !strings.Contains(text, "{server_kind ferretdb}") || !strings.Contains(text, "{heeds_write_concern false}") {
		t.Errorf("%s %v", text, err)
	}
}

// An operation that another one's lost connection takes along is a lost connection as well.
func TestClearedPoolIsALostConnection(t *testing.T) {
	for text, want := range map[string]driver.Class{
		"connection pool for 127.0.0.1:1 was cleared because another operation failed with: EOF": driver.Connection,
		"server selection error: no primary":                                                     driver.Connection, "something else": driver.Other,
	} {
		if class, _ := driver.Classify(wrap(errors.New(text))); class != want {
			t.Errorf("%s: %s", text, class)
		}
	}
}
