package mongodb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"sextant/interp/driver"
)

// classOf gives the class of an error code (MongoDB's error codes, src/mongo/base/error_codes.yml by name).
func classOf(code int) driver.Class {
	switch code {
	case 112, 251, 244: // WriteConflict, NoSuchTransaction, TransactionAborted
		return driver.Conflict
	case 50, 64, 262, 24: // MaxTimeMSExpired, WriteConcernTimeout, ExceededTimeLimit, LockTimeout
		return driver.Timeout
	case 11000, 11001, 12582, 121, 10334, 17280, 48: // duplicate key, validation, size, NamespaceExists
		return driver.Constraint
	case 79, 100, 91, 189, 10107, 13435, 13436, 11600, 11602, 133, 10058, 211, 134: // too few members, no primary, stepping down, shutting down
		return driver.Unavailable
	case 13, 18, 33, 8000:
		return driver.Auth
	case 26, 60:
		return driver.NotFound
	case 6, 7, 89, 9001, 358:
		return driver.Connection
	case 146, 202, 292, 14031, 462:
		return driver.Overload
	}
	return driver.Other
}

// wrap classes an error of the library. Its texts never hold the password.
func wrap(err error) error {
	var de *driver.Error
	var lr *driver.LevelRefused
	var ce mongo.CommandError
	var we mongo.WriteException
	var be mongo.BulkWriteException
	coded := func(code int, name, message string) error {
		if name == "" {
			name = fmt.Sprint(code)
		}
		return &driver.Error{Class: classOf(code), Code: name, Err: errors.New(message)}
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &de), errors.As(err, &lr):
		return err
	case errors.Is(err, context.Canceled):
		return err
	case mongo.IsTimeout(err) && !errors.As(err, &ce), errors.Is(err, context.DeadlineExceeded):
		return &driver.Error{Class: driver.Timeout, Err: err}
	case mongo.IsNetworkError(err):
		return &driver.Error{Class: driver.Connection, Err: err}
	case errors.As(err, &ce):
		return coded(int(ce.Code), ce.Name, ce.Message)
	case errors.As(err, &we) && len(we.WriteErrors) > 0:
		return coded(we.WriteErrors[0].Code, "", we.WriteErrors[0].Message)
	case errors.As(err, &we) && we.WriteConcernError != nil:
		return coded(we.WriteConcernError.Code, we.WriteConcernError.Name, we.WriteConcernError.Message)
	case errors.As(err, &be) && len(be.WriteErrors) > 0:
		return coded(be.WriteErrors[0].Code, "", be.WriteErrors[0].Message)
	case errors.As(err, &be) && be.WriteConcernError != nil:
		return coded(be.WriteConcernError.Code, be.WriteConcernError.Name, be.WriteConcernError.Message)
	}
	class, code := driver.Classify(err)
	// no server could be chosen, or the pool gave its connections up because another operation had lost one
	if text := err.Error(); class == driver.Other && (strings.Contains(text, "server selection error") || strings.Contains(text, "connection pool for")) {
		class = driver.Connection
	}
	return &driver.Error{Class: class, Code: code, Err: err}
}

// connectError adds what to do to the error of the first command.
func (s *system) connectError(err error) error {
	e, ok := wrap(err).(*driver.Error)
	if !ok {
		return err
	}
	text := err.Error()
	switch {
	case e.Class == driver.Auth && e.Code != "certificate", strings.Contains(text, "AuthenticationFailed"), strings.Contains(text, "auth error"):
		e.Class, e.Hint = driver.Auth, fmt.Sprintf("check user %q, its password and authSource", s.user)
	case strings.Contains(text, "certificate"):
		e.Class, e.Code = driver.Auth, "certificate"
	case strings.Contains(text, "connection refused"), strings.Contains(text, "no such host"):
		e.Class, e.Hint = driver.Connection, "is the server running, and does it listen there?"
	case e.Class == driver.Timeout, strings.Contains(text, "server selection"):
		e.Class, e.Hint = driver.Timeout, "is the address right, does it speak MongoDB's protocol (and TLS, or not), is no firewall in between, and is there a primary?"
	}
	e.Err = fmt.Errorf("connecting to MongoDB at %s: %w", s.address, e.Err)
	return e
}
