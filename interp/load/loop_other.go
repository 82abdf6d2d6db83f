//go:build !linux

package load

import (
	"errors"

	"sextant/interp/driver"
)

// loop is for Linux only.
type loop struct{}

const haveLoops = false

func newLoops(*trial, []*client, int) ([]*loop, error) { return nil, errors.ErrUnsupported }
func (*loop) attach(int, driver.Polled) error          { return errors.ErrUnsupported }
func (*loop) outside(_ int, fn func())                 { fn() }
func (*loop) run(func(*client)) error                  { return errors.ErrUnsupported }
func (*loop) close() error                             { return nil }
