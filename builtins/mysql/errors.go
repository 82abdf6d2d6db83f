package mysql

import (
	"context"
	sql "database/sql/driver"
	"errors"
	"fmt"
	"strconv"

	sqldriver "github.com/go-sql-driver/mysql"

	"sextant/interp/driver"
)

// classOf gives the class of an error number (MariaDB and MySQL, "Error Message Reference").
func classOf(number uint16) driver.Class {
	switch number {
	case 1213, 1020, 3101, 1614: // deadlock, record changed since read, group replication's and XA's rollback
		return driver.Conflict
	case 1205, 1317, 1969, 3024: // lock wait, interrupted, max_statement_time, max_execution_time
		return driver.Timeout
	case 1062, 1586, 1048, 1406, 1264, 1366, 1451, 1452, 1216, 1217, 3819, 4025, 1050, 1061, 1153: // keys, NULL, sizes, ranges, foreign keys, checks
		return driver.Constraint
	case 1044, 1045, 1142, 1143, 1227, 1370, 1419, 1698, 1820, 1862, 3118, 3159:
		return driver.Auth
	case 1049, 1146, 1305, 1091:
		return driver.NotFound
	case 1047, 1053, 1180, 1290, 1792, 1836, 3100: // Galera's minority, shutdown, commit refused, read only
		return driver.Unavailable
	case 1040, 1041, 1037, 1038, 1203, 1226, 1114, 1021, 1135:
		return driver.Overload
	case 1927, 1152, 1158, 1159, 1160, 1161, 1184, 4031:
		return driver.Connection
	}
	return driver.Other
}

// wrap classes an error of the library. Its texts never hold the password.
func wrap(err error) error {
	var de *driver.Error
	var lr *driver.LevelRefused
	var me *sqldriver.MySQLError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &de), errors.As(err, &lr):
		return err
	case errors.As(err, &me):
		return &driver.Error{Class: classOf(me.Number), Code: strconv.Itoa(int(me.Number)), Err: errors.New(me.Message)}
	case errors.Is(err, context.DeadlineExceeded):
		return &driver.Error{Class: driver.Timeout, Err: err}
	case errors.Is(err, sqldriver.ErrInvalidConn), errors.Is(err, sql.ErrBadConn):
		return &driver.Error{Class: driver.Connection, Err: errors.New("the connection was lost")}
	}
	class, code := driver.Classify(err)
	return &driver.Error{Class: class, Code: code, Err: err}
}

// connectError adds what to do to the error of a connection's beginning.
func connectError(c *sqldriver.Config, err error) error {
	e, ok := wrap(err).(*driver.Error)
	if !ok {
		return err
	}
	switch {
	case e.Code == "1049":
		e.Hint = fmt.Sprintf("create it: CREATE DATABASE %s", c.DBName)
	case e.Code == "1040":
		e.Hint = "raise max_connections, or use fewer clients"
	case e.Class == driver.Auth:
		e.Hint = fmt.Sprintf("check user %q, its password and the hosts that it may come from", c.User)
	case errors.Is(err, sqldriver.ErrMalformPkt), errors.Is(err, sqldriver.ErrPktSync), errors.Is(err, sqldriver.ErrOldProtocol):
		e.Class, e.Hint = driver.Unavailable, "is it a MySQL or MariaDB server that listens there?"
	case errors.Is(err, sqldriver.ErrNoTLS):
		e.Class, e.Hint = driver.Unavailable, "the server has no TLS"
	case e.Class == driver.Connection:
		e.Hint = "is the server running, and does it listen there?"
	case e.Class == driver.Timeout:
		e.Hint = "is the address right, and no firewall in between?"
	}
	e.Err = fmt.Errorf("connecting to %s as %q: %w", c.Addr, c.User, e.Err)
	return e
}
