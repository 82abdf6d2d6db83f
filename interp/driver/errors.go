package driver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"sextant/interp/spec"
)

// A Class says what kind of failure an operation had, alike over all systems.
type Class string

// The classes. Every error that reaches a result table has one of them.
const (
	Timeout        Class = "timeout"         // the operation's own deadline, or a lock wait's
	Connection     Class = "connection"      // refused, reset, closed: the session is gone
	Conflict       Class = "conflict"        // serialization failure, deadlock: retrying may succeed
	Constraint     Class = "constraint"      // duplicate key, check, a table that isn't ours
	Unavailable    Class = "unavailable"     // too few replicas, starting up, shutting down, read-only
	Overload       Class = "overload"        // too many connections, out of memory or disk
	Auth           Class = "auth"            // password, privileges, TLS name
	NotFound       Class = "not_found"       // database, table or key that should be there
	ClientResource Class = "client_resource" // this machine ran out of ports, files, memory
	Other          Class = "other"
)

// NotInstalled is the code of a NotFound error about a throwaway server's program that this machine doesn't have.
const NotInstalled = "not installed"

// An Error is a classed failure. Code is the system's own code ("40001", "SQLITE_BUSY"); Err is what the client
// library said. Texts hold no secret.
type Error struct {
	Class Class
	Code  string
	Err   error
	// Hint says what to do, for errors that a person sees; may be empty.
	Hint string
}

func (e *Error) Error() string {
	s := string(e.Class)
	if e.Err != nil {
		s = e.Err.Error()
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap gives the client library's error.
func (e *Error) Unwrap() error { return e.Err }

// A LevelRefused says that a system can't give a level, and why. The trial is skipped with that reason.
type LevelRefused struct {
	Level  spec.Level
	Reason string
}

func (e *LevelRefused) Error() string { return fmt.Sprintf("level %s refused: %s", e.Level, e.Reason) }

// Classify gives class and code of any error: an *Error's own, else what the standard library's errors tell.
func Classify(err error) (Class, string) {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Class, e.Code
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return Timeout, ""
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return Auth, "certificate"
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return ClientResource, errnoName(err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, syscall.ECONNABORTED):
		return Connection, errnoName(err)
	}
	var ne net.Error
	if errors.As(err, &ne) {
		if ne.Timeout() {
			return Timeout, ""
		}
		return Connection, ""
	}
	return Other, ""
}

func errnoName(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return ""
}

// IsConnection says that the session is gone and a new one is needed.
func IsConnection(err error) bool { c, _ := Classify(err); return c == Connection }

// IsConflict says that the same operation may succeed when tried again.
func IsConflict(err error) bool { c, _ := Classify(err); return c == Conflict }
