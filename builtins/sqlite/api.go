package sqlite

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// db is one connection. It is used by one goroutine at a time, but for interrupt.
type db struct {
	tls     *libc.TLS
	h       uintptr
	timeout time.Duration // how long a lock is waited for
	cut     atomic.Bool   // the call in progress is to end
	waited  bool          // the busy handler has given up since the last error
}

// handles finds the db of a handle for the busy handler, which gets only a number.
var handles sync.Map // uintptr -> *db

func open(path string, create bool, timeout time.Duration) (*db, error) {
	d := &db{tls: libc.NewTLS(), timeout: timeout}
	flags := int32(sqlite3.SQLITE_OPEN_READWRITE | sqlite3.SQLITE_OPEN_NOMUTEX)
	if create {
		flags |= sqlite3.SQLITE_OPEN_CREATE
	}
	name, err := libc.CString(path)
	if err != nil {
		d.tls.Close()
		return nil, err
	}
	defer libc.Xfree(d.tls, name)
	out := d.tls.Alloc(int(unsafe.Sizeof(uintptr(0))))
	defer d.tls.Free(int(unsafe.Sizeof(uintptr(0))))
	rc := sqlite3.Xsqlite3_open_v2(d.tls, name, out, flags, 0)
	d.h = *(*uintptr)(pointer(out))
	if rc != sqlite3.SQLITE_OK {
		err := d.fail(rc)
		sqlite3.Xsqlite3_close_v2(d.tls, d.h)
		d.tls.Close()
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	sqlite3.Xsqlite3_extended_result_codes(d.tls, d.h, 1)
	handles.Store(d.h, d)
	sqlite3.Xsqlite3_busy_handler(d.tls, d.h, busyPointer(), d.h)
	return d, nil
}

func (d *db) close() error {
	handles.Delete(d.h)
	rc := sqlite3.Xsqlite3_close_v2(d.tls, d.h)
	d.tls.Close()
	if rc != sqlite3.SQLITE_OK {
		return newError(rc, "closing the database")
	}
	return nil
}

// pointer turns an address of C memory, which the garbage collector doesn't move, into a pointer.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// busyPointer is the busy handler as C calls it.
func busyPointer() uintptr {
	f := busy
	return **(**uintptr)(unsafe.Pointer(&struct{ p unsafe.Pointer }{unsafe.Pointer(&f)}))
}

// busy waits for a lock as SQLite's own handler does (sqliteDefaultBusyCallback: the same pauses), but gives up when the
// call is interrupted.
func busy(_ *libc.TLS, h uintptr, count int32) int32 {
	v, ok := handles.Load(h)
	if !ok {
		return 0
	}
	d := v.(*db) // only dbs are stored
	pauses := [...]int{1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100}
	prior := 0
	for i := range min(int(count), len(pauses)) {
		prior += pauses[i]
	}
	prior += 100 * max(int(count)-len(pauses), 0)
	left := d.timeout - time.Duration(prior)*time.Millisecond
	if left > 0 && !d.cut.Load() {
		time.Sleep(min(time.Duration(pauses[min(int(count), len(pauses)-1)])*time.Millisecond, left))
		if !d.cut.Load() {
			return 1
		}
	}
	d.waited = true
	return 0
}

// interrupt ends the call in progress, from any goroutine.
func (d *db) interrupt() {
	d.cut.Store(true)
	tls := libc.NewTLS()
	sqlite3.Xsqlite3_interrupt(tls, d.h)
	tls.Close()
}

// exec runs one or several statements without results.
func (d *db) exec(sql string) error {
	z, err := libc.CString(sql)
	if err != nil {
		return err
	}
	defer libc.Xfree(d.tls, z)
	if rc := sqlite3.Xsqlite3_exec(d.tls, d.h, z, 0, 0, 0); rc != sqlite3.SQLITE_OK {
		return d.fail(rc)
	}
	return nil
}

// stmt is a prepared statement with memory for its text arguments.
type stmt struct {
	d    *db
	h    uintptr
	buf  uintptr // C memory, in which the bound texts lie until the next reset
	size int
	used int
}

// prepare compiles a statement whose text arguments need up to size bytes.
func (d *db) prepare(sql string, size int) (*stmt, error) {
	z, err := libc.CString(sql)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(d.tls, z)
	out := d.tls.Alloc(int(unsafe.Sizeof(uintptr(0))))
	defer d.tls.Free(int(unsafe.Sizeof(uintptr(0))))
	if rc := sqlite3.Xsqlite3_prepare_v2(d.tls, d.h, z, -1, out, 0); rc != sqlite3.SQLITE_OK {
		return nil, d.fail(rc)
	}
	s := &stmt{d: d, h: *(*uintptr)(pointer(out))}
	if s.h == 0 {
		return nil, newError(sqlite3.SQLITE_MISUSE, "the statement is empty")
	}
	return s, s.grow(size)
}

func (s *stmt) grow(size int) error {
	if size <= s.size {
		return nil
	}
	p := libc.Xmalloc(s.d.tls, libc.Tsize_t(size))
	if p == 0 {
		return newError(sqlite3.SQLITE_NOMEM, fmt.Sprintf("getting %d bytes for arguments", size))
	}
	libc.Xfree(s.d.tls, s.buf)
	s.buf, s.size = p, size
	return nil
}

func (s *stmt) finalize() {
	sqlite3.Xsqlite3_finalize(s.d.tls, s.h)
	libc.Xfree(s.d.tls, s.buf)
}

// reset makes the statement ready to be bound and run again. The result of the last run was told by step.
func (s *stmt) reset() {
	sqlite3.Xsqlite3_reset(s.d.tls, s.h)
	s.used = 0
}

// text binds a text. All texts of a run must fit into the size given to prepare.
func (s *stmt) text(i int, b []byte) error {
	if s.used+len(b) > s.size {
		return newError(sqlite3.SQLITE_TOOBIG, fmt.Sprintf("arguments of %d bytes: at most %d were expected", s.used+len(b), s.size))
	}
	p := s.buf + uintptr(s.used)
	copy(unsafe.Slice((*byte)(pointer(s.buf)), s.size)[s.used:], b)
	s.used += len(b)
	if rc := sqlite3.Xsqlite3_bind_text(s.d.tls, s.h, int32(i), p, int32(len(b)), 0); rc != sqlite3.SQLITE_OK {
		return s.d.fail(rc)
	}
	return nil
}

func (s *stmt) integer(i int, n int64) error {
	if rc := sqlite3.Xsqlite3_bind_int64(s.d.tls, s.h, int32(i), n); rc != sqlite3.SQLITE_OK {
		return s.d.fail(rc)
	}
	return nil
}

func (s *stmt) float(i int, f float64) error {
	if rc := sqlite3.Xsqlite3_bind_double(s.d.tls, s.h, int32(i), f); rc != sqlite3.SQLITE_OK {
		return s.d.fail(rc)
	}
	return nil
}

// step runs to the next row; false at the end.
func (s *stmt) step() (bool, error) {
	switch rc := sqlite3.Xsqlite3_step(s.d.tls, s.h); rc {
	case sqlite3.SQLITE_ROW:
		return true, nil
	case sqlite3.SQLITE_DONE:
		return false, nil
	default:
		return false, s.d.fail(rc)
	}
}

// appendColumn appends the bytes of a column to b.
func (s *stmt) appendColumn(b []byte, i int) []byte {
	p := sqlite3.Xsqlite3_column_blob(s.d.tls, s.h, int32(i))
	n := sqlite3.Xsqlite3_column_bytes(s.d.tls, s.h, int32(i))
	if p == 0 || n == 0 {
		return b
	}
	return append(b, unsafe.Slice((*byte)(pointer(p)), n)...)
}

func (s *stmt) columns() int { return int(sqlite3.Xsqlite3_column_count(s.d.tls, s.h)) }

func (s *stmt) name(i int) string {
	return libc.GoString(sqlite3.Xsqlite3_column_name(s.d.tls, s.h, int32(i)))
}

// value is a column as nil, int64, float64 or string.
func (s *stmt) value(i int) any {
	switch sqlite3.Xsqlite3_column_type(s.d.tls, s.h, int32(i)) {
	case sqlite3.SQLITE_NULL:
		return nil
	case sqlite3.SQLITE_INTEGER:
		return sqlite3.Xsqlite3_column_int64(s.d.tls, s.h, int32(i))
	case sqlite3.SQLITE_FLOAT:
		return sqlite3.Xsqlite3_column_double(s.d.tls, s.h, int32(i))
	}
	return string(s.appendColumn(nil, i))
}

func (d *db) changes() int64 { return sqlite3.Xsqlite3_changes64(d.tls, d.h) }

// query runs a statement with arguments of nil, bool, int64, float64 or string, and calls fn for each row.
func (d *db) query(sql string, args []any, fn func(*stmt) error) (err error) {
	size := 0
	for _, a := range args {
		if s, ok := a.(string); ok {
			size += len(s)
		}
	}
	s, err := d.prepare(sql, size)
	if err != nil {
		return err
	}
	defer s.finalize()
	for i, a := range args {
		if err := s.bind(i+1, a); err != nil {
			return err
		}
	}
	for {
		more, err := s.step()
		if err != nil || !more {
			return err
		}
		if fn != nil {
			if err := fn(s); err != nil {
				return err
			}
		}
	}
}

func (s *stmt) bind(i int, a any) error {
	switch a := a.(type) {
	case nil:
		return nil // an unbound argument is NULL
	case bool:
		if a {
			return s.integer(i, 1)
		}
		return s.integer(i, 0)
	case int64:
		return s.integer(i, a)
	case float64:
		return s.float(i, a)
	case string:
		return s.text(i, []byte(a))
	}
	return newError(sqlite3.SQLITE_MISMATCH, fmt.Sprintf("argument %d of type %T", i, a))
}

// one is the first column of the first row.
func (d *db) one(sql string, args ...any) (v any, err error) {
	err = d.query(sql, args, func(s *stmt) error { v = s.value(0); return nil })
	return v, err
}

// autocommit says that no transaction is open.
func (d *db) autocommit() bool { return sqlite3.Xsqlite3_get_autocommit(d.tls, d.h) != 0 }
