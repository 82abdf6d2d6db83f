package sqlite

import (
	"errors"
	"strings"

	"modernc.org/libc"
	msqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"sextant/interp/driver"
)

// fail is the error of a result code, with the connection's message.
func (d *db) fail(rc int32) error {
	msg := ""
	if d.h != 0 && sqlite3.Xsqlite3_errcode(d.tls, d.h)&0xff == rc&0xff {
		msg = libc.GoString(sqlite3.Xsqlite3_errmsg(d.tls, d.h))
	}
	err := newError(rc, msg)
	if rc == sqlite3.SQLITE_BUSY && !d.waited {
		// SQLite doesn't wait where that could never end: two transactions that have read and now want to write.
		err.Class, err.Hint = driver.Conflict, "a transaction that has read can't begin to write while another one does; begin it with BEGIN IMMEDIATE, or retry"
	}
	d.waited = false
	return err
}

func newError(rc int32, msg string) *driver.Error {
	e := &driver.Error{Class: classOf(rc), Code: codeName(rc)}
	if msg == "" {
		msg, _, _ = strings.Cut(msqlite.ErrorCodeString[int(rc&0xff)], " (")
	}
	if msg == "" {
		msg = e.Code
	}
	e.Err = errors.New(msg)
	switch rc & 0xff {
	case sqlite3.SQLITE_CANTOPEN:
		e.Hint = "is the folder there, and may it be written to?"
	case sqlite3.SQLITE_NOTADB:
		e.Hint = "the file is no SQLite database; it was not touched"
	}
	return e
}

// codeName is SQLite's name of a result code; of an extended one that has no name here, that of its primary code.
func codeName(rc int32) string {
	extended := map[int32]string{sqlite3.SQLITE_BUSY_SNAPSHOT: "SQLITE_BUSY_SNAPSHOT", sqlite3.SQLITE_BUSY_RECOVERY: "SQLITE_BUSY_RECOVERY",
		sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY: "SQLITE_CONSTRAINT_PRIMARYKEY", sqlite3.SQLITE_CONSTRAINT_UNIQUE: "SQLITE_CONSTRAINT_UNIQUE",
		sqlite3.SQLITE_IOERR_FSYNC: "SQLITE_IOERR_FSYNC", sqlite3.SQLITE_IOERR_WRITE: "SQLITE_IOERR_WRITE"}
	if n := extended[rc]; n != "" {
		return n
	}
	text := msqlite.ErrorCodeString[int(rc&0xff)]
	if i := strings.LastIndexByte(text, '('); i >= 0 {
		return strings.TrimSuffix(text[i+1:], ")")
	}
	return "SQLITE_ERROR"
}

func classOf(rc int32) driver.Class {
	if rc == sqlite3.SQLITE_BUSY_SNAPSHOT {
		return driver.Conflict // another one has written since this transaction began to read
	}
	switch rc & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT:
		return driver.Timeout
	case sqlite3.SQLITE_CONSTRAINT:
		return driver.Constraint
	case sqlite3.SQLITE_FULL:
		return driver.Overload
	case sqlite3.SQLITE_NOMEM:
		return driver.ClientResource
	case sqlite3.SQLITE_READONLY:
		return driver.Unavailable
	case sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return driver.Auth
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTFOUND:
		return driver.NotFound
	}
	return driver.Other
}
