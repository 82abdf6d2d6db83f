package cassandra

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// tableState says whether a table of that name is found, and of which dataset it is ("": not sextant's).
func (s *system) tableState(ctx context.Context, name string) (exists bool, fingerprint string, err error) {
	var comment string
	err = s.session().Query("SELECT comment FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?", s.keyspace, name).ScanContext(ctx, &comment)
	if errors.Is(err, gocql.ErrNotFound) {
		return false, "", nil
	}
	if err != nil {
		return false, "", wrap(err)
	}
	return true, driver.MarkedFingerprint(comment), nil
}

func (s *system) Inspect(ctx context.Context, w *driver.Workload) (driver.DatasetState, error) {
	return driver.InspectTables(w, func(t *driver.Table) (exists bool, fingerprint string, rows int64, err error) {
		if exists, fingerprint, err = s.tableState(ctx, t.Name); err != nil {
			return exists, fingerprint, 0, fmt.Errorf("looking at the dataset: %w", err)
		}
		if fingerprint == "" { // what others made isn't counted: it may be large, and has other keys
			return exists, fingerprint, 0, nil
		}
		if rows, err = s.count(ctx, t); err != nil {
			err = fmt.Errorf("counting the rows of %s: %w", t.Name, err)
		}
		return exists, fingerprint, rows, err
	})
}

// pieces is into how many ranges of tokens a count is cut, so that none of them takes longer than the server allows.
const pieces = 64

// count adds up the rows of all ranges of tokens, as a quorum has them.
func (s *system) count(ctx context.Context, t *driver.Table) (int64, error) {
	what, key := "count(*)", quote(t.Key)
	if t.Definition != "" {
		var names []string
		for _, n := range t.Partition {
			names = append(names, quote(n))
		}
		key = strings.Join(names, ", ")
		what = "DISTINCT " + key
	}
	cql := fmt.Sprintf("SELECT %s FROM %s.%s WHERE token(%s) >= ? AND token(%s) <= ?", what, s.keyspace, quote(t.Name), key, key)
	var mu sync.Mutex
	var sum int64
	err := parallel(ctx, 8, pieces, func(ctx context.Context, i int64) error {
		const width = math.MaxUint64/pieces + 1
		from := math.MinInt64 + int64(uint64(i)*width) // wraps as tokens do
		to := from + int64(width-1)
		var n int64
		q := s.session().Query(cql, from, to).Consistency(gocql.Quorum)
		var err error
		if t.Definition == "" {
			err = q.ScanContext(ctx, &n)
		} else {
			n, err = countRows(ctx, q, len(t.Partition))
		}
		if err != nil {
			return wrap(err)
		}
		mu.Lock()
		sum += n
		mu.Unlock()
		return nil
	})
	return sum, err
}

// countRows counts what a query gives, page by page: Cassandra itself counts no partitions.
func countRows(ctx context.Context, q *gocql.Query, columns int) (n int64, err error) {
	dest := make([]any, columns)
	for i := range dest {
		dest[i] = new(raw)
	}
	it := q.IterContext(ctx)
	for it.Scan(dest...) {
		n++
	}
	return n, it.Close()
}

// parallel calls fn for 0 to n-1 from several goroutines, until one fails.
func parallel(ctx context.Context, workers int, n int64, fn func(ctx context.Context, i int64) error) error {
	return driver.Parallel(ctx, workers, n, func(ctx context.Context, next func() (int64, bool)) error {
		for i, ok := next(); ok; i, ok = next() {
			if err := fn(ctx, i); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *system) foreign(ctx context.Context, name string) error {
	exists, fp, err := s.tableState(ctx, name)
	if err != nil {
		return err
	}
	return driver.Foreign("table", name, exists, fp, "rename it, or name another keyspace")
}

func (s *system) ddl(ctx context.Context, format string, a ...any) error {
	return wrap(s.session().Query(fmt.Sprintf(format, a...)).ExecContext(ctx))
}

// loaders is how many rows are on their way at the same time.
const loaders = 128

// Load makes the tables and writes their rows to every replica.
func (s *system) Load(ctx context.Context, w *driver.Workload, fingerprint string, rows driver.RowSource) error {
	if err := s.ensureKeyspace(ctx); err != nil {
		return err
	}
	for _, t := range w.Tables {
		if err := s.foreign(ctx, t.Name); err != nil {
			return err
		}
	}
	for i, t := range w.Tables {
		var err error
		if t.Definition != "" {
			err = s.fillTable(ctx, w, i, rows)
		} else {
			err = s.loadTable(ctx, i, t, rows)
		}
		if err != nil {
			return fmt.Errorf("loading %s: %w", t.Name, err)
		}
	}
	for _, t := range w.Tables {
		if err := s.ddl(ctx, "ALTER TABLE %s.%s WITH comment = '%s%s'", s.keyspace, quote(t.Name), driver.Marker, fingerprint); err != nil {
			return fmt.Errorf("loading: %w", err)
		}
	}
	return nil
}

func (s *system) loadTable(ctx context.Context, index int, t driver.Table, rows driver.RowSource) error {
	if t.Key == "" || t.KeyType != driver.Text && t.KeyType != driver.Blob {
		return &driver.Error{Class: driver.Other, Err: errors.New("Cassandra's tables of sextant have a key of text or bytes")}
	}
	table := s.keyspace + "." + quote(t.Name)
	if err := s.ddl(ctx, "DROP TABLE IF EXISTS %s", table); err != nil {
		return err
	}
	var defs, names []string
	for _, f := range t.Fields {
		defs, names = append(defs, quote(f.Name)+" "+typeName(f.Type)), append(names, quote(f.Name))
	}
	with := fmt.Sprintf("comment = '%s%s'", driver.Marker, driver.Unfinished)
	if t.Uncompressed {
		with += " AND compression = {'enabled': 'false'}"
	}
	if err := s.ddl(ctx, "CREATE TABLE %s (%s %s PRIMARY KEY, %s) WITH %s", table, quote(t.Key), typeName(t.KeyType), strings.Join(defs, ", "), with); err != nil {
		return err
	}
	for _, f := range t.Indexes { // before there are rows: later ones would be indexed in the background
		if err := s.ddl(ctx, "CREATE INDEX ON %s (%s)", table, quote(f)); err != nil {
			return err
		}
	}
	cql := fmt.Sprintf("INSERT INTO %s (%s, %s) VALUES (?%s)", table, strings.Join(names, ", "), quote(t.Key), strings.Repeat(", ?", len(names)))
	counters := t.Fields[0].Type == driver.CounterColumn
	if counters { // they can't be inserted, and begin at 0
		cql = fmt.Sprintf("UPDATE %s SET %s WHERE %s = ?", table, strings.Join(sets(names, "%[1]s = %[1]s + ?"), ", "), quote(t.Key))
	}
	buffers := sync.Pool{New: func() any { return new(loadBuffer) }}
	return parallel(ctx, loaders, rows.Rows(index), func(ctx context.Context, i int64) error {
		b := buffers.Get().(*loadBuffer)
		defer buffers.Put(b)
		rows.Row(index, i, &b.row)
		b.args = b.args[:0]
		for _, v := range b.row.Values {
			if !counters {
				b.args = append(b.args, v)
				continue
			}
			n, err := strconv.ParseInt(string(v), 10, 64)
			if err != nil {
				return fmt.Errorf("row %d: %w", i, err)
			}
			b.args = append(b.args, n)
		}
		b.args = append(b.args, b.row.Key)
		if err := s.session().Query(cql, b.args...).Consistency(gocql.All).ExecContext(ctx); err != nil {
			return fmt.Errorf("row %d: %w", i, wrap(err))
		}
		return nil
	})
}

// options and commented find the options behind the columns of a definition, and a comment among them.
var (
	options   = regexp.MustCompile(`(?is)\)\s*WITH\s`)
	commented = regexp.MustCompile(`(?is)\)\s*WITH\s.*\bcomment\s*=`)
)

// fillTable makes a table by its own definition, and has its partitions written at every replica.
func (s *system) fillTable(ctx context.Context, w *driver.Workload, index int, rows driver.RowSource) error {
	t := &w.Tables[index]
	table := s.keyspace + "." + quote(t.Name)
	mark := fmt.Sprintf("comment = '%s%s'", driver.Marker, driver.Unfinished)
	create := "CREATE TABLE " + table + " " + t.Definition
	steps := []string{"DROP TABLE IF EXISTS " + table}
	switch { // at once, so that a table of a load that was killed is known to be sextant's
	case commented.MatchString(t.Definition):
		steps = append(steps, create, "ALTER TABLE "+table+" WITH "+mark)
	case options.MatchString(t.Definition):
		steps = append(steps, create+" AND "+mark)
	default:
		steps = append(steps, create+" WITH "+mark)
	}
	for _, cql := range append(steps, t.After...) {
		if err := s.ddl(ctx, "%s", cql); err != nil {
			return err
		}
	}
	f, ok := rows.(driver.Filler)
	if !ok {
		return errors.New("nothing fills a table that is defined by a statement")
	}
	return driver.Parallel(ctx, fillers, rows.Rows(index), func(ctx context.Context, next func() (int64, bool)) error {
		x, err := s.Session(ctx, spec.Level{Settings: []spec.Setting{{Name: "consistency", Value: "all"}}})
		if err != nil {
			return err
		}
		if err := x.Prepare(ctx, w); err != nil {
			return err
		}
		write := f.Fill(x)
		for i, ok := next(); ok; i, ok = next() {
			if err := write(ctx, index, i); err != nil {
				return fmt.Errorf("partition %d: %w", i, err)
			}
		}
		return nil
	})
}

// fillers is how many partitions are written at the same time.
const fillers = 32

// typeName is the type of a column. Fields of numbers and times are kept as text, as on the other systems whose records have no types.
func typeName(t driver.Type) string {
	switch t {
	case driver.Blob:
		return "blob"
	case driver.CounterColumn:
		return "counter"
	}
	return "text"
}

// sets puts each name into a form.
func sets(names []string, form string) []string {
	var out []string
	for _, n := range names {
		out = append(out, fmt.Sprintf(form, n))
	}
	return out
}

// Trim empties the volatile tables.
func (s *system) Trim(ctx context.Context, w *driver.Workload) error {
	for _, t := range w.Tables {
		if !t.Volatile {
			continue
		}
		if err := s.ddl(ctx, "TRUNCATE %s.%s", s.keyspace, quote(t.Name)); err != nil {
			return fmt.Errorf("emptying %s: %w", t.Name, err)
		}
	}
	return nil
}

type loadBuffer struct {
	row  driver.Row
	args []any
}

func (s *system) Drop(ctx context.Context, w *driver.Workload) error {
	for _, t := range w.Tables {
		if err := s.foreign(ctx, t.Name); err != nil {
			return err
		}
		if err := s.ddl(ctx, "DROP TABLE IF EXISTS %s.%s", s.keyspace, quote(t.Name)); err != nil {
			return err
		}
	}
	return nil
}
