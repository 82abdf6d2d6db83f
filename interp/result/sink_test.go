package result

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func ptr[T any](v T) *T { return &v }

func testSchema(t *testing.T) *Schema {
	t.Helper()
	s, err := NewSchema([]Axis{{"scale", "int"}, {"ratio", "float"}, {"consistency", "string"}, {"warm", "bool"}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// commit appends a trial row and n interval rows and commits them.
func commit(t *testing.T, s *Sink, id string, n int) {
	t.Helper()
	if err := s.AppendCell("trials", TrialRow{TrialID: id, Status: "ok", Succeeded: ptr(int64(0)), P50Ms: nil, MaxMs: ptr(0.0)},
		[]any{int64(7), 0.5, nil, true}); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := s.Append("intervals", IntervalRow{TrialID: id, Interval: int32(i), Count: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Commit(id); err != nil {
		t.Fatal(err)
	}
}

// ids reads the trial ids of a table in order of appearance.
func ids(t *testing.T, dir string, schema *Schema, table string) []string {
	t.Helper()
	var out []string
	col := slices.Index(schema.Table(table).Columns(), "trial_id")
	err := OpenRun(dir, schema).Each(table, func(row []any) error {
		out = append(out, row[col].(string))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestColumnsKeepTheirOrderAndTypes(t *testing.T) {
	cols := testSchema(t).Table("trials").Columns()
	if cols[0] != "run_id" || cols[2] != "trial_id" {
		t.Errorf("columns are not in the order of the struct: %v", cols[:3])
	}
	if got, want := cols[len(cols)-4:], []string{"scale", "ratio", "consistency", "warm"}; !slices.Equal(got, want) {
		t.Errorf("axes are %v, want %v", got, want)
	}
}

func TestValuesSurviveLogPartAndSeal(t *testing.T) {
	schema := testSchema(t)
	dir := t.TempDir()
	s, err := Create(dir, schema, Meta{"r", "p"})
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, "a", 2)
	check := func(where string) {
		t.Helper()
		n := 0
		cols := schema.Table("trials").Columns()
		err := OpenRun(dir, schema).Each("trials", func(row []any) error {
			n++
			for name, want := range map[string]any{"trial_id": "a", "succeeded": int64(0), "p50_ms": nil, "max_ms": 0.0,
				"scale": int64(7), "ratio": 0.5, "consistency": nil, "warm": true, "reason": nil, "scheduled": false, "block": int32(0)} {
				if got := row[slices.Index(cols, name)]; got != want {
					t.Errorf("%s: %s = %v (%T), want %v (%T)", where, name, got, got, want, want)
				}
			}
			return nil
		})
		if err != nil || n != 1 {
			t.Errorf("%s: %d rows, error %v", where, n, err)
		}
	}
	check("log")
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	check("part")
	if err := s.Seal(); err != nil {
		t.Fatal(err)
	}
	check("sealed")
	left, err := filepath.Glob(filepath.Join(dir, "[^.]*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != len(schema.Tables) {
		t.Errorf("a sealed run holds %v, want one file a table", left)
	}
}

func TestNothingIsVisibleBeforeCommit(t *testing.T) {
	schema := testSchema(t)
	dir := t.TempDir()
	s, err := Create(dir, schema, Meta{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append("intervals", IntervalRow{TrialID: "x"}); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, dir, schema, "intervals"); len(got) != 0 {
		t.Errorf("staged rows are visible: %v", got)
	}
	s.Discard()
	commit(t, s, "a", 1)
	if got := ids(t, dir, schema, "intervals"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("after Discard and a commit: %v, want [a]", got)
	}
}

func TestNaNIsRefused(t *testing.T) {
	schema := testSchema(t)
	s, err := Create(t.TempDir(), schema, Meta{})
	if err != nil {
		t.Fatal(err)
	}
	zero := 0.0
	if err := s.Append("intervals", IntervalRow{P50Ms: ptr(zero / zero)}); err == nil || !strings.Contains(err.Error(), "p50_ms") {
		t.Errorf("NaN in p50_ms gave %v", err)
	}
	if err := s.Append("intervals", IntervalRow{Rate: 1 / zero}); err == nil || !strings.Contains(err.Error(), "rate_ops_s") {
		t.Errorf("infinity in rate_ops_s gave %v", err)
	}
}

// Cutting or spoiling the log at any byte keeps every whole record before that byte, and the run goes on.
func TestTornLogLosesNothingCommitted(t *testing.T) {
	schema := testSchema(t)
	dir := t.TempDir()
	s, err := Create(dir, schema, Meta{})
	if err != nil {
		t.Fatal(err)
	}
	var ends []int64
	for i := range 4 {
		commit(t, s, fmt.Sprint("t", i), i)
		ends = append(ends, s.wal.size)
	}
	log := s.log(1)
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut <= len(whole); cut += 3 {
		for _, trash := range []string{"", "trash at the end"} {
			if err := os.WriteFile(log, append(slices.Clone(whole[:cut]), trash...), 0o644); err != nil {
				t.Fatal(err)
			}
			want := []string{}
			for i, e := range ends {
				if e <= int64(cut) {
					want = append(want, fmt.Sprint("t", i))
				}
			}
			r, got, err := Recover(dir, schema, Meta{})
			if err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			if !slices.Equal(got, want) && len(got)+len(want) > 0 {
				t.Fatalf("cut at %d: recovered %v, want %v", cut, got, want)
			}
			commit(t, r, "next", 0)
			if got := ids(t, dir, schema, "trials"); !slices.Equal(got, append(want, "next")) {
				t.Fatalf("cut at %d, then a commit: %v", cut, got)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A crash between any two steps of Flush or Seal leaves every trial exactly once.
func TestCrashAroundFlushAndSeal(t *testing.T) {
	schema := testSchema(t)
	dir := t.TempDir()
	s, err := Create(dir, schema, Meta{})
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, "a", 1)
	commit(t, s, "b", 1)
	if err := s.writePart(1, s.pending); err != nil { // the crash: part in place, log not removed
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, ".writing-part"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, dir, schema, "trials"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("a reader sees %v", got)
	}
	r, got, err := Recover(dir, schema, Meta{})
	if err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("recovered %v, %v", got, err)
	}
	commit(t, r, "c", 1)
	// a crash in Seal: one sealed file in place, the marker not
	if err := r.merge(filepath.Join(dir, "trials.parquet"), schema.Table("trials"), []int{1}, r.pending[0]); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r, got, err = Recover(dir, schema, Meta{})
	if err != nil || !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Fatalf("recovered %v, %v", got, err)
	}
	if err := r.Seal(); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"trials", "intervals"} {
		if got := ids(t, dir, schema, table); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("sealed %s hold %v", table, got)
		}
	}
	if _, _, err := Recover(dir, schema, Meta{}); err == nil {
		t.Error("a sealed run was opened for writing")
	}
}

func TestNumberOfFilesIsBounded(t *testing.T) {
	schema := testSchema(t)
	dir := t.TempDir()
	s, err := Create(dir, schema, Meta{})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 3 * maxParts / 2 {
		id := fmt.Sprintf("t%04d", i)
		want = append(want, id)
		commit(t, s, id, 1)
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if parts, err := s.parts(); err != nil || len(parts) > maxParts {
			t.Fatalf("%d parts after %d flushes, %v", len(parts), i+1, err)
		}
	}
	if got := ids(t, dir, schema, "intervals"); !slices.Equal(got, want) {
		t.Errorf("after compaction %d rows, want %d in order", len(got), len(want))
	}
	r, got, err := Recover(dir, schema, Meta{})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("recovered %d trials of %d, %v", len(got), len(want), err)
	}
	_ = r.Close()
}

func TestFlushIsDueByRowsAndByTime(t *testing.T) {
	s, err := Create(t.TempDir(), testSchema(t), Meta{})
	if err != nil {
		t.Fatal(err)
	}
	at := s.started
	s.now = func() time.Time { return at }
	if s.Due() {
		t.Error("due with nothing pending")
	}
	commit(t, s, "a", 1)
	if s.Due() {
		t.Error("due at once")
	}
	if at = s.started.Add(11 * time.Second); !s.Due() {
		t.Error("not due after 11 s")
	}
	s.flushed = s.started.Add(time.Hour)
	if at = s.started.Add(time.Hour + 2*time.Minute); s.Due() {
		t.Error("after an hour the pause should be over 2 minutes")
	}
	s.count = maxPending
	if !s.Due() {
		t.Error("not due with many rows pending")
	}
}

func TestFailedCommitKeepsTheLogWhole(t *testing.T) {
	schema := testSchema(t)
	dir := t.TempDir()
	s, err := Create(dir, schema, Meta{})
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, "a", 1)
	ro, err := os.Open(s.log(1)) // a file that can't be written: stands for a full disk
	if err != nil {
		t.Fatal(err)
	}
	rw := s.wal.f
	s.wal.f = ro
	if err := s.Append("intervals", IntervalRow{TrialID: "b"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit("b"); err == nil {
		t.Fatal("a commit to a file that can't be written succeeded")
	}
	s.wal.f = rw
	commit(t, s, "c", 1)
	if got := ids(t, dir, schema, "intervals"); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("rows are %v, want [a c]", got)
	}
}
