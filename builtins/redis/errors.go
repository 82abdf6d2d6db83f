package redis

import (
	"errors"
	"strings"

	"sextant/interp/driver"
)

// replyError is the error of a RESP error reply, such as "WRONGTYPE Operation against a key ...".
func replyError(text string) *driver.Error {
	code, _, _ := strings.Cut(text, " ")
	e := &driver.Error{Class: driver.Other, Code: code, Err: errors.New(text)}
	switch code {
	case "NOAUTH", "WRONGPASS", "NOPERM":
		e.Class = driver.Auth
		e.Hint = "check user and password of the URL"
	case "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "NOREPLICAS", "MISCONF", "UNAVAILABLE":
		e.Class = driver.Unavailable
	case "OOM", "BUSY":
		e.Class = driver.Overload
	case "WRONGTYPE":
		e.Class = driver.Constraint
	case "MOVED", "ASK", "CROSSSLOT":
		e.Class = driver.Unavailable
		e.Hint = "the server is part of a cluster: name one that isn't"
	}
	if strings.HasPrefix(text, "ERR max number of clients") {
		e.Class = driver.Overload
	}
	return e
}

// lostError is the end of a connection.
func lostError(err error) *driver.Error {
	class, code := driver.Classify(err)
	if class == driver.Other {
		class = driver.Connection
	}
	return &driver.Error{Class: class, Code: code, Err: err}
}
