package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/result"
	"sextant/interp/spec"
)

// levelSystem is a system whose sessions answer with levels of the test's choice, one after the other.
type levelSystem struct {
	driver.System
	answers []string
	closed  int
}

type levelSession struct {
	driver.Session
	s *levelSystem
}

func (s *levelSystem) Session(context.Context, spec.Level) (driver.Session, error) {
	return &levelSession{s: s}, nil
}

func (s *levelSession) Level(context.Context, spec.Level) (string, error) {
	a := s.s.answers[0]
	s.s.answers = s.s.answers[1:]
	if a == "" {
		return "", errors.New("no answer")
	}
	return a, nil
}

func (s *levelSession) Close() error { s.s.closed++; return nil }

// Rule 8: the asked level is the measured one: a session that answers with another level, or with none, is not used, nor are
// sessions that differ where nothing was asked.
func TestRule8TheAskedLevelIsTheMeasuredOne(t *testing.T) {
	full := spec.Level{Settings: []spec.Setting{{Name: "synchronous", Value: "full"}}}
	for _, c := range []struct {
		name    string
		asked   spec.Level
		answers []string
		want    string // in the error; "": the sessions are used
		seen    string
	}{
		{"as asked", full, []string{full.String(), full.String()}, "", full.String()},
		{"a lie", full, []string{full.String(), "off"}, "the level asked is " + full.String() + ", the server answers off", full.String()},
		{"no answer", full, []string{""}, "no answer", ""},
		{"nothing asked", spec.Level{}, []string{"off", "off"}, "", "off"},
		{"two levels", spec.Level{}, []string{"off", "full"}, "off on one session and full on another", "off"},
	} {
		sys := &levelSystem{answers: c.answers}
		k := levelKeeper{sys: sys, asked: c.asked}
		var err error
		for range c.answers {
			var s driver.Session
			if s, err = k.open(t.Context(), 0); (err == nil) != (s != nil) {
				t.Errorf("%s: session %v, %v", c.name, s, err)
			}
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) || k.seen() != c.seen {
			t.Errorf("%s: %v, seen %q", c.name, err, k.seen())
		}
		if refused := c.want != ""; refused != (sys.closed == 1) {
			t.Errorf("%s: %d sessions closed", c.name, sys.closed)
		}
	}
}

// Rule 10: a trial over which the wall clock moved is marked, whichever way.
func TestRule10ClockStepsAreMarked(t *testing.T) {
	for step, want := range map[time.Duration]bool{0: false, 50 * time.Millisecond: false, 150 * time.Millisecond: true, -150 * time.Millisecond: true} {
		var row result.TrialRow
		fillCounts(&row, &load.Result{Window: time.Second, ClockJump: step, Late: new(load.Hist[uint64])})
		if row.ClockJump == nil || *row.ClockJump != want {
			t.Errorf("a step of %v: %v", step, row.ClockJump)
		}
	}
}
