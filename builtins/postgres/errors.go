package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"sextant/interp/driver"
)

// classOf gives the class of an SQLSTATE.
func classOf(state string) driver.Class {
	switch state {
	case "40001", "40P01":
		return driver.Conflict
	case "57014", "55P03", "01000", "25P03":
		return driver.Timeout
	case "42501":
		return driver.Auth
	case "3D000", "42P01", "3F000", "42704":
		return driver.NotFound
	case "25006", "57P01", "57P02", "57P03", "55000":
		return driver.Unavailable
	}
	switch {
	case strings.HasPrefix(state, "23"), state == "42P07":
		return driver.Constraint
	case strings.HasPrefix(state, "53"):
		return driver.Overload
	case strings.HasPrefix(state, "28"):
		return driver.Auth
	case strings.HasPrefix(state, "08"):
		return driver.Connection
	}
	return driver.Other
}

// stateError is the error of an SQLSTATE. A fatal one has ended the session, whatever its cause.
func stateError(severity, state, msg string) *driver.Error {
	e := &driver.Error{Class: classOf(state), Code: state, Err: errors.New(msg)}
	if severity == "FATAL" || severity == "PANIC" {
		e.Class = driver.Connection
	}
	return e
}

// wrap classes an error of pgconn. Its texts never hold the password.
func wrap(err error) error {
	var pe *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pe):
		e := &driver.Error{Class: classOf(pe.Code), Code: pe.Code, Err: errors.New(pe.Message)}
		if pe.Detail != "" {
			e.Err = fmt.Errorf("%s: %s", pe.Message, pe.Detail)
		}
		return e
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		return &driver.Error{Class: driver.Timeout, Err: err}
	}
	if class, code := driver.Classify(err); class != driver.Other {
		return &driver.Error{Class: class, Code: code, Err: err}
	}
	var ce *pgconn.ConnectError
	if errors.As(err, &ce) {
		return &driver.Error{Class: driver.Connection, Err: err}
	}
	return &driver.Error{Class: driver.Other, Err: err}
}

// connectError adds what to do to the error of the first connection.
func connectError(c *pgconn.Config, err error) error {
	where := fmt.Sprintf("PostgreSQL at %s:%d", c.Host, c.Port)
	e, ok := wrap(err).(*driver.Error)
	if !ok {
		return fmt.Errorf("connecting to %s: %w", where, err)
	}
	switch {
	case e.Code == "3D000":
		e.Hint = fmt.Sprintf("create it: createdb %s", c.Database)
	case e.Class == driver.Auth:
		e.Hint = fmt.Sprintf("check user %q, its password and pg_hba.conf", c.User)
	case e.Class == driver.Connection:
		e.Hint = "is the server running, and does it listen there?"
		var oe *net.OpError // pgx lists every attempt; one cause is enough
		if errors.As(e.Err, &oe) {
			e.Err = oe
		}
		e.Err = fmt.Errorf("no connection to %s: %w", where, e.Err)
		return e
	case e.Class == driver.Timeout:
		e.Hint = "is the address right, and no firewall in between?"
	case e.Code == "53300":
		e.Hint = "raise max_connections, or use fewer clients"
	}
	e.Err = fmt.Errorf("connecting to %s as %q: %w", where, c.User, e.Err)
	return e
}
