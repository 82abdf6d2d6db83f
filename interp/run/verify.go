package run

import (
	"context"
	"errors"
	"fmt"

	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/result"
	"sextant/interp/spec"
)

// verify compares what was acknowledged with what is there. A throwaway server that has died is started again on its data first: what it has lost then is
// what there is to find. Lost writes are a finding, and so is a server that can't be asked: neither fails the trial.
func (r *Runner) verify(ctx context.Context, l *load.Ledger, w load.Workload, row *result.TrialRow) {
	within := or(r.plan.Experiment.Deadlines.Load, defaultLoad)
	var got load.Verified
	err := stage(ctx, "verifying what was written", within, func(ctx context.Context) (err error) {
		if err := r.restart(ctx, within); err != nil {
			return err
		}
		var level spec.Level
		if v, ok := r.host.sys.(driver.Verifier); ok {
			level = v.VerifyLevel()
		}
		s, err := r.host.sys.Session(ctx, level)
		if err != nil {
			return err
		}
		got, err = l.Check(ctx, s, w)
		return errors.Join(err, s.Close())
	})
	if err != nil {
		if ctx.Err() == nil {
			r.event("", "warning", "what was written could not be verified: "+err.Error())
		}
		return
	}
	row.VerifiedWrites, row.LostWrites = &got.Checked, &got.Lost
	if got.Lost > 0 {
		r.event("", "warning", fmt.Sprintf("%d of %d verified writes were acknowledged and are lost, such as %s", got.Lost, got.Checked, got.Sample))
	}
}
