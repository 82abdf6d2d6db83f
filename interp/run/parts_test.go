package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sextant/interp/spec"
)

func TestJournalMendsItsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	j, old, err := OpenJournal(path)
	if err != nil || old != nil {
		t.Fatal(err, old)
	}
	for _, id := range []string{"a", "b"} {
		if err := j.Add(Entry{At: time.Now(), Event: "trial", Trial: id}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tail := range []string{`{"at":"2026`, "trash\n", "{}\n", "\x00\x00\x00", "\n"} {
		if err := os.WriteFile(path, append(append([]byte(nil), good...), tail...), 0o644); err != nil {
			t.Fatal(err)
		}
		j, entries, err := OpenJournal(path)
		if err != nil || len(entries) != 2 || entries[1].Trial != "b" {
			t.Errorf("after %q: %v %v", tail, entries, err)
			continue
		}
		if err := j.Add(Entry{At: time.Now(), Event: "trial", Trial: "c"}); err != nil {
			t.Fatal(err)
		}
		if entries, err = ReadJournal(path); err != nil || len(entries) != 3 {
			t.Errorf("after %q and one more: %v %v", tail, entries, err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRule12SecretsAreHidden(t *testing.T) {
	sys := &spec.System{Options: map[string]any{"url": spec.Secret{Name: "URL"}, "more": []any{map[string]any{"key": spec.Secret{Name: "KEY"}}}}}
	e := &spec.Experiment{Cells: []spec.Cell{{Measure: &spec.Measure{System: sys}}}}
	env := map[string]string{"URL": "db://me:p%40ss@host/x", "KEY": "host=h password='tops3cret' user=me"}
	s, err := ResolveSecrets(e, func(n string) (string, bool) { v, ok := env[n]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"cannot reach db://me:p%40ss@host/x", "wrong password tops3cret", "KEY is host=h password='tops3cret' user=me", "p%40ss", "user me, password p@ss"} {
		got := s.Hide(text)
		for _, bad := range []string{"p%40ss", "p@ss", "tops3cret"} {
			if strings.Contains(got, bad) {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
	if got := s.Resolve(sys.Options)["url"]; got != env["URL"] {
		t.Errorf("resolved to %v", got)
	}
	if _, ok := sys.Options["url"].(spec.Secret); !ok {
		t.Error("the plan itself got the value")
	}
	if _, err := ResolveSecrets(e, func(string) (string, bool) { return "", false }); err == nil || !strings.Contains(err.Error(), "KEY, URL") {
		t.Errorf("missing ones: %v", err)
	}
}

func TestLockSaysWhoHasIt(t *testing.T) {
	dir := t.TempDir()
	l, err := LockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockFolder(dir); err == nil || !strings.Contains(err.Error(), "is being worked on by process") {
		t.Errorf("a second one: %v", err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if l, err = LockFolder(dir); err != nil {
		t.Fatal(err)
	}
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestRule2PercentilesComeFromMergedHistograms(t *testing.T) {
	m := newMerged()
	for i := 100; i >= 1; i-- { // 1..100 ms, each once, in any order
		m.add(float64(i), 1)
	}
	m.bounds(0.9, 99.5)
	for q, want := range map[int64]float64{500_000: 50, 950_000: 95, 990_000: 99, 999_000: 99.5, 10_000: 1} {
		if got := m.quantile(q); got == nil || *got != want {
			t.Errorf("quantile %d is %v, want %v", q, got, want)
		}
	}
	if newMerged().quantile(500_000) != nil {
		t.Error("a percentile of nothing")
	}
}
