package cassandra

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"sextant/interp/driver"
)

// statement is one of the CQL statements of a workload.
type statement struct {
	q       *gocql.Query
	text    string
	begin   *gocql.BatchType      // what begins a batch
	apply   bool                  // the batch is sent
	columns []driver.ResultColumn // as the last rows had them
}

// batches are the statements that begin a batch: what is run behind them is sent as one request by APPLY BATCH.
var batches = map[string]gocql.BatchType{"BEGIN BATCH": gocql.LoggedBatch, "BEGIN UNLOGGED BATCH": gocql.UnloggedBatch, "BEGIN COUNTER BATCH": gocql.CounterBatch}

// Add takes a statement; gocql has it prepared by the nodes when it is first sent there. What begins with SELECT has the level of reads.
func (s *session) Add(_ context.Context, st driver.Statement) (int, error) {
	text := st.Text(func(int) string { return "?" })
	if st.Control() != driver.NoControl {
		return 0, &driver.Error{Class: driver.Other, Err: errors.New("Cassandra has no transactions of several statements")}
	}
	words := strings.Join(strings.Fields(strings.ToUpper(strings.TrimRight(text, "; "))), " ")
	if kind, ok := batches[words]; ok {
		s.statements = append(s.statements, &statement{begin: &kind})
		return len(s.statements) - 1, nil
	}
	if words == "APPLY BATCH" {
		s.statements = append(s.statements, &statement{apply: true})
		return len(s.statements) - 1, nil
	}
	level := s.write
	if strings.HasPrefix(words, "SELECT") {
		level = s.read
	}
	s.statements = append(s.statements, &statement{text: text, q: s.c.Query(text).Consistency(level).SerialConsistency(s.serial)})
	return len(s.statements) - 1, nil
}

// InTransaction says whether a batch is begun and not sent.
func (s *session) InTransaction() bool { return s.batch != nil }

// Rollback drops the batch.
func (s *session) Rollback(context.Context) error { s.batch = nil; return nil }

// batched begins, fills or sends a batch; ok says that the statement is done by that. What a batch gets is not looked at until it is sent.
func (s *session) batched(ctx context.Context, st *statement, res *driver.Result) (ok bool, err error) {
	wrong := func(text string) (bool, error) {
		s.batch = nil
		return true, &driver.Error{Class: driver.Other, Code: "batch", Err: errors.New(text)}
	}
	switch {
	case st.begin != nil && s.batch != nil:
		return wrong("a batch is begun within a batch")
	case st.begin != nil:
		s.batch = s.c.Batch(*st.begin).Consistency(s.write).SerialConsistency(s.serial)
		return true, nil
	case st.apply && s.batch == nil:
		return wrong("there is no batch to apply")
	case st.apply:
		b := s.batch
		s.batch = nil
		if err := b.ExecContext(ctx); err != nil {
			return true, wrap(err)
		}
		res.Rows = int64(len(b.Entries))
		return true, nil
	case s.batch == nil:
		return false, nil
	}
	s.batch.Query(st.text, append([]any{}, s.args...)...)
	return true, nil
}

// Run runs a statement. A write counts as one row: Cassandra doesn't say what was there.
func (s *session) Run(ctx context.Context, n int, args []driver.Arg, res *driver.Result) error {
	st := s.statements[n]
	s.args = s.args[:0]
	for i := range args {
		switch a := &args[i]; a.Kind {
		case driver.IntArg:
			s.args = append(s.args, a.Int)
		case driver.FloatArg:
			s.args = append(s.args, floating(a.Float))
		case driver.BoolArg:
			s.args = append(s.args, a.Int != 0)
		case driver.TextArg:
			s.args = append(s.args, raw(a.Text))
		default:
			s.args = append(s.args, nil)
		}
	}
	res.Reset()
	if ok, err := s.batched(ctx, st, res); ok {
		return err
	}
	it := st.q.Bind(s.args...).IterContext(ctx)
	cols := it.Columns()
	if len(cols) == 0 {
		res.Rows = 1
		return wrap(it.Close())
	}
	st.describe(cols)
	s.room(len(cols))
	for it.Scan(s.rawDest[:len(cols)]...) {
		res.Rows++
		for i := range cols {
			res.Bytes += int64(len(s.raw[i]))
			if res.Keep {
				v, err := text(s.raw[i], st.columns[i].Kind)
				if err != nil {
					return errors.Join(err, it.Close())
				}
				res.Values = append(res.Values, v)
			}
		}
	}
	if res.Keep {
		res.Columns = st.columns
	}
	return wrap(it.Close())
}

func (st *statement) describe(cols []gocql.ColumnInfo) {
	if len(st.columns) == len(cols) {
		return
	}
	st.columns = nil
	for _, c := range cols {
		kind := driver.TextArg
		switch c.TypeInfo.Type() {
		case gocql.TypeInt, gocql.TypeSmallInt, gocql.TypeTinyInt, gocql.TypeBigInt, gocql.TypeCounter, gocql.TypeTimestamp:
			kind = driver.IntArg
		case gocql.TypeFloat, gocql.TypeDouble:
			kind = driver.FloatArg
		case gocql.TypeBoolean:
			kind = driver.BoolArg
		}
		st.columns = append(st.columns, driver.ResultColumn{Name: c.Name, Kind: kind})
	}
}

// floating is a number for a column of either size; the library takes each Go type for one of them alone.
type floating float64

// MarshalCQL writes the number in the column's size.
func (f floating) MarshalCQL(info gocql.TypeInfo) ([]byte, error) {
	if info.Type() == gocql.TypeFloat {
		return binary.BigEndian.AppendUint32(nil, math.Float32bits(float32(f))), nil
	}
	if info.Type() == gocql.TypeDouble {
		return binary.BigEndian.AppendUint64(nil, math.Float64bits(float64(f))), nil
	}
	return nil, fmt.Errorf("the number %v is for a column of type %v", float64(f), info.Type())
}

// raw is a value as it came, of any type; its memory is the connection's until the next row.
type raw []byte

// MarshalCQL sends the bytes.
func (r raw) MarshalCQL(gocql.TypeInfo) ([]byte, error) { return r, nil }

// UnmarshalCQL keeps the bytes.
func (r *raw) UnmarshalCQL(_ gocql.TypeInfo, data []byte) error { *r = data; return nil }

// room makes sure that rows of n columns can be read.
func (s *session) room(n int) {
	if n <= len(s.raw) {
		return
	}
	s.raw, s.rawDest = make([]raw, n), nil
	for i := range s.raw {
		s.rawDest = append(s.rawDest, &s.raw[i])
	}
}

// text is a value in text form: numbers as numbers, all else as it came. A null is nil.
func text(v raw, kind driver.ArgKind) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	a := driver.Arg{Kind: kind}
	switch kind {
	case driver.IntArg:
		switch len(v) {
		case 8:
			a.Int = int64(binary.BigEndian.Uint64(v))
		case 4:
			a.Int = int64(int32(binary.BigEndian.Uint32(v)))
		case 2:
			a.Int = int64(int16(binary.BigEndian.Uint16(v)))
		case 1:
			a.Int = int64(int8(v[0]))
		default:
			return nil, fmt.Errorf("a number of %d bytes came from the server", len(v))
		}
	case driver.FloatArg:
		if len(v) == 8 {
			a.Float = math.Float64frombits(binary.BigEndian.Uint64(v))
		} else if len(v) == 4 {
			a.Float = float64(math.Float32frombits(binary.BigEndian.Uint32(v)))
		}
	case driver.BoolArg:
		a.Int = int64(v[0])
	default:
		return append([]byte{}, v...), nil
	}
	return a.AppendText(nil), nil
}
