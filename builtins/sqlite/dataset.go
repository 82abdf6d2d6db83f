package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sextant/interp/driver"
)

// marker begins the comment in a table's definition by which a dataset is known again.
const marker = "sextant dataset "

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// tableState is one table's definition: whether it is there, sextant's, and of which dataset.
func tableState(d *db, name string) (exists bool, fingerprint string, err error) {
	v, err := d.one("SELECT sql FROM sqlite_schema WHERE name = ? AND type IN ('table', 'view')", name)
	if err != nil || v == nil {
		return false, "", err
	}
	_, rest, ok := strings.Cut(fmt.Sprint(v), marker)
	if !ok {
		return true, "", nil
	}
	fingerprint, _, _ = strings.Cut(rest, " ")
	return true, fingerprint, nil
}

func (s *system) Inspect(ctx context.Context, w *driver.Workload) (driver.DatasetState, error) {
	var st driver.DatasetState
	err := s.with(ctx, func(d *db) error {
		st = driver.DatasetState{Ours: true}
		for i, t := range w.Tables {
			exists, fp, err := tableState(d, t.Name)
			if err != nil {
				return err
			}
			if !exists {
				st.Rows, st.Fingerprint = append(st.Rows, 0), ""
				continue
			}
			st.Exists = true
			st.Ours = st.Ours && fp != ""
			if i == 0 {
				st.Fingerprint = fp
			} else if fp != st.Fingerprint {
				st.Fingerprint = ""
			}
			n, err := d.one("SELECT count(*) FROM " + quote(t.Name))
			if err != nil {
				return err
			}
			rows, _ := n.(int64)
			st.Rows = append(st.Rows, rows)
		}
		return nil
	})
	if err != nil {
		return st, fmt.Errorf("looking at the dataset: %w", err)
	}
	if !st.Exists {
		st.Ours, st.Rows = false, nil
	}
	return st, nil
}

// Load makes the tables in one transaction with prepared inserts, then brings the log into the file.
func (s *system) Load(ctx context.Context, w *driver.Workload, fingerprint string, rows driver.RowSource) error {
	return s.with(ctx, func(d *db) error {
		for _, t := range w.Tables {
			if err := foreign(d, t.Name); err != nil {
				return err
			}
		}
		if err := d.exec("BEGIN IMMEDIATE"); err != nil {
			return err
		}
		for i, t := range w.Tables {
			if err := loadTable(ctx, d, i, t, fingerprint, rows); err != nil {
				d.cut.Store(false)
				return errors.Join(fmt.Errorf("loading table %s: %w", t.Name, err), rollback(d))
			}
		}
		if err := d.exec("COMMIT"); err != nil {
			return errors.Join(err, rollback(d))
		}
		_, err := d.one("PRAGMA wal_checkpoint(TRUNCATE)")
		return err
	})
}

// rollback ends the transaction, unless SQLite has done so itself.
func rollback(d *db) error {
	if d.autocommit() {
		return nil
	}
	return d.exec("ROLLBACK")
}

// foreign is the error about a table that sextant did not make.
func foreign(d *db, name string) error {
	exists, fp, err := tableState(d, name)
	if err != nil {
		return err
	}
	if exists && fp == "" {
		return &driver.Error{Class: driver.Constraint, Err: fmt.Errorf("there is a table %q that sextant did not make; it is left as it is", name),
			Hint: "rename it, or use another file"}
	}
	return nil
}

func loadTable(ctx context.Context, d *db, index int, t driver.Table, fingerprint string, rows driver.RowSource) error {
	if err := d.exec("DROP TABLE IF EXISTS " + quote(t.Name)); err != nil {
		return err
	}
	var def, marks strings.Builder
	size := 64
	for _, f := range t.Fields {
		fmt.Fprintf(&def, ", %s TEXT", quote(f.Name))
		marks.WriteString(", ?")
		size += f.Bytes
	}
	// A table with rowids: rows of this size are better off in a B-tree of their own (SQLite's advice on WITHOUT ROWID).
	create := fmt.Sprintf("CREATE TABLE %s (%s TEXT PRIMARY KEY NOT NULL%s /* %s%s */)", quote(t.Name), quote(t.Key), def.String(), marker, fingerprint)
	if err := d.exec(create); err != nil {
		return err
	}
	ins, err := d.prepare(fmt.Sprintf("INSERT INTO %s VALUES (?%s)", quote(t.Name), marks.String()), size)
	if err != nil {
		return err
	}
	defer ins.finalize()
	var row driver.Row
	for i := range rows.Rows(index) {
		if i%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		rows.Row(index, i, &row)
		if err := insert(ins, row.Key, row.Values); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// insert binds key and values and runs the statement once.
func insert(s *stmt, key []byte, values [][]byte) error {
	defer s.reset()
	if err := s.text(1, key); err != nil {
		return err
	}
	for i, v := range values {
		if err := s.text(i+2, v); err != nil {
			return err
		}
	}
	_, err := s.step()
	return err
}

func (s *system) Drop(ctx context.Context, w *driver.Workload) error {
	return s.with(ctx, func(d *db) error {
		for _, t := range w.Tables {
			if err := foreign(d, t.Name); err != nil {
				return err
			}
			if err := d.exec("DROP TABLE IF EXISTS " + quote(t.Name)); err != nil {
				return err
			}
		}
		return nil
	})
}
