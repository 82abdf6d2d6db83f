package result

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"

	"github.com/parquet-go/parquet-go"
)

// The commit log: a record is [length u32][CRC-32C u32][payload]. It is valid when it is whole and its checksum is
// right; the first that isn't ends the log (a crash tore it). The payload is the trial's id (empty for rows of the run
// itself), then for each table its index, the number of rows, and the rows' values.

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// A record is what one Commit wrote.
type record struct {
	trial string
	rows  [][]parquet.Row // by index of Schema.Tables
}

const maxRecord = 1 << 30 // a length above it is damage, not a record

const (
	tagNull = iota
	tagFalse
	tagTrue
	tagInt32
	tagInt64
	tagDouble
	tagBytes
)

func encode(b []byte, r *record) []byte {
	b = appendBytes(b, []byte(r.trial))
	for i, rows := range r.rows {
		if len(rows) == 0 {
			continue
		}
		b = binary.AppendUvarint(b, uint64(i))
		b = binary.AppendUvarint(b, uint64(len(rows)))
		for _, row := range rows {
			for _, v := range row {
				b = appendValue(b, v)
			}
		}
	}
	return b
}

func appendBytes(b, s []byte) []byte { return append(binary.AppendUvarint(b, uint64(len(s))), s...) }

func appendValue(b []byte, v parquet.Value) []byte {
	switch {
	case v.IsNull():
		return append(b, tagNull)
	case v.Kind() == parquet.Boolean && v.Boolean():
		return append(b, tagTrue)
	case v.Kind() == parquet.Boolean:
		return append(b, tagFalse)
	case v.Kind() == parquet.Int32:
		return binary.AppendVarint(append(b, tagInt32), int64(v.Int32()))
	case v.Kind() == parquet.Int64:
		return binary.AppendVarint(append(b, tagInt64), v.Int64())
	case v.Kind() == parquet.Double:
		return binary.LittleEndian.AppendUint64(append(b, tagDouble), math.Float64bits(v.Double()))
	}
	return appendBytes(append(b, tagBytes), v.ByteArray())
}

// errDamaged is a payload with a right checksum that doesn't decode: written by another schema.
var errDamaged = errors.New("the commit log does not fit this run's tables")

type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.bad = true
		return nil
	}
	s := d.b[:n]
	d.b = d.b[n:]
	return s
}

func (d *decoder) value() parquet.Value {
	tag := d.take(1)
	if d.bad {
		return parquet.NullValue()
	}
	switch tag[0] {
	case tagNull:
		return parquet.NullValue()
	case tagFalse:
		return parquet.BooleanValue(false)
	case tagTrue:
		return parquet.BooleanValue(true)
	case tagInt32:
		return parquet.Int32Value(int32(d.varint()))
	case tagInt64:
		return parquet.Int64Value(d.varint())
	case tagDouble:
		if s := d.take(8); !d.bad {
			return parquet.DoubleValue(math.Float64frombits(binary.LittleEndian.Uint64(s)))
		}
	case tagBytes:
		return parquet.ByteArrayValue(append([]byte{}, d.take(d.uvarint())...))
	}
	d.bad = true
	return parquet.NullValue()
}

// decode reads one payload against the schema.
func (s *Schema) decode(payload []byte) (*record, error) {
	d := &decoder{b: payload}
	r := &record{trial: string(d.take(d.uvarint())), rows: make([][]parquet.Row, len(s.Tables))}
	for !d.bad && len(d.b) > 0 {
		i := d.uvarint()
		n := d.uvarint()
		if d.bad || i >= uint64(len(s.Tables)) {
			return nil, errDamaged
		}
		leaves := s.Tables[i].optional()
		for ; n > 0 && !d.bad; n-- {
			row := make(parquet.Row, len(leaves))
			for c, optional := range leaves {
				v := d.value()
				def := 0
				if optional && !v.IsNull() {
					def = 1
				}
				row[c] = v.Level(0, def, c)
			}
			r.rows[i] = append(r.rows[i], row)
		}
	}
	if d.bad {
		return nil, errDamaged
	}
	return r, nil
}

// optional tells for each column whether it can be null.
func (t *Table) optional() []bool {
	fields := t.schema.Fields()
	out := make([]bool, len(fields))
	for i, f := range fields {
		out[i] = f.Optional()
	}
	return out
}

// readLog gives the valid records of a log file and the length of that valid part. A missing file is an empty log.
func (s *Schema) readLog(path string) (records []*record, valid int64, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading the commit log: %w", err)
	}
	for {
		rest := b[valid:]
		if len(rest) < 8 {
			return records, valid, nil
		}
		n := int64(binary.LittleEndian.Uint32(rest))
		if n > maxRecord || n > int64(len(rest)-8) || crc32.Checksum(rest[8:8+n], crcTable) != binary.LittleEndian.Uint32(rest[4:]) {
			return records, valid, nil
		}
		r, err := s.decode(rest[8 : 8+n])
		if err != nil {
			return nil, 0, fmt.Errorf("%s at byte %d: %w", path, valid, err)
		}
		records = append(records, r)
		valid += 8 + n
	}
}

// A wal is the log that commits go to.
type wal struct {
	f    *os.File
	size int64
	buf  []byte
}

func openWAL(path string, valid int64) (*wal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the commit log: %w", err)
	}
	if err := f.Truncate(valid); err != nil {
		return nil, errors.Join(fmt.Errorf("cutting the torn end off the commit log: %w", err), f.Close())
	}
	if _, err := f.Seek(valid, io.SeekStart); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the commit log: %w", err), f.Close())
	}
	return &wal{f: f, size: valid}, nil
}

// append writes and syncs one record. After an error the log is as it was before.
func (w *wal) append(r *record) error {
	b := append(w.buf[:0], 0, 0, 0, 0, 0, 0, 0, 0)
	b = encode(b, r)
	w.buf = b
	if len(b)-8 > maxRecord {
		return fmt.Errorf("a trial's rows take %d bytes, more than the commit log's limit of %d", len(b)-8, maxRecord)
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-8))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:], crcTable))
	_, err := w.f.Write(b)
	if err == nil {
		err = w.f.Sync()
	}
	if err != nil {
		_, serr := w.f.Seek(w.size, io.SeekStart)
		return errors.Join(fmt.Errorf("committing rows: %w", err), w.f.Truncate(w.size), serr)
	}
	w.size += int64(len(b))
	return nil
}
