package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
	"sextant/interp/spec"
)

// Driver describes SQLite.
func Driver() driver.Driver {
	wait := spec.Param{Name: "busy_timeout", Kind: spec.KindDuration, Default: 5 * time.Second,
		Doc: "how long an operation waits for a lock that another client holds", Check: func(v any) error {
			if d := v.(time.Duration); d < 0 || d > time.Hour {
				return fmt.Errorf("must be from 0s to 1h, not %v", d)
			}
			return nil
		}}
	return driver.Driver{SystemType: spec.SystemType{
		Name: "sqlite",
		Ops:  driver.SQLActions(),
		CheckSize: func(_ *spec.System, z spec.Size) error {
			if z.RowBytes > 1e9-100_000 {
				return fmt.Errorf("a row of %d bytes is more than SQLite's 1,000,000,000", z.RowBytes)
			}
			return nil
		},
		Doc: "SQLite within sextant's own process. Clients are connections; writers take turns, as SQLite has it.",
		Makers: []spec.Maker{
			{Name: "local", Doc: "a throwaway file in write-ahead-log mode, removed at the end", Params: []spec.Param{wait}},
			{Name: "file", Doc: "a database file; it is made when it isn't there and its folder is", Positional: 1, Params: []spec.Param{
				{Name: "path", Kind: spec.KindString, Required: true, Doc: "path, relative to the folder in which sextant is started", Check: func(v any) error {
					if v.(string) == "" {
						return errors.New("must not be empty")
					}
					return nil
				}}, wait}},
		},
		Levels: []spec.LevelSetting{
			{Name: "synchronous", Doc: "PRAGMA synchronous of each connection, read back as a number 0 to 3", Values: spec.LevelValues(
				"off", "the operating system writes when it likes: a power cut can lose or damage data",
				"normal", "in WAL mode a power cut can lose the last transactions, never damage data",
				"full", "every commit is synced to the disk",
				"extra", "as full, and the folder is synced after the journal's end")},
			{Name: "journal_mode", Doc: "PRAGMA journal_mode, read back as text", Values: spec.LevelValues(
				"delete", "rollback journal, removed after each transaction",
				"truncate", "rollback journal, truncated", "persist", "rollback journal, its header overwritten",
				"memory", "rollback journal in memory: a crash in a transaction damages the file",
				"wal", "write-ahead log: readers and a writer at the same time",
				"off", "no journal: no rollback")},
		},
	}, Open: openSystem}
}

func openSystem(ctx context.Context, t driver.Target) (driver.System, error) {
	s := &system{log: t.Log}
	s.timeout, _ = t.Options["busy_timeout"].(time.Duration)
	if t.System.Maker == "local" {
		box, err := sandbox.New("sqlite")
		if err != nil {
			return nil, err
		}
		s.box, s.path = box, box.Path("data.db")
	} else {
		path, _ := t.Options["path"].(string)
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("opening %s: %w", path, err)
		}
		if st, err := os.Stat(filepath.Dir(abs)); err != nil || !st.IsDir() {
			return nil, &driver.Error{Class: driver.NotFound, Err: fmt.Errorf("opening %s: there is no folder %s", path, filepath.Dir(path)), Hint: "make the folder first"}
		}
		s.path = abs
	}
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}
