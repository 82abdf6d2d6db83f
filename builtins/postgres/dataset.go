package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"sextant/interp/driver"
)

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// tableState says whether a table of that name is found, and of which dataset it is ("": not sextant's).
func tableState(ctx context.Context, c *pgconn.PgConn, name string) (exists bool, fingerprint string, err error) {
	rows, err := texts(ctx, c, "SELECT coalesce(obj_description(to_regclass($1), 'pg_class'), ''), (to_regclass($1) IS NOT NULL)::text", quote(name))
	if err != nil {
		return false, "", err
	}
	return rows[0][1] == "true", driver.MarkedFingerprint(rows[0][0]), nil
}

func (s *system) Inspect(ctx context.Context, w *driver.Workload) (st driver.DatasetState, err error) {
	err = s.with(ctx, func(c *pgconn.PgConn) error {
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

func count(ctx context.Context, c *pgconn.PgConn, table string) (int64, error) {
	rows, err := texts(ctx, c, "SELECT count(*)::text FROM "+quote(table))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(rows[0][0], 10, 64)
}

// foreign is the error about a table that sextant did not make.
func foreign(ctx context.Context, c *pgconn.PgConn, name string) error {
	exists, fp, err := tableState(ctx, c, name)
	if err != nil {
		return err
	}
	return driver.Foreign("table", name, exists, fp, "rename it, or use another database")
}

// runSQL runs statements without results.
func runSQL(ctx context.Context, c *pgconn.PgConn, sql string) error {
	_, err := c.Exec(ctx, sql).ReadAll()
	return err
}

// Load makes the tables by COPY in one transaction, the keys afterwards; then statistics and a checkpoint, so that a
// trial doesn't pay for them.
func (s *system) Load(ctx context.Context, w *driver.Workload, fingerprint string, rows driver.RowSource) error {
	err := s.with(ctx, func(c *pgconn.PgConn) error {
		for _, t := range w.Tables {
			if err := foreign(ctx, c, t.Name); err != nil {
				return err
			}
		}
		err := runSQL(ctx, c, "BEGIN")
		for i, t := range w.Tables {
			if err == nil {
				err = loadTable(ctx, c, i, t, fingerprint, rows)
			}
		}
		if err != nil {
			return errors.Join(fmt.Errorf("loading: %w", wrap(err)), undo(ctx, c))
		}
		return runSQL(ctx, c, "COMMIT")
	})
	if err != nil {
		return err
	}
	return s.with(ctx, func(c *pgconn.PgConn) error {
		for _, t := range w.Tables {
			if err := runSQL(ctx, c, "VACUUM ANALYZE "+quote(t.Name)); err != nil {
				return err
			}
		}
		if err := runSQL(ctx, c, "CHECKPOINT"); err != nil {
			if class, _ := driver.Classify(wrap(err)); class == driver.Auth {
				s.log("warning", "no checkpoint after loading: the user may not ask for one, so the first trial shares the disk with it")
				return nil
			}
			return err
		}
		return nil
	})
}

// undo rolls back, on a connection that a cancelled context may have closed.
func undo(ctx context.Context, c *pgconn.PgConn) error {
	if c.IsClosed() {
		return nil // the server rolls back
	}
	return runSQL(context.WithoutCancel(ctx), c, "ROLLBACK")
}

// columnType is a column's type in SQL.
func columnType(f driver.Column) string {
	switch f.Type {
	case driver.Int, driver.BigInt, driver.Timestamp:
		return string(f.Type)
	case driver.Char:
		return fmt.Sprintf("char(%d)", f.Bytes)
	}
	return "text"
}

func loadTable(ctx context.Context, c *pgconn.PgConn, index int, t driver.Table, fingerprint string, rows driver.RowSource) error {
	var cols []string
	r := &copyReader{ctx: ctx, rows: rows, table: index, n: rows.Rows(index)}
	name := quote(t.Name)
	after := fmt.Sprintf("COMMENT ON TABLE %s IS '%s%s';", name, driver.Marker, fingerprint)
	if t.Key != "" {
		typ := "varchar(255)"
		if t.KeyType != driver.Text {
			typ = string(t.KeyType)
		}
		cols = append(cols, quote(t.Key)+" "+typ)
		r.types = append(r.types, t.KeyType)
		after += fmt.Sprintf("ALTER TABLE %s ADD PRIMARY KEY (%s);", name, quote(t.Key))
	}
	for _, f := range t.Fields {
		cols = append(cols, quote(f.Name)+" "+columnType(f))
		r.types = append(r.types, f.Type)
	}
	for _, f := range t.Indexes {
		after += fmt.Sprintf("CREATE INDEX ON %s (%s);", name, quote(f))
	}
	if err := runSQL(ctx, c, fmt.Sprintf("DROP TABLE IF EXISTS %s; CREATE TABLE %s (%s)", name, name, strings.Join(cols, ", "))); err != nil {
		return err
	}
	// FREEZE: the rows are marked as visible to all at once, so that the first trials don't have to.
	if _, err := c.CopyFrom(ctx, r, fmt.Sprintf("COPY %s FROM STDIN (FORMAT binary, FREEZE)", name)); err != nil {
		return err
	}
	return runSQL(ctx, c, after)
}

// Trim empties the volatile tables and vacuums the hot ones, as pgbench does before a run.
func (s *system) Trim(ctx context.Context, w *driver.Workload) error {
	return s.with(ctx, func(c *pgconn.PgConn) error {
		for _, t := range w.Tables {
			sql := ""
			switch {
			case t.Volatile:
				sql = "TRUNCATE " + quote(t.Name)
			case t.Hot:
				sql = "VACUUM " + quote(t.Name)
			default:
				continue
			}
			if err := runSQL(ctx, c, sql); err != nil {
				return err
			}
		}
		return nil
	})
}

// copyReader is the rows of a table in COPY's binary format (PostgreSQL documentation, COPY, "Binary Format").
type copyReader struct {
	ctx   context.Context
	rows  driver.RowSource
	table int
	types []driver.Type // of the columns, the key's before them when there is one
	i, n  int64
	row   driver.Row
	buf   []byte // what Read has not taken yet
	off   int
	ended bool
	err   error
}

// chunk is how much is made at a time.
const chunk = 64 << 10

func (r *copyReader) Read(p []byte) (int, error) {
	if r.off == len(r.buf) {
		if r.ended {
			return 0, io.EOF
		}
		if err := r.ctx.Err(); err != nil {
			return 0, err
		}
		if r.fill(); r.err != nil {
			return 0, r.err
		}
	}
	n := copy(p, r.buf[r.off:])
	r.off += n
	return n, nil
}

func (r *copyReader) fill() {
	b := r.buf[:0]
	if r.i == 0 {
		b = append(b, "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	}
	for ; r.i < r.n && len(b) < chunk; r.i++ {
		r.rows.Row(r.table, r.i, &r.row)
		b = binary.BigEndian.AppendUint16(b, uint16(len(r.types)))
		types := r.types
		if len(types) > len(r.row.Values) {
			b = r.field(b, types[0], r.row.Key)
			types = types[1:]
		}
		for i, v := range r.row.Values {
			b = r.field(b, types[i], v)
		}
	}
	if r.err != nil {
		return
	}
	if r.i >= r.n {
		b = append(b, 0xff, 0xff)
		r.ended = true
	}
	r.buf, r.off = b, 0
}

// epoch is the start of PostgreSQL's time, 2000-01-01, in microseconds since 1970.
const epoch = 946_684_800_000_000

// field appends a value in the binary form of its type.
func (r *copyReader) field(b []byte, typ driver.Type, v []byte) []byte {
	if v == nil {
		return append(b, 0xff, 0xff, 0xff, 0xff) // length -1: NULL
	}
	bits := 0
	switch typ {
	case driver.Int:
		bits = 32
	case driver.BigInt:
		bits = 64
	case driver.Timestamp:
		at, err := time.Parse("2006-01-02 15:04:05", string(v))
		if err != nil {
			r.err = fmt.Errorf("row %d: %w", r.i, err)
		}
		return binary.BigEndian.AppendUint64(append(b, 0, 0, 0, 8), uint64(at.UnixMicro()-epoch)) // microseconds since 2000
	}
	if bits == 0 {
		return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
	}
	n, err := strconv.ParseInt(string(v), 10, bits)
	if err != nil {
		r.err = fmt.Errorf("row %d: %w", r.i, err)
	}
	if bits == 32 {
		return binary.BigEndian.AppendUint32(append(b, 0, 0, 0, 4), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, 0, 0, 0, 8), uint64(n))
}

func (s *system) Drop(ctx context.Context, w *driver.Workload) error {
	return s.with(ctx, func(c *pgconn.PgConn) error {
		for _, t := range w.Tables {
			if err := foreign(ctx, c, t.Name); err != nil {
				return err
			}
			if err := runSQL(ctx, c, "DROP TABLE IF EXISTS "+quote(t.Name)); err != nil {
				return err
			}
		}
		return nil
	})
}
