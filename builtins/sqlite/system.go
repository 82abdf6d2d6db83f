package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
	"sextant/interp/spec"
)

// system is an opened database file.
type system struct {
	path    string
	timeout time.Duration
	box     *sandbox.Sandbox // of local()
	log     func(kind, text string)
	base    string // journal mode that the file has when a level doesn't name one

	mu    sync.Mutex
	admin *db // of datasets and hooks; nil until needed, and while the journal mode changes
}

// begin opens the file once, makes it when it isn't there, and notes its journal mode.
func (s *system) begin(context.Context) error {
	d, err := open(s.path, true, s.timeout)
	if err != nil {
		return err
	}
	if s.box != nil {
		if _, err := d.one("PRAGMA journal_mode=wal"); err != nil {
			return errors.Join(fmt.Errorf("making a throwaway database: %w", err), d.close())
		}
	}
	v, err := d.one("PRAGMA journal_mode")
	if err == nil {
		_, err = d.one("SELECT count(*) FROM sqlite_schema") // a file that is no database is noticed only now
	}
	if err != nil {
		return errors.Join(fmt.Errorf("opening %s: %w", s.path, err), d.close())
	}
	s.base = fmt.Sprint(v)
	if fs := sandbox.Filesystem(filepath.Dir(s.path)); fs == sandbox.InMemory {
		s.log("warning", "the database lies on tmpfs, in memory: syncing costs nothing there, so levels of durability can't differ as on a disk")
	}
	return d.close()
}

// with runs fn on the connection for datasets and hooks; ctx ends what runs on it.
func (s *system) with(ctx context.Context, fn func(*db) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.admin == nil {
		d, err := open(s.path, false, s.timeout)
		if err != nil {
			return err
		}
		s.admin = d
	}
	d := s.admin
	d.cut.Store(false)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { d.interrupt(); close(ended) })
	err := fn(d)
	if !stop() {
		<-ended // the interrupt must not hit the next use
		if err != nil {
			err = errors.Join(ctx.Err(), err)
		}
	}
	return err
}

func (s *system) Facts(ctx context.Context) ([]driver.Fact, error) {
	var facts []driver.Fact
	err := s.with(ctx, func(d *db) error {
		v, err := d.one("SELECT sqlite_version()")
		if err != nil {
			return err
		}
		facts = append(facts, driver.Fact{Key: "server_version", Value: fmt.Sprint(v)})
		for _, p := range []string{"page_size", "cache_size", "wal_autocheckpoint", "mmap_size", "temp_store", "auto_vacuum", "encoding"} {
			v, err := d.one("PRAGMA " + p)
			if err != nil {
				return err
			}
			facts = append(facts, driver.Fact{Key: "server_setting." + p, Value: fmt.Sprint(v)})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading SQLite's settings: %w", err)
	}
	return append(facts, driver.Fact{Key: "server_setting.journal_mode", Value: s.base},
		driver.Fact{Key: "server_setting.busy_timeout_ms", Value: strconv.FormatInt(s.timeout.Milliseconds(), 10)},
		driver.Fact{Key: "filesystem", Value: sandbox.Filesystem(filepath.Dir(s.path))}), nil
}

// journal gives the file the mode that a level asks for. Only the write-ahead log is a property of the file, and going to
// or from it needs the file for oneself: so it is done here, before the trial's first session opens.
func (s *system) journal(mode string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admin != nil { // it would be in the way
		if err := s.admin.close(); err != nil {
			return err
		}
		s.admin = nil
	}
	d, err := open(s.path, false, s.timeout)
	if err != nil {
		return err
	}
	now, err := d.one("PRAGMA journal_mode")
	if err == nil && (now == "wal") != (mode == "wal") {
		_, err = d.one("PRAGMA journal_mode=" + mode)
	}
	if err != nil {
		err = fmt.Errorf("changing the journal mode to %s: %w", mode, err)
	}
	return errors.Join(err, d.close())
}

func (s *system) Session(ctx context.Context, level spec.Level) (driver.Session, error) {
	mode := level.Get("journal_mode")
	if mode == "" {
		mode = s.base
	}
	s.mu.Lock()
	d, err := open(s.path, false, s.timeout)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	now, err := d.one("PRAGMA journal_mode")
	if err == nil && (now == "wal") != (mode == "wal") {
		err = d.close()
		if err == nil {
			err = s.journal(mode)
		}
		if err == nil {
			d, err = open(s.path, false, s.timeout)
		}
		if err != nil {
			return nil, err
		}
	}
	if err == nil && mode != "wal" {
		_, err = d.one("PRAGMA journal_mode=" + mode)
	}
	if v := level.Get("synchronous"); err == nil && v != "" {
		err = d.exec("PRAGMA synchronous=" + v)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("setting the level: %w", err), d.close())
	}
	return newSession(d), nil
}

func (s *system) Exec(ctx context.Context, text string, args []any) (n int64, err error) {
	err = s.with(ctx, func(d *db) error {
		if err := d.query(text, args, nil); err != nil {
			return err
		}
		n = d.changes()
		return nil
	})
	return n, err
}

func (s *system) Query(ctx context.Context, text string, args []any) (columns []string, rows [][]any, err error) {
	err = s.with(ctx, func(d *db) error {
		return d.query(text, args, func(st *stmt) error {
			n := st.columns()
			if columns == nil {
				for i := range n {
					columns = append(columns, st.name(i))
				}
			}
			row := make([]any, n)
			for i := range row {
				row[i] = st.value(i)
				if t, ok := row[i].(string); ok {
					row[i] = strings.ToValidUTF8(t, "\uFFFD")
				}
			}
			rows = append(rows, row)
			if len(rows) > maxRows {
				return newError(sqlite3.SQLITE_TOOBIG, fmt.Sprintf("the result has more than %d rows", maxRows))
			}
			return nil
		})
	})
	return columns, rows, err
}

// maxRows bounds the result of a hook's statement.
const maxRows = 100_000

// Embedded: SQLite runs in this process.
func (s *system) Embedded() {}

func (s *system) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.admin != nil {
		err = s.admin.close()
		s.admin = nil
	}
	if s.box != nil {
		err = errors.Join(err, s.box.Remove())
	}
	return err
}
