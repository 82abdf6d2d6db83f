package redis

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sextant/builtins/sidebyside"
	"sextant/interp/driver"
	"sextant/interp/driver/drivertest"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// monitored runs fn and gives the commands that the server's MONITOR shows meanwhile, by their words.
func monitored(t *testing.T, s *system, fn func()) [][]string {
	t.Helper()
	ready, lines := make(chan struct{}), make(chan []string)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer close(lines)
		err := func() error {
			x, err := s.connect(ctx, s.opt.Addr) // the system's own connection is needed meanwhile
			if err != nil {
				return err
			}
			defer x.conn.Close() //nolint:errcheck // it was only read from
			if _, err := x.call("MONITOR"); err != nil {
				return err
			}
			close(ready)
			for {
				v, err := x.value()
				if err != nil {
					return err
				}
				text, _ := v.(string)
				_, words, _ := strings.Cut(text, "] ")
				var out []string
				for _, w := range regexp.MustCompile(`"(?:[^"\\]|\\.)*"`).FindAllString(words, -1) {
					u, err := strconv.Unquote(w)
					if err != nil {
						return err
					}
					out = append(out, u)
				}
				if len(out) == 2 && out[0] == "ECHO" && out[1] == "the end" {
					return nil
				}
				lines <- out
			}
		}()
		if err != nil && ctx.Err() == nil {
			t.Errorf("MONITOR: %v", err)
		}
	}()
	var all [][]string
	done := make(chan struct{})
	go func() {
		for l := range lines {
			all = append(all, l)
		}
		close(done)
	}()
	<-ready
	fn()
	if err := s.with(t.Context(), func(x *wire) error { _, err := x.call("ECHO", "the end"); return err }); err != nil {
		t.Fatal(err)
	}
	<-done
	return all
}

// of keeps the commands of a name and puts the numbers at the ends of words apart.
func of(all [][]string, name string) (shapes []string, numbers []float64) {
	number := regexp.MustCompile(`\d{12}$`)
	for _, words := range all {
		if !strings.EqualFold(words[0], name) {
			continue
		}
		var shape []string
		for i, w := range words {
			if m := number.FindString(w); m != "" && strings.Contains(w, ":") {
				n, _ := strconv.ParseFloat(m, 64)
				numbers = append(numbers, n)
				w = strings.TrimSuffix(w, m) + "@"
			} else if m != "" { // a score
				w = "@"
			} else if i > 0 && len(w) == 16 {
				w = "(16 bytes)"
			}
			shape = append(shape, w)
		}
		shapes = append(shapes, strings.ToUpper(shape[0])+" "+strings.Join(shape[1:], " "))
	}
	return shapes, numbers
}

// The commands on the wire are redis-benchmark's: the same words, the same sizes, random numbers drawn alike; with a pipeline and
// without; with a keyspace and with its one fixed key.
func TestRedisBenchmarkCommands(t *testing.T) {
	tool, err := exec.LookPath("redis-benchmark")
	drivertest.Need(t, err)
	s := local(t, map[string]any{"appendonly": false})
	port := s.opt.Addr[strings.LastIndexByte(s.opt.Addr, ':')+1:]
	const n = 600
	for test, command := range map[string]string{"ping": "PING", "ping_inline": "PING", "set": "SET", "get": "GET", "incr": "INCR", "lpush": "LPUSH", "rpush": "RPUSH", "lpop": "LPOP", "rpop": "RPOP", "sadd": "SADD", "hset": "HSET",
		"spop": "SPOP", "zadd": "ZADD", "zpopmin": "ZPOPMIN", "mset": "MSET", "xadd": "XADD", "lrange_100": "LRANGE", "lrange_600": "LRANGE"} {
		for _, keyspace := range []int64{0, 1000} {
			name := test
			if test == "ping" {
				name = "ping_mbulk"
			}
			args := []string{"-h", "127.0.0.1", "-p", port, "-a", s.opt.Password, "-n", fmt.Sprint(n), "-c", "1", "-P", "4", "-d", "16", "-q", "-t", name}
			if keyspace > 0 {
				args = append(args, "-r", fmt.Sprint(keyspace))
			}
			want, numbers := of(monitored(t, s, func() {
				if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}), command)
			if test == "xadd" && len(want) == 0 {
				t.Log("this redis-benchmark has no test of streams: nothing to compare xadd with")
				continue
			}
			w := sidebyside.Workload(t, "redis", map[string]any{"tests": test, "keyspace": keyspace, "value_bytes": int64(16), "elements": int64(700)})
			if err := s.with(t.Context(), func(x *wire) error { _, err := x.call("FLUSHDB"); return err }); err != nil {
				t.Fatal(err)
			}
			if err := s.Load(t.Context(), w.Shape(), "0123456789abcdef", w); err != nil {
				t.Fatal(err)
			}
			st, err := s.Inspect(t.Context(), w.Shape())
			if err != nil || !slices.Equal(st.Rows, []int64{w.Rows(0)}) {
				t.Errorf("%s: loaded %v rows of %d, %v", test, st.Rows, w.Rows(0), err)
			}
			got, numbers2 := of(monitored(t, s, func() { pipelined(t, s, w, n, 4) }), command)
			if len(want) > n { // the lists that LRANGE reads are made by LPUSH; a PING more opens the connection
				want = want[len(want)-n:]
			}
			if len(got) != n || len(want) != n || !slices.Equal(got, want) {
				t.Errorf("%s: %d commands such as %q, redis-benchmark sends %d such as %q", test, len(got), first(got), len(want), first(want))
				continue
			}
			if len(numbers) != len(numbers2) || (keyspace > 0 && strings.Contains(want[0], "@")) != (len(numbers) > 0) {
				t.Errorf("%s: %d random numbers, redis-benchmark has %d", test, len(numbers2), len(numbers))
			}
			if len(numbers) > 0 {
				sidebyside.Alike(t, test, numbers2, numbers)
			}
		}
	}
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

// pipelined does n operations on one session in batches.
func pipelined(t *testing.T, s *system, w load.Workload, n, depth int) {
	t.Helper()
	sess, err := s.Session(t.Context(), spec.Level{})
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close() //nolint:errcheck // its operations have been looked at
	if err := sess.Prepare(t.Context(), w.Shape()); err != nil {
		t.Fatal(err)
	}
	b := sess.(driver.Batcher)
	g := w.Client(0)
	var op driver.Op
	for i := 0; i < n; i += depth {
		for k := range depth {
			var r load.Rand
			r.Seek(5, 0, uint64(i+k))
			g.Next(&r, &op)
			if err := b.Queue(&op); err != nil {
				t.Fatal(err)
			}
		}
		replies := 0
		if err := b.Flush(t.Context(), func(k int, _ *driver.Reply, _ bool, err error) {
			if err != nil || k != replies {
				t.Errorf("reply %d: number %d, %v", replies, k, err)
			}
			replies++
		}); err != nil || replies != depth {
			t.Fatalf("%d replies, %v", replies, err)
		}
	}
}

// Within a batch an error is that of its own command, and what isn't there is no row; the others go on. A batch that the
// connection loses says so.
func TestBatchReplies(t *testing.T) {
	s := local(t, map[string]any{"appendonly": false})
	w := &driver.Workload{Tables: []driver.Table{{Name: "mylist", Store: "list"}}, Ops: []driver.OpType{{Name: "c", Action: driver.Command}}}
	sess, err := s.Session(t.Context(), spec.Level{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sess.Prepare(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	b := sess.(driver.Batcher)
	queue := func(commands ...string) {
		for _, c := range commands {
			var op driver.Op
			for _, f := range strings.Fields(c) {
				op.Values = append(op.Values, []byte(f))
			}
			if err := b.Queue(&op); err != nil {
				t.Fatal(err)
			}
		}
	}
	queue("SET a 1", "LPOP a", "GET nothing", "LRANGE nothing 0 9", "ZPOPMIN nothing", "GET a", "INCR a", "NOSUCH", "RPUSH l x y", "LRANGE l 0 9")
	var rows []int64
	var classes []driver.Class
	if err := b.Flush(t.Context(), func(_ int, r *driver.Reply, _ bool, err error) {
		class, _ := driver.Classify(err)
		if err == nil {
			class = ""
		}
		rows, classes = append(rows, r.Rows), append(classes, class)
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(rows, []int64{1, 0, 0, 0, 0, 1, 1, 0, 1, 2}) || classes[1] == "" || classes[7] == "" || classes[2] != "" || classes[8] != "" {
		t.Errorf("rows %v, errors %q", rows, classes)
	}
	queue("PING", "PING")
	sess.(driver.Interrupter).Interrupt()
	if err := b.Flush(t.Context(), func(int, *driver.Reply, bool, error) { t.Error("a reply on a cut connection") }); err == nil {
		t.Errorf("on a cut connection: %v", err)
	}
}

// An inline command is its words in a line, alone and in a batch; the server takes it as one.
func TestInline(t *testing.T) {
	s := local(t, map[string]any{"appendonly": false})
	l, err := s.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := sidebyside.Workload(t, "redis", map[string]any{"tests": "ping_inline"})
	x := &session{links: l, x: l.wires[0]}
	if err := x.Prepare(t.Context(), w.Shape()); err != nil {
		t.Fatal(err)
	}
	defer x.Close() //nolint:errcheck // its operations have been looked at
	var op driver.Op
	var r load.Rand
	g := w.Client(0)
	for range 2 {
		g.Next(&r, &op)
		if err := x.Queue(&op); err != nil {
			t.Fatal(err)
		}
	}
	if string(x.x.out) != "PING\r\nPING\r\n" {
		t.Errorf("%q", x.x.out)
	}
	n := 0
	if err := x.Flush(t.Context(), func(_ int, r *driver.Reply, _ bool, err error) {
		if n++; r.Rows != 1 || err != nil {
			t.Errorf("%d rows, %v", r.Rows, err)
		}
	}); err != nil || n != 2 {
		t.Errorf("%d replies, %v", n, err)
	}
	var reply driver.Reply
	if err := x.Do(t.Context(), &op, &reply); err != nil || reply.Rows != 1 || reply.Bytes != 4 {
		t.Errorf("%+v, %v", reply, err)
	}
}
