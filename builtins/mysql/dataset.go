package mysql

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"sextant/interp/driver"
)

// tableState says whether a table of that name is found, and of which dataset it is ("": not sextant's).
func tableState(ctx context.Context, c *conn, name string) (exists bool, fingerprint string, err error) {
	_, rows, err := c.query(ctx, "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?", name)
	if err != nil || len(rows) == 0 {
		return false, "", err
	}
	return true, driver.MarkedFingerprint(fmt.Sprint(rows[0][0])), nil
}

func (s *system) Inspect(ctx context.Context, w *driver.Workload) (st driver.DatasetState, err error) {
	err = s.with(ctx, func(c *conn) error {
		st, err = driver.InspectTables(w, func(t *driver.Table) (exists bool, fingerprint string, rows int64, err error) {
			if exists, fingerprint, err = tableState(ctx, c, t.Name); err == nil && exists {
				rows, err = count(ctx, c, t.Name)
			}
			return exists, fingerprint, rows, err
		})
		return err
	})
	if err != nil {
		return st, fmt.Errorf("looking at the dataset: %w", err)
	}
	return st, nil
}

func count(ctx context.Context, c *conn, table string) (int64, error) {
	_, rows, err := c.query(ctx, "SELECT COUNT(*) FROM "+quote(table))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(fmt.Sprint(rows[0][0]), 10, 64)
}

// foreign is the error about a table that sextant did not make.
func foreign(ctx context.Context, c *conn, name string) error {
	exists, fp, err := tableState(ctx, c, name)
	if err != nil {
		return err
	}
	return driver.Foreign("table", name, exists, fp, "rename it, or use another database")
}

// Load makes the tables and fills them by multi-row inserts. Statements that define tables commit at once here, so a table
// carries the mark "unfinished" until it is whole.
func (s *system) Load(ctx context.Context, w *driver.Workload, fingerprint string, rows driver.RowSource) error {
	return s.with(ctx, func(c *conn) error {
		for _, t := range w.Tables {
			if err := foreign(ctx, c, t.Name); err != nil {
				return err
			}
		}
		// a mode of our own, so that texts are quoted as below and nothing is cut short
		if _, err := c.exec(ctx, "SET SESSION sql_mode = 'STRICT_ALL_TABLES', unique_checks = 0"); err != nil {
			return err
		}
		var err error
		for i, t := range w.Tables {
			if err == nil {
				err = loadTable(ctx, c, i, t, rows)
			}
		}
		for _, t := range w.Tables {
			if err == nil {
				_, err = c.exec(ctx, fmt.Sprintf("ALTER TABLE %s COMMENT = '%s%s'", quote(t.Name), driver.Marker, fingerprint))
			}
			if err == nil {
				_, _, err = c.query(ctx, "ANALYZE TABLE "+quote(t.Name))
			}
		}
		if err != nil {
			c.bad = true // with its session settings and what a cancelled statement has left
			return fmt.Errorf("loading: %w", err)
		}
		s.flush(ctx, c, w)
		_, err = c.exec(ctx, "SET SESSION sql_mode = DEFAULT, unique_checks = 1")
		return err
	})
}

// flush writes the tables' pages to the disk, so that a trial doesn't pay for them.
func (s *system) flush(ctx context.Context, c *conn, w *driver.Workload) {
	for _, t := range w.Tables {
		_, err := c.exec(ctx, fmt.Sprintf("FLUSH TABLES %s FOR EXPORT", quote(t.Name)))
		if err == nil {
			_, err = c.exec(ctx, "UNLOCK TABLES")
		}
		if err != nil {
			s.log("warning", fmt.Sprintf("the tables' pages were not flushed after loading, so the first trial shares the disk with it: %v", err))
			return
		}
	}
}

// columnType is a column's type in SQL.
func columnType(f driver.Column) string {
	switch f.Type {
	case driver.Int, driver.BigInt:
		return string(f.Type)
	case driver.Char:
		return fmt.Sprintf("char(%d)", f.Bytes)
	case driver.Timestamp:
		return "datetime NULL"
	}
	if f.Bytes > 16<<10 { // up to four bytes a letter
		return "longtext"
	}
	return "text"
}

// packet is about how many bytes an insert has; servers take 16 MiB and more by default, older ones 4.
const packet = 1 << 20

func loadTable(ctx context.Context, c *conn, index int, t driver.Table, rows driver.RowSource) error {
	var defs, names []string
	if t.Key != "" {
		typ := "varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
		if t.KeyType != driver.Text {
			typ = string(t.KeyType)
		}
		if t.Serial {
			typ += " AUTO_INCREMENT"
		}
		defs, names = append(defs, fmt.Sprintf("%s %s PRIMARY KEY", quote(t.Key), typ)), append(names, quote(t.Key))
	}
	for _, f := range t.Fields {
		defs, names = append(defs, quote(f.Name)+" "+columnType(f)), append(names, quote(f.Name))
	}
	for _, f := range t.Indexes {
		defs = append(defs, fmt.Sprintf("KEY %s (%s)", quote(f), quote(f)))
	}
	table := quote(t.Name)
	if _, err := c.exec(ctx, "DROP TABLE IF EXISTS "+table); err != nil {
		return err
	}
	if _, err := c.exec(ctx, fmt.Sprintf("CREATE TABLE %s (%s) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COMMENT = '%s%s'", table, strings.Join(defs, ", "), driver.Marker, driver.Unfinished)); err != nil {
		return err
	}
	head := fmt.Sprintf("INSERT INTO %s (%s) VALUES ", table, strings.Join(names, ", "))
	b := []byte(head)
	var row driver.Row
	n := rows.Rows(index)
	for i := range n {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		rows.Row(index, i, &row)
		if len(b) > len(head) {
			b = append(b, ',')
		}
		b = append(b, '(')
		if t.Key != "" {
			b = append(literal(b, row.Key), ',')
		}
		for _, v := range row.Values {
			b = append(literal(b, v), ',')
		}
		b[len(b)-1] = ')'
		if len(b) < packet && i < n-1 {
			continue
		}
		if _, err := c.exec(ctx, string(b)); err != nil {
			return fmt.Errorf("rows up to %d: %w", i, err)
		}
		b = append(b[:0], head...)
	}
	return nil
}

// literal appends a text in quotes; nil is NULL. Numbers are taken from their texts.
func literal(b, v []byte) []byte {
	if v == nil {
		return append(b, "NULL"...)
	}
	b = append(b, '\'')
	for _, c := range v {
		switch c {
		case '\'', '\\':
			b = append(b, '\\')
		case 0:
			b, c = append(b, '\\'), '0'
		}
		b = append(b, c)
	}
	return append(b, '\'')
}

// Trim empties the volatile tables.
func (s *system) Trim(ctx context.Context, w *driver.Workload) error {
	return s.with(ctx, func(c *conn) error {
		for _, t := range w.Tables {
			if !t.Volatile {
				continue
			}
			if _, err := c.exec(ctx, "TRUNCATE TABLE "+quote(t.Name)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *system) Drop(ctx context.Context, w *driver.Workload) error {
	return s.with(ctx, func(c *conn) error {
		for _, t := range w.Tables {
			if err := foreign(ctx, c, t.Name); err != nil {
				return err
			}
			if _, err := c.exec(ctx, "DROP TABLE IF EXISTS "+quote(t.Name)); err != nil {
				return err
			}
		}
		return nil
	})
}
