package mysql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	mysqldriver "github.com/go-sql-driver/mysql"

	"sextant/interp/driver"
)

// infile is about how many bytes one LOAD DATA has: a statement is one transaction.
const infile = 32 << 20

// feeds numbers what the library reads from.
var feeds atomic.Int64

// loadSpan writes a part of a table by LOAD DATA. With LOCAL the server makes warnings of what would be errors: one is the end of the load.
func loadSpan(ctx context.Context, c *conn, t *driver.Table, part span, rows driver.RowSource) error {
	f := &feed{ctx: ctx, t: t, part: part, rows: rows}
	name := fmt.Sprintf("sextant%d", feeds.Add(1))
	mysqldriver.RegisterReaderHandler(name, func() io.Reader { return f })
	defer mysqldriver.DeregisterReaderHandler(name)
	text := fmt.Sprintf("LOAD DATA LOCAL INFILE 'Reader::%s' INTO TABLE %s CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' (%s)", name, quote(t.Name), columnNames(t))
	for f.part.from < f.part.to {
		f.left = infile
		if _, err := c.exec(ctx, text); err != nil {
			return fmt.Errorf("rows of %s up to %d: %w", t.Name, f.part.from, err)
		}
		_, warnings, err := c.query(ctx, "SHOW WARNINGS LIMIT 1")
		if err != nil {
			return err
		}
		if len(warnings) > 0 {
			return &driver.Error{Class: driver.Constraint, Code: fmt.Sprint(warnings[0][1]), Err: fmt.Errorf("rows of %s up to %d: %v", t.Name, f.part.from, warnings[0][2])}
		}
	}
	return nil
}

// columnNames is the list of a table's columns.
func columnNames(t *driver.Table) string {
	var names []string
	if t.Key != "" {
		names = append(names, quote(t.Key))
	}
	for _, f := range t.Fields {
		names = append(names, quote(f.Name))
	}
	return strings.Join(names, ", ")
}

// A feed is the text that LOAD DATA reads: rows from part.from on, until left bytes are used up.
type feed struct {
	ctx  context.Context //nolint:containedctx // a Reader takes none
	t    *driver.Table
	part span
	rows driver.RowSource
	row  driver.Row
	left int
	b    []byte
	at   int // of b that is read
}

func (f *feed) Read(p []byte) (int, error) {
	if f.at == len(f.b) {
		if f.part.from == f.part.to || f.left <= 0 {
			return 0, io.EOF
		}
		if err := context.Cause(f.ctx); err != nil {
			return 0, errors.Join(errors.New("the load was ended"), err)
		}
		f.more()
	}
	n := copy(p, f.b[f.at:])
	f.at += n
	return n, nil
}

// more makes the text of some more rows.
func (f *feed) more() {
	f.b, f.at = f.b[:0], 0
	for ; f.part.from < f.part.to && len(f.b) < 64<<10; f.part.from++ {
		f.rows.Row(f.part.table, f.part.from, &f.row)
		if f.t.Key != "" {
			f.b = append(escaped(f.b, f.row.Key), '\t')
		}
		for _, v := range f.row.Values {
			f.b = append(escaped(f.b, v), '\t')
		}
		f.b[len(f.b)-1] = '\n'
	}
	f.left -= len(f.b)
}

// escaped appends a value; nil is NULL.
func escaped(b, v []byte) []byte {
	if v == nil {
		return append(b, '\\', 'N')
	}
	for _, c := range v {
		switch c {
		case '\\', '\t', '\n':
			b = append(b, '\\')
		case 0:
			b, c = append(b, '\\'), '0'
		}
		b = append(b, c)
	}
	return b
}
