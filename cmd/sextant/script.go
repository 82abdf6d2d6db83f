package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"sextant/builtins"
	"sextant/interp/lang"
	engine "sextant/interp/run"
	"sextant/interp/spec"
)

// selection is which trials of a script are meant.
type selection struct {
	experiment string
	where      string
}

func (s *selection) flags(c *cobra.Command) {
	c.Flags().StringVar(&s.experiment, "experiment", "", "only the experiment of this `NAME`")
	c.Flags().StringVar(&s.where, "where", "", "only the cells for which an `EXPR` over p is true, such as 'p.scale > 1000'")
}

// eval evaluates a script.
func (e *env) eval(ctx context.Context, file string, lookup func(string) (string, bool)) (*lang.Program, error) {
	return lang.Eval(ctx, file, lang.Options{Registry: builtins.Registry(), Env: lookup,
		Print: func(text string) { fmt.Fprintln(e.stderr, text) }})
}

// plans orders the trials of the selected experiments.
func (s *selection) plans(p *lang.Program) ([]*engine.Plan, error) {
	var out []*engine.Plan
	var names []string
	for _, x := range p.Experiments {
		names = append(names, x.Name)
		if s.experiment != "" && x.Name != s.experiment {
			continue
		}
		plan, err := planOf(x, s.where)
		if err != nil {
			return nil, err
		}
		out = append(out, plan)
	}
	if len(out) == 0 {
		return nil, &usageError{fmt.Errorf("the script has no experiment %q; %s", s.experiment, hint(s.experiment, "it has", names))}
	}
	return out, nil
}

// planOf orders the trials of one experiment that an expression takes; "" takes all.
func planOf(x *spec.Experiment, where string) (*engine.Plan, error) {
	var keep func(int) (bool, error)
	if where != "" {
		var err error
		if keep, err = lang.Where(where, x); err != nil {
			return nil, &usageError{err}
		}
	}
	plan, err := engine.NewPlan(x, keep)
	if err != nil {
		return nil, err
	}
	if len(plan.Steps) == 0 {
		return nil, &usageError{fmt.Errorf("--where %q takes no cell of experiment %q", where, x.Name)}
	}
	return plan, nil
}
