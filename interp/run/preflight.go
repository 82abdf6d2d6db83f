package run

import (
	"context"
	"errors"
	"fmt"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// preflight opens every system once, so that a wrong address or password is told now and not in the small hours.
func (r *Runner) preflight(ctx context.Context) error {
	var errs, missing []error
	for i := range r.plan.Blocks {
		s := r.plan.Blocks[i].System
		key := spec.CanonicalString(s.Canonical())
		if r.opened[key] != nil {
			continue
		}
		h, err := r.openSystem(ctx, s, key)
		if r.missing(err) {
			missing = append(missing, err)
			continue
		}
		if err != nil {
			errs = append(errs, errors.New(r.secrets.Hide(err.Error())))
			continue
		}
		r.opened[key] = h
		if err := r.sessionLimit(ctx, h); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 && len(r.opened) == 0 {
		return errors.Join(missing...) // nothing would be measured
	}
	if len(errs) == 0 && len(r.opened) == 1 && len(missing) == 0 {
		return nil // the one system stays open: the first trial uses it
	}
	for key, h := range r.opened {
		if err := r.closeSystem(ctx, h); err != nil {
			errs = append(errs, err)
		}
		delete(r.opened, key)
	}
	return errors.Join(errs...)
}

// sessionLimit refuses a plan with more clients than a system takes sessions.
func (r *Runner) sessionLimit(ctx context.Context, h *host) error {
	l, ok := h.sys.(driver.Limiter)
	if !ok {
		return nil
	}
	most := 0
	for _, c := range r.plan.Cells {
		if m := r.plan.Experiment.Cells[c].Measure; spec.CanonicalString(m.System.Canonical()) == h.key {
			most = max(most, m.Load.Clients)
		}
	}
	limit, source, err := l.SessionLimit(ctx)
	if err != nil {
		return fmt.Errorf("asking %s how many sessions it takes: %w", h.spec.Name, err)
	}
	if most > limit {
		return fmt.Errorf("the plan has up to %d clients, but %s takes %d sessions (%s)", most, h.spec.Name, limit, source)
	}
	return nil
}
