package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sextant/interp/driver"
)

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// tableState is one table's definition: whether it is there, sextant's, and of which dataset.
func tableState(d *db, name string) (exists bool, fingerprint string, err error) {
	v, err := d.one("SELECT sql FROM sqlite_schema WHERE name = ? AND type IN ('table', 'view')", name)
	if err != nil || v == nil {
		return false, "", err
	}
	_, rest, ok := strings.Cut(fmt.Sprint(v), driver.Marker)
	if !ok {
		return true, "", nil
	}
	fingerprint, _, _ = strings.Cut(rest, " ")
	return true, fingerprint, nil
}

func (s *system) Inspect(ctx context.Context, w *driver.Workload) (st driver.DatasetState, err error) {
	err = s.with(ctx, func(d *db) error {
		st, err = driver.InspectTables(w, func(t *driver.Table) (exists bool, fingerprint string, rows int64, err error) {
			if exists, fingerprint, err = tableState(d, t.Name); err != nil || !exists {
				return exists, fingerprint, 0, err
			}
			n, err := d.one("SELECT count(*) FROM " + quote(t.Name))
			rows, _ = n.(int64)
			return exists, fingerprint, rows, err
		})
		return err
	})
	if err != nil {
		return st, fmt.Errorf("looking at the dataset: %w", err)
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
	return driver.Foreign("table", name, exists, fp, "rename it, or use another file")
}

func loadTable(ctx context.Context, d *db, index int, t driver.Table, fingerprint string, rows driver.RowSource) error {
	if err := d.exec("DROP TABLE IF EXISTS " + quote(t.Name)); err != nil {
		return err
	}
	var defs, marks []string
	size := 64
	if t.Key != "" {
		// A table with rowids: rows of this size are better off in a B-tree of their own (SQLite's advice on WITHOUT ROWID).
		typ := "TEXT PRIMARY KEY NOT NULL"
		if t.KeyType != driver.Text {
			typ = "INTEGER PRIMARY KEY" // the rowid itself
		}
		defs, marks = append(defs, quote(t.Key)+" "+typ), append(marks, "?")
	}
	for _, f := range t.Fields {
		defs, marks = append(defs, quote(f.Name)+" "+columnType(f)), append(marks, "?")
		size += max(f.Bytes, 20)
	}
	create := fmt.Sprintf("CREATE TABLE %s (%s /* %s%s */)", quote(t.Name), strings.Join(defs, ", "), driver.Marker, fingerprint)
	if err := d.exec(create); err != nil {
		return err
	}
	for _, f := range t.Indexes {
		if err := d.exec(fmt.Sprintf("CREATE INDEX %s ON %s (%s)", quote(t.Name+"_"+f), quote(t.Name), quote(f))); err != nil {
			return err
		}
	}
	ins, err := d.prepare(fmt.Sprintf("INSERT INTO %s VALUES (%s)", quote(t.Name), strings.Join(marks, ", ")), size)
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
		var key []byte
		if t.Key != "" {
			key = row.Key
		}
		if err := insert(ins, key, row.Values); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// columnType is a column's type in SQL. SQLite has no texts of a fixed length; Char stays as it is written.
func columnType(f driver.Column) string {
	switch f.Type {
	case driver.Int, driver.BigInt:
		return "INTEGER"
	}
	return "TEXT"
}

// insert binds key and values and runs the statement once. A table without a key has a nil one; a nil value is NULL.
func insert(s *stmt, key []byte, values [][]byte) error {
	defer s.reset()
	n := 1
	if key != nil {
		if err := s.text(n, key); err != nil {
			return err
		}
		n++
	}
	for i, v := range values {
		a := driver.Arg{Kind: driver.TextArg, Text: v}
		if v == nil {
			a.Kind = driver.Null
		}
		if err := s.argument(n+i, &a); err != nil {
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
