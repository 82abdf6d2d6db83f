package result

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const groupRows = 250_000 // rows of a row group

func options(schema *parquet.Schema, table string, meta Meta) []parquet.WriterOption {
	return []parquet.WriterOption{schema, parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault}),
		parquet.CreatedBy("sextant", SchemaVersion, ""), parquet.MaxRowsPerRowGroup(groupRows),
		parquet.KeyValueMetadata("sextant.schema_version", SchemaVersion),
		parquet.KeyValueMetadata("sextant.table", table),
		parquet.KeyValueMetadata("sextant.run_id", meta.RunID), parquet.KeyValueMetadata("sextant.plan_hash", meta.PlanHash)}
}

// writeTable writes one synced Parquet file of a table of the schema.
func (s *Sink) writeTable(path string, t *Table, fill func(*parquet.Writer) error) error {
	return writeFile(path, t.Name, t.schema, s.meta, fill)
}

// writeFile writes one synced Parquet file.
func writeFile(path, table string, schema *parquet.Schema, meta Meta, fill func(*parquet.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("making a Parquet file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := parquet.NewWriter(f, options(schema, table, meta)...)
	if err := fill(w); err != nil {
		return fmt.Errorf("writing table %s: %w", table, err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("ending table %s: %w", table, err)
	}
	return f.Sync()
}

// writePart writes a part aside and renames its folder into place.
func (s *Sink) writePart(n int, rows [][]parquet.Row) error {
	tmp := s.scratch("part")
	if err := errors.Join(os.RemoveAll(tmp), os.Mkdir(tmp, 0o755)); err != nil {
		return err
	}
	for i, t := range s.schema.Tables {
		err := s.writeTable(filepath.Join(tmp, t.Name+".parquet"), t, func(w *parquet.Writer) error {
			_, err := w.WriteRows(rows[i])
			return err
		})
		if err != nil {
			return errors.Join(err, os.RemoveAll(tmp))
		}
	}
	if err := errors.Join(syncDir(tmp), os.Rename(tmp, s.partDir(n))); err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	return syncDir(s.tables())
}

// parts are the numbers of the parts on disk, ascending.
func (s *Sink) parts() ([]int, error) { return listParts(s.tables()) }

func listParts(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listing the parts: %w", err)
	}
	var out []int
	for _, e := range entries {
		if n, ok := strings.CutPrefix(e.Name(), "part-"); ok {
			if k, err := strconv.Atoi(n); err == nil {
				out = append(out, k)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// maxParts is how many parts there can be before they are made one.
const maxParts = 128

// compact makes all parts one when there are many. The new folder of tables is exchanged with the old one in one step,
// so a reader sees either all parts or the one.
func (s *Sink) compact() error {
	parts, err := s.parts()
	if err != nil || len(parts) < maxParts {
		return err
	}
	tmp := s.scratch("tables")
	part := filepath.Join(tmp, filepath.Base(s.partDir(parts[len(parts)-1])))
	if err := errors.Join(os.RemoveAll(tmp), os.MkdirAll(part, 0o755)); err != nil {
		return fmt.Errorf("compacting the parts: %w", err)
	}
	for _, t := range s.schema.Tables {
		if err := s.merge(filepath.Join(part, t.Name+".parquet"), t, parts, nil); err != nil {
			return errors.Join(fmt.Errorf("compacting the parts: %w", err), os.RemoveAll(tmp))
		}
	}
	if err := errors.Join(syncDir(part), syncDir(tmp), exchange(tmp, s.tables()), syncDir(s.dir), os.RemoveAll(tmp)); err != nil {
		return fmt.Errorf("compacting the parts: %w", err)
	}
	return nil
}

// merge writes one file from a table's parts and further rows.
func (s *Sink) merge(path string, t *Table, parts []int, rows []parquet.Row) error {
	return s.writeTable(path, t, func(w *parquet.Writer) error {
		for _, n := range parts {
			if err := copyRows(w, filepath.Join(s.partDir(n), t.Name+".parquet"), t); err != nil {
				return err
			}
		}
		_, err := w.WriteRows(rows)
		return err
	})
}

func copyRows(w *parquet.Writer, path string, t *Table) (err error) {
	f, size, err := openParquet(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	pf, err := parquet.OpenFile(f, size)
	if err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	if err := sameColumns(pf.Schema(), t.schema); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, g := range pf.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, min(g.NumRows(), 1024))
		for {
			n, rerr := rows.ReadRows(buf)
			if _, err := w.WriteRows(buf[:n]); err != nil {
				return errors.Join(err, rows.Close())
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

func openParquet(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("opening a table: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("opening a table: %w", err), f.Close())
	}
	return f, st.Size(), nil
}

// sameColumns guards against a file of another schema: the Parquet library would convert its values in silence.
func sameColumns(got, want *parquet.Schema) error {
	g, w := got.Fields(), want.Fields()
	if len(g) != len(w) {
		return fmt.Errorf("it has %d columns, this version of the schema %d", len(g), len(w))
	}
	for i := range g {
		if !sameColumn(g[i], w[i]) {
			return fmt.Errorf("its column %d is %s %v, not %s %v", i, g[i].Name(), g[i].Type(), w[i].Name(), w[i].Type())
		}
	}
	return nil
}

func sameColumn(got, want parquet.Field) bool {
	return got.Name() == want.Name() && got.Type().Kind() == want.Type().Kind() && got.Optional() == want.Optional()
}

// Seal writes one file a table into the run's folder, then removes parts and log. It can be repeated after a crash at
// any point: until the last file is in place the parts stay.
func (s *Sink) Seal() error {
	parts, err := s.parts()
	if err != nil {
		return err
	}
	for i, t := range s.schema.Tables {
		tmp := s.scratch(t.Name)
		if err := s.merge(tmp, t, parts, s.pending[i]); err != nil {
			return errors.Join(fmt.Errorf("sealing the run: %w", err), os.Remove(tmp))
		}
		if err := os.Rename(tmp, filepath.Join(s.dir, t.Name+".parquet")); err != nil {
			return fmt.Errorf("sealing the run: %w", err)
		}
	}
	// The marker decides: with it, the sealed files are the run; without it, parts and log are.
	if err := errors.Join(syncDir(s.dir), os.WriteFile(filepath.Join(s.dir, sealedMark), nil, 0o644), syncDir(s.dir)); err != nil {
		return fmt.Errorf("sealing the run: %w", err)
	}
	s.sealed = true
	if err := errors.Join(s.Close(), removeParts(s.dir)); err != nil {
		return fmt.Errorf("clearing up after sealing the run: %w", err)
	}
	return nil
}

const sealedMark = ".sealed"

// removeParts removes what a sealed run no longer needs.
func removeParts(dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, "commits-*.log"))
	if err != nil {
		return err
	}
	for _, l := range logs {
		err = errors.Join(err, os.Remove(l))
	}
	scratch, gerr := filepath.Glob(filepath.Join(dir, ".writing-*"))
	err = errors.Join(err, gerr)
	for _, p := range scratch {
		err = errors.Join(err, os.RemoveAll(p))
	}
	return errors.Join(err, os.RemoveAll(filepath.Join(dir, "tables")), syncDir(dir))
}
