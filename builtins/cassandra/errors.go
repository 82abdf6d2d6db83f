package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"sextant/interp/driver"
)

// classOf gives class and name of an error code (Cassandra's native protocol specification, version 5, section 9).
func classOf(code int, message string) (driver.Class, string) {
	switch code {
	case gocql.ErrCodeUnavailable:
		return driver.Unavailable, "UNAVAILABLE"
	case gocql.ErrCodeWriteTimeout:
		return driver.Timeout, "WRITE_TIMEOUT"
	case gocql.ErrCodeReadTimeout:
		return driver.Timeout, "READ_TIMEOUT"
	case gocql.ErrCodeCASWriteUnknown:
		return driver.Timeout, "CAS_WRITE_UNKNOWN"
	case gocql.ErrCodeReadFailure:
		return driver.Unavailable, "READ_FAILURE"
	case gocql.ErrCodeWriteFailure, gocql.ErrCodeCDCWriteFailure:
		return driver.Unavailable, "WRITE_FAILURE"
	case gocql.ErrCodeBootstrapping:
		return driver.Unavailable, "BOOTSTRAPPING"
	case gocql.ErrCodeTruncate:
		return driver.Unavailable, "TRUNCATE"
	case gocql.ErrCodeOverloaded:
		return driver.Overload, "OVERLOADED"
	case gocql.ErrCodeCredentials:
		return driver.Auth, "BAD_CREDENTIALS"
	case gocql.ErrCodeUnauthorized:
		return driver.Auth, "UNAUTHORIZED"
	case gocql.ErrCodeAlreadyExists:
		return driver.Constraint, "ALREADY_EXISTS"
	case gocql.ErrCodeSyntax:
		return driver.Other, "SYNTAX"
	case gocql.ErrCodeInvalid, gocql.ErrCodeConfig:
		if m := strings.ToLower(message); strings.Contains(m, "does not exist") || strings.Contains(m, "unconfigured table") || strings.Contains(m, "doesn't exist") {
			return driver.NotFound, "INVALID"
		}
		return driver.Other, "INVALID"
	}
	return driver.Other, fmt.Sprintf("%#04x", code)
}

// wrap classes an error of the library. Its texts never hold the password.
func wrap(err error) error {
	var de *driver.Error
	var lr *driver.LevelRefused
	var re gocql.RequestError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &de), errors.As(err, &lr):
		return err
	case errors.As(err, &re):
		class, code := classOf(re.Code(), re.Message())
		e := &driver.Error{Class: class, Code: code, Err: errors.New(re.Message())}
		var un *gocql.RequestErrUnavailable
		if errors.As(err, &un) {
			e.Err = fmt.Errorf("%s needs %d replicas, %d are alive", un.Consistency, un.Required, un.Alive)
		}
		return e
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, gocql.ErrTimeoutNoResponse):
		return &driver.Error{Class: driver.Timeout, Err: err}
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, gocql.ErrNoConnections), errors.Is(err, gocql.ErrConnectionClosed), errors.Is(err, gocql.ErrNoConnectionsStarted),
		errors.Is(err, gocql.ErrSessionClosed), errors.Is(err, gocql.ErrTooManyTimeouts), errors.Is(err, gocql.ErrHostQueryFailed):
		return &driver.Error{Class: driver.Connection, Err: err}
	case errors.Is(err, gocql.ErrNoStreams):
		return &driver.Error{Class: driver.Overload, Code: "NO_STREAMS", Err: err}
	}
	class, code := driver.Classify(err)
	return &driver.Error{Class: class, Code: code, Err: err}
}

// connectError adds what to do to the error of the first connections.
func (s *system) connectError(err error) error {
	e, ok := wrap(err).(*driver.Error)
	if !ok {
		return err
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "authentication required") || strings.Contains(text, "Provided username") || e.Class == driver.Auth && e.Code != "certificate":
		e.Class, e.Hint = driver.Auth, fmt.Sprintf("check user %q and its password", s.user)
	case strings.Contains(text, "certificate"):
		e.Class, e.Code = driver.Auth, "certificate"
	case strings.Contains(text, "connection refused"), strings.Contains(text, "no such host"), e.Class == driver.Connection:
		e.Class, e.Hint = driver.Connection, "is the cluster running, and does it listen there?"
	case strings.Contains(text, "timeout"), strings.Contains(text, "no response"):
		e.Class, e.Hint = driver.Timeout, "is the address right, does it speak Cassandra's protocol (and TLS, or not), and is no firewall in between?"
	}
	e.Err = fmt.Errorf("connecting to Cassandra at %s: %w", strings.Join(s.cfg.Hosts, ", "), e.Err)
	return e
}
