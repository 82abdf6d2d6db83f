package result

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/parquet-go/parquet-go"
)

// Meta is what every file carries in its metadata.
type Meta struct{ RunID, PlanHash string }

// A Sink writes the tables of one run. It belongs to one goroutine; the run's lock keeps other processes away.
type Sink struct {
	schema *Schema
	dir    string
	meta   Meta
	wal    *wal
	part   int // number of the log and of the part that it becomes

	staged  [][]parquet.Row // of the trial in hand, by table
	pending [][]parquet.Row // committed, not yet in a part
	count   int             // pending rows
	commits int             // pending commits

	started, flushed time.Time
	now              func() time.Time
	sealed           bool
}

// Create starts the tables of a new run in dir, which exists.
func Create(dir string, schema *Schema, meta Meta) (*Sink, error) {
	s := newSink(dir, schema, meta, 1)
	if err := os.Mkdir(s.tables(), 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the tables: %w", err)
	}
	var err error
	if s.wal, err = openWAL(s.log(s.part), 0); err != nil {
		return nil, err
	}
	return s, syncDir(dir)
}

func newSink(dir string, schema *Schema, meta Meta, part int) *Sink {
	s := &Sink{schema: schema, dir: dir, meta: meta, part: part, now: time.Now,
		staged: make([][]parquet.Row, len(schema.Tables)), pending: make([][]parquet.Row, len(schema.Tables))}
	s.started = s.now()
	s.flushed = s.started
	return s
}

func (s *Sink) tables() string          { return filepath.Join(s.dir, "tables") }
func (s *Sink) log(n int) string        { return filepath.Join(s.dir, fmt.Sprintf("commits-%06d.log", n)) }
func (s *Sink) partDir(n int) string    { return filepath.Join(s.tables(), fmt.Sprintf("part-%06d", n)) }
func (s *Sink) scratch(n string) string { return filepath.Join(s.dir, ".writing-"+n) }

// Append stages a row, a struct of the table's type. Nothing is written before Commit.
func (s *Sink) Append(table string, row any) error { return s.AppendCell(table, row, nil) }

// AppendCell stages a row of a table that has a column per axis, with the cell's values of the axes (nil: null).
func (s *Sink) AppendCell(table string, row any, axes []any) error {
	for i, t := range s.schema.Tables {
		if t.Name != table {
			continue
		}
		r, err := t.values(row, axes)
		if err != nil {
			return err
		}
		s.staged[i] = append(s.staged[i], r)
		return nil
	}
	return fmt.Errorf("there is no table %q", table)
}

// Discard forgets what is staged.
func (s *Sink) Discard() {
	for i := range s.staged {
		s.staged[i] = nil
	}
}

// Commit makes the staged rows durable as one: after it they are in every later reading of the run, before it in none.
// Trial is the trial's id, or empty for rows of the run itself. After an error nothing of them is kept.
func (s *Sink) Commit(trial string) error {
	if s.sealed {
		return errors.New("the run is sealed: no more rows can be committed")
	}
	defer s.Discard()
	if err := s.wal.append(&record{trial: trial, rows: s.staged}); err != nil {
		return err
	}
	s.hold(s.staged)
	return nil
}

func (s *Sink) hold(rows [][]parquet.Row) {
	s.commits++
	for i, r := range rows {
		s.pending[i] = append(s.pending[i], r...)
		s.count += len(r)
	}
}

// maxPending bounds the memory of rows that wait for a flush.
const maxPending = 250_000

// Due says that it is time for a Flush: many rows wait, or the last was a while ago. The pause grows with the run from
// 10 s to 5 minutes, which bounds the number of parts.
func (s *Sink) Due() bool {
	pause := min(max(s.now().Sub(s.started)/20, 10*time.Second), 5*time.Minute)
	return s.count >= maxPending || s.commits > 0 && s.now().Sub(s.flushed) >= pause
}

// Flush turns the pending rows into a part that readers see. When it fails nothing is lost: the log still has them.
func (s *Sink) Flush() error {
	if s.commits == 0 {
		return nil
	}
	if err := s.writePart(s.part, s.pending); err != nil {
		return fmt.Errorf("writing part %d of the tables: %w", s.part, err)
	}
	next, err := openWAL(s.log(s.part+1), 0)
	if err != nil {
		return err
	}
	old := s.wal
	s.wal = next
	s.part++
	for i := range s.pending {
		s.pending[i] = nil
	}
	s.count, s.commits = 0, 0
	s.flushed = s.now()
	if err := errors.Join(syncDir(s.dir), old.f.Close(), os.Remove(old.f.Name())); err != nil {
		return fmt.Errorf("removing the commit log of part %d: %w", s.part-1, err)
	}
	return s.compact()
}

// Close lets go of the files. Committed rows stay.
func (s *Sink) Close() error {
	if s.wal == nil {
		return nil
	}
	err := s.wal.f.Close()
	s.wal = nil
	return err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing a folder: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return nil
}
