package result

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/parquet-go/parquet-go"
)

func appendStrings(out []string, pages parquet.Pages) ([]string, error) {
	buf := make([]parquet.Value, 1024)
	for {
		p, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		vr := p.Values()
		for {
			n, err := vr.ReadValues(buf)
			for _, v := range buf[:n] {
				out = append(out, string(v.ByteArray()))
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				parquet.Release(p)
				return nil, err
			}
		}
		parquet.Release(p)
	}
}

// A Reader reads the tables of a run, sealed or still running. While it runs, committed rows that are not in a part
// yet are read from the commit log.
type Reader struct {
	schema *Schema
	dir    string
	sealed bool
}

// OpenRun reads the run in dir, whose tables have this schema.
func OpenRun(dir string, schema *Schema) *Reader {
	return &Reader{schema: schema, dir: dir, sealed: Sealed(dir)}
}

// Sealed says whether the run was finished when the reader was made.
func (r *Reader) Sealed() bool { return r.sealed }

// Each calls fn with every row of a table: values by column, as nil, bool, int32, int64, float64 or string. The slice is
// reused by the next call.
func (r *Reader) Each(table string, fn func(row []any) error) error {
	t := r.schema.Table(table)
	if t == nil {
		return fmt.Errorf("there is no table %q", table)
	}
	if r.sealed {
		return eachRow(filepath.Join(r.dir, table+".parquet"), t, fn)
	}
	s := newSink(r.dir, r.schema, Meta{}, 1)
	// The log first: should it become a part meanwhile, its number tells.
	parts, err := s.parts()
	if err != nil {
		return err
	}
	for _, n := range parts {
		if err := eachRow(filepath.Join(s.partDir(n), table+".parquet"), t, fn); err != nil {
			return err
		}
		s.part = n + 1
	}
	records, _, err := r.schema.readLog(s.log(s.part))
	if err != nil {
		return err
	}
	row := make([]any, len(t.Columns()))
	for _, rec := range records {
		for i, st := range r.schema.Tables {
			if st != t {
				continue
			}
			for _, pr := range rec.rows[i] {
				if err := fn(plain(row, pr)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func plain(row []any, values parquet.Row) []any {
	for i, v := range values {
		switch {
		case v.IsNull():
			row[i] = nil
		case v.Kind() == parquet.Boolean:
			row[i] = v.Boolean()
		case v.Kind() == parquet.Int32:
			row[i] = v.Int32()
		case v.Kind() == parquet.Int64:
			row[i] = v.Int64()
		case v.Kind() == parquet.Double:
			row[i] = v.Double()
		default:
			row[i] = string(v.ByteArray())
		}
	}
	return row
}

// eachRow calls fn with every row of a table's file. A column that a file of an earlier version doesn't have is nil.
func eachRow(path string, t *Table, fn func([]any) error) error {
	var from []int
	row := make([]any, len(t.Columns()))
	return eachOf(path, t.Name, func(s *parquet.Schema) (err error) {
		from, err = columnsOf(s, t.schema)
		return err
	}, func(got []any) error {
		for i, f := range from {
			if row[i] = nil; f >= 0 {
				row[i] = got[f]
			}
		}
		return fn(row)
	})
}

// columnsOf finds the columns of a schema in a file: the number of each, or -1 for one that may be null and that an earlier version didn't have.
func columnsOf(got, want *parquet.Schema) ([]int, error) {
	g, w := got.Fields(), want.Fields()
	out := make([]int, len(w))
	next := 0
	for i, c := range w {
		if next < len(g) && sameColumn(g[next], c) {
			out[i] = next
			next++
			continue
		}
		if out[i] = -1; !c.Optional() || slices.ContainsFunc(g, func(f parquet.Field) bool { return f.Name() == c.Name() }) {
			return nil, sameColumns(got, want)
		}
	}
	if next < len(g) { // it has what this version doesn't know
		return nil, sameColumns(got, want)
	}
	return out, nil
}

// eachOf calls fn with every row of a file, after check has seen its columns.
func eachOf(path, table string, check func(*parquet.Schema) error, fn func([]any) error) (err error) {
	f, size, err := openParquet(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("table %s: %w", table, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	pf, err := parquet.OpenFile(f, size)
	if err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	if err := check(pf.Schema()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	row := make([]any, len(pf.Schema().Columns()))
	for _, g := range pf.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, min(max(g.NumRows(), 1), 1024))
		for {
			n, rerr := rows.ReadRows(buf)
			for _, pr := range buf[:n] {
				if err := fn(plain(row, pr)); err != nil {
					return errors.Join(err, rows.Close())
				}
			}
			if errors.Is(rerr, io.EOF) {
				break
			}
			if rerr != nil {
				return errors.Join(fmt.Errorf("reading %s: %w", path, rerr), rows.Close())
			}
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	return nil
}
