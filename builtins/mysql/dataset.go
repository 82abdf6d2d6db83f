package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// Load makes the tables and fills them by LOAD DATA, or by inserts of many rows where the server doesn't take that.
// Statements that define tables commit at once here, so a table carries the mark "unfinished" until it is whole.
func (s *system) Load(ctx context.Context, w *driver.Workload, fingerprint string, rows driver.RowSource) error {
	return s.with(ctx, func(c *conn) error {
		for _, t := range w.Tables {
			if err := foreign(ctx, c, t.Name); err != nil {
				return err
			}
		}
		for _, t := range w.Tables {
			if err := createTable(ctx, c, &t); err != nil {
				return fmt.Errorf("loading: %w", err)
			}
		}
		err := s.fill(ctx, c, w, rows)
		for _, t := range w.Tables {
			if err == nil {
				_, err = c.exec(ctx, fmt.Sprintf("ALTER TABLE %s COMMENT = '%s%s'", quote(t.Name), driver.Marker, fingerprint))
			}
			if err == nil {
				_, _, err = c.query(ctx, "ANALYZE TABLE "+quote(t.Name))
			}
		}
		if err != nil {
			c.bad = true // with what a cancelled statement has left
			return fmt.Errorf("loading: %w", err)
		}
		s.flush(ctx, c, w)
		return nil
	})
}

// loaders is how many connections load at the same time; a table of more than piece rows is loaded by several of them.
const (
	loaders = 4
	piece   = 20_000
)

// A span is a part of a table to load.
type span struct {
	table    int
	from, to int64
}

// fill writes the rows of all tables, then makes their other indexes, which is faster than keeping them up row by row. c is for what it asks.
func (s *system) fill(ctx context.Context, c *conn, w *driver.Workload, rows driver.RowSource) error {
	var spans []span
	for i := range w.Tables {
		n := rows.Rows(i)
		parts := min(max(n/piece, 1), loaders)
		for p := range parts {
			spans = append(spans, span{i, n * p / parts, n * (p + 1) / parts})
		}
	}
	_, infile, err := c.query(ctx, "SELECT @@GLOBAL.local_infile")
	if err != nil {
		return err
	}
	write := fillSpan
	if fmt.Sprint(infile[0][0]) == "1" { // 1.6 times as fast as inserts where that was measured
		write = loadSpan
	}
	err = s.parallel(ctx, len(spans), func(ctx context.Context, c *conn, i int64) error {
		return write(ctx, c, &w.Tables[spans[i].table], spans[i], rows)
	})
	if err != nil {
		return err
	}
	return s.parallel(ctx, len(w.Tables), func(ctx context.Context, c *conn, i int64) error {
		t := &w.Tables[i]
		var keys []string
		for _, f := range t.Indexes {
			part := ""
			if c := t.Fields[slices.IndexFunc(t.Fields, func(c driver.Column) bool { return c.Name == f })]; c.Type == driver.Text {
				part = fmt.Sprintf("(%d)", min(c.Bytes, indexed)) // a text's index needs a length
			}
			keys = append(keys, fmt.Sprintf("ADD KEY %s (%s%s)", quote(f), quote(f), part))
		}
		if keys == nil {
			return nil
		}
		_, err := c.exec(ctx, fmt.Sprintf("ALTER TABLE %s %s", quote(t.Name), strings.Join(keys, ", ")))
		return err
	})
}

// parallel calls fn for 0 to n-1, each on a connection of its own worker, until one fails.
func (s *system) parallel(ctx context.Context, n int, fn func(ctx context.Context, c *conn, i int64) error) error {
	return driver.Parallel(ctx, loaders, int64(n), func(ctx context.Context, next func() (int64, bool)) error {
		c, err := s.connect(ctx, 0)
		if err != nil {
			return err
		}
		// a mode of our own, so that texts are quoted as below and nothing is cut short
		_, err = c.exec(ctx, "SET SESSION sql_mode = 'STRICT_ALL_TABLES', unique_checks = 0")
		for err == nil {
			i, ok := next()
			if !ok {
				break
			}
			err = fn(ctx, c, i)
		}
		c.bad = err != nil || ctx.Err() != nil
		return errors.Join(err, c.close())
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

// indexed is how many letters of a text its index holds: what fits into 3072 bytes.
const indexed = 768

// columnType is a column's type in SQL. A text with an index is compared byte by byte, as its values are looked up.
func columnType(f driver.Column, index bool) string {
	switch f.Type {
	case driver.Int, driver.BigInt:
		return string(f.Type)
	case driver.Char:
		return fmt.Sprintf("char(%d)", f.Bytes)
	case driver.Timestamp:
		return "datetime NULL"
	}
	typ := "text"
	if f.Bytes > 16<<10 { // up to four bytes a letter
		typ = "longtext"
	}
	if index {
		typ += " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
	}
	return typ
}

// packet is about how many bytes an insert has; servers take 16 MiB and more by default, older ones 4.
const packet = 1 << 20

// createTable makes a table without its other indexes.
func createTable(ctx context.Context, c *conn, t *driver.Table) error {
	var defs []string
	if t.Key != "" {
		typ := "varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
		if t.KeyType != driver.Text {
			typ = string(t.KeyType)
		}
		if t.Serial {
			typ += " AUTO_INCREMENT"
		}
		defs = append(defs, fmt.Sprintf("%s %s PRIMARY KEY", quote(t.Key), typ))
	}
	for _, f := range t.Fields {
		defs = append(defs, quote(f.Name)+" "+columnType(f, slices.Contains(t.Indexes, f.Name)))
	}
	table := quote(t.Name)
	if _, err := c.exec(ctx, "DROP TABLE IF EXISTS "+table); err != nil {
		return err
	}
	_, err := c.exec(ctx, fmt.Sprintf("CREATE TABLE %s (%s) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COMMENT = '%s%s'", table, strings.Join(defs, ", "), driver.Marker, driver.Unfinished))
	return err
}

// fillSpan writes a part of a table by inserts of many rows.
func fillSpan(ctx context.Context, c *conn, t *driver.Table, part span, rows driver.RowSource) error {
	head := fmt.Sprintf("INSERT INTO %s (%s) VALUES ", quote(t.Name), columnNames(t))
	b := []byte(head)
	var row driver.Row
	for i := part.from; i < part.to; i++ {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		rows.Row(part.table, i, &row)
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
		if len(b) < packet && i < part.to-1 {
			continue
		}
		if _, err := c.exec(ctx, string(b)); err != nil {
			return fmt.Errorf("rows of %s up to %d: %w", t.Name, i, err)
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
