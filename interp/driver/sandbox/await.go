package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"sextant/interp/driver"
)

// A Startup is the wait for servers that were just started.
type Startup struct {
	Servers []*Server
	Name    func(i int) string // of server i, in errors: "the throwaway Redis"
	Pending string             // what is the matter when the time is over: "the throwaway Redis does not answer"
	Every   time.Duration
	Ask     func() error // nil: they are ready
}

// Await asks until the servers are ready. One that ends meanwhile is an error with the end of its log.
func (w Startup) Await(ctx context.Context) error {
	look := time.NewTicker(w.Every)
	defer look.Stop()
	for {
		last := w.Ask()
		if last == nil {
			return nil
		}
		for i, s := range w.Servers {
			if s.Alive() {
				continue
			}
			log, err := os.ReadFile(s.log)
			if err != nil {
				return err
			}
			return &driver.Error{Class: driver.Unavailable, Err: fmt.Errorf("%s did not start: %s", w.Name(i), LastLines(string(log), 4))}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", w.Pending, errors.Join(ctx.Err(), last))
		case <-look.C:
		}
	}
}

// Named is a Name that doesn't tell servers apart.
func Named(name string) func(int) string { return func(int) string { return name } }

// IsFile says whether a path is that of a file, as programs and jars are.
func IsFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}
