package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sextant/interp/driver"
	"sextant/interp/driver/drivertest"
	"sextant/interp/spec"
)

func config(maker string, options map[string]any) drivertest.Config {
	return drivertest.Config{
		Driver: Driver(), System: &spec.System{Type: "sqlite", Maker: maker, Name: "sqlite", Options: options}, Options: options,
		Levels:  []string{"off", "normal", "full", "extra", "journal_mode=delete", "full+truncate", "normal+wal", "persist+off", "journal_mode=off", "extra+memory", "wal"},
		Foreign: []string{"CREATE TABLE usertable (x TEXT)", "INSERT INTO usertable VALUES ('mine')"},
		Count:   "SELECT count(*) FROM usertable", Value: "SELECT field1 FROM usertable WHERE ycsb_key = ?",
		Lock: []string{"BEGIN EXCLUSIVE"}, Unlock: []string{"ROLLBACK"},
	}
}

func TestLocal(t *testing.T) {
	t.Setenv("SEXTANT_TMPDIR", t.TempDir())
	drivertest.Run(t, config("local", map[string]any{"busy_timeout": 5 * time.Second}))
	if left, err := filepath.Glob(filepath.Join(os.Getenv("SEXTANT_TMPDIR"), "*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	drivertest.Run(t, config("file", map[string]any{"path": path, "busy_timeout": 5 * time.Second}))
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func openFile(t *testing.T, path string) (driver.System, error) {
	t.Helper()
	o := map[string]any{"path": path, "busy_timeout": 100 * time.Millisecond}
	return Driver().Open(t.Context(), driver.Target{System: &spec.System{Type: "sqlite", Maker: "file", Options: o}, Options: o, Log: func(string, string) {}})
}

func TestWrongFiles(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("these are no tables\n", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		text:                             "no SQLite database",
		filepath.Join(dir, "no", "x.db"): "there is no folder",
		dir:                              "is the folder there",
	} {
		sys, err := openFile(t, path)
		var de *driver.Error
		if !errors.As(err, &de) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", path, sys, err)
		}
	}
	if b, err := os.ReadFile(text); err != nil || !strings.HasPrefix(string(b), "these are no tables") {
		t.Errorf("the text file was changed: %v", err)
	}
}

// A level that doesn't name the journal mode gets the file's own again after a trial with another one.
func TestJournalModeComesBack(t *testing.T) {
	sys, err := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close(t.Context()) //nolint:errcheck // the test is over
	d := Driver()
	for _, x := range [][2]string{{"wal", "journal_mode=wal"}, {"full", "journal_mode=delete"}, {"normal+wal", "journal_mode=wal"}} {
		l, err := d.ParseLevel(x[0])
		if err != nil {
			t.Fatal(err)
		}
		s, err := sys.Session(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Level(t.Context(), spec.Level{})
		if err != nil || !strings.HasSuffix(got, x[1]) {
			t.Errorf("at %s the level is %q, %v", x[0], got, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The same for a throwaway file, whose own mode is the write-ahead log.
func TestWriteAheadLogComesBack(t *testing.T) {
	t.Setenv("SEXTANT_TMPDIR", t.TempDir())
	o := map[string]any{"busy_timeout": time.Second}
	d := Driver()
	sys, err := d.Open(t.Context(), driver.Target{System: &spec.System{Type: "sqlite", Maker: "local", Options: o}, Options: o, Log: func(string, string) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close(t.Context()) //nolint:errcheck // the test is over
	for _, x := range [][2]string{{"journal_mode=delete", "delete"}, {"full", "wal"}} {
		l, err := d.ParseLevel(x[0])
		if err != nil {
			t.Fatal(err)
		}
		s, err := sys.Session(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Level(t.Context(), spec.Level{})
		if err != nil || !strings.HasSuffix(got, "journal_mode="+x[1]) {
			t.Errorf("at %s the level is %q, %v", x[0], got, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A writer that waits too long for another one is a time-out with SQLite's code.
func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	sys, err := openFile(t, path)
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close(t.Context()) //nolint:errcheck // the test is over
	other, err := open(path, false, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.exec("CREATE TABLE t (x); BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	_, err = sys.(driver.Scripter).Exec(t.Context(), "INSERT INTO t VALUES (1)", nil)
	class, code := driver.Classify(err)
	if took := time.Since(begin); class != driver.Timeout || code != "SQLITE_BUSY" || took < 80*time.Millisecond || took > 5*time.Second {
		t.Errorf("%v after %v: class %s, code %s", err, took, class, code)
	}
	if err := other.close(); err != nil {
		t.Error(err)
	}
}

// Two transactions that have read and want to write: SQLite refuses the second one at once, and that is a conflict, which
// can be retried, not a time-out.
func TestUpgradeConflict(t *testing.T) {
	sys, err := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close(t.Context()) //nolint:errcheck // the test is over
	if _, err := sys.(driver.Scripter).Exec(t.Context(), "CREATE TABLE t (x)", nil); err != nil {
		t.Fatal(err)
	}
	d := Driver()
	level, err := d.ParseLevel("journal_mode=delete")
	if err != nil {
		t.Fatal(err)
	}
	w := &driver.Workload{}
	for _, s := range []string{"BEGIN", "SELECT * FROM t", "INSERT INTO t VALUES (1)"} {
		w.Statements = append(w.Statements, driver.Statement{Parts: []string{s}})
	}
	var res driver.Result
	var errs [2]error
	var both [2]driver.Transactor
	for i := range both {
		s, err := sys.Session(t.Context(), level)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close() //nolint:errcheck // what it did has been looked at
		if err := s.Prepare(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		both[i] = s.(driver.Transactor)
		for n := range 2 {
			if err := both[i].Run(t.Context(), n, nil, &res); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin := time.Now()
	for i, s := range both {
		errs[i] = s.Run(t.Context(), 2, nil, &res)
	}
	class, code := driver.Classify(errs[1])
	if took := time.Since(begin); errs[0] != nil || class != driver.Conflict || code != "SQLITE_BUSY" || took > 50*time.Millisecond {
		t.Errorf("%v, %v after %v: class %s, code %s", errs[0], errs[1], took, class, code)
	}
}

func BenchmarkRead(b *testing.B) {
	b.Setenv("SEXTANT_TMPDIR", b.TempDir())
	o := map[string]any{"busy_timeout": time.Second}
	sys, err := Driver().Open(b.Context(), driver.Target{System: &spec.System{Type: "sqlite", Maker: "local", Options: o}, Options: o, Log: func(string, string) {}})
	if err != nil {
		b.Fatal(err)
	}
	defer sys.Close(b.Context()) //nolint:errcheck // the benchmark is over
	w := &driver.Workload{Tables: []driver.Table{{Name: "t", Key: "k", Fields: []driver.Column{{Name: "f", Bytes: 1000}}, Rows: 1}},
		Ops: []driver.OpType{{Name: "read", Action: driver.Read}, {Name: "update", Action: driver.Update}}}
	if err := sys.(driver.Loader).Load(b.Context(), w, "f", oneRow{}); err != nil {
		b.Fatal(err)
	}
	s, err := sys.Session(b.Context(), spec.Level{})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Prepare(b.Context(), w); err != nil {
		b.Fatal(err)
	}
	op := driver.Op{Key: []byte("k")}
	var r driver.Reply
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Do(b.Context(), &op, &r); err != nil {
			b.Fatal(err)
		}
	}
}

type oneRow struct{}

func (oneRow) Rows(int) int64 { return 1 }
func (oneRow) Row(_ int, _ int64, row *driver.Row) {
	row.Key, row.Values = []byte("k"), [][]byte{[]byte(strings.Repeat("x", 1000))}
}
