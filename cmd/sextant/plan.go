package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	engine "sextant/interp/run"
)

func (e *env) planCommand() *cobra.Command {
	var sel selection
	var cells, asJSON bool
	var out string
	c := &cobra.Command{Use: "plan FILE", Short: "Show what a script would run, without touching a server", Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, a []string) error {
			p, err := e.eval(c.Context(), a[0], e.lookup)
			if err != nil {
				return err
			}
			plans, err := sel.plans(p)
			if err != nil {
				return err
			}
			if asJSON {
				return e.planJSON(plans)
			}
			for i, plan := range plans {
				if i > 0 {
					fmt.Fprintln(e.stdout)
				}
				if err := e.showPlan(plan, out, true); err != nil {
					return err
				}
				if cells {
					if err := e.showCells(plan); err != nil {
						return err
					}
				}
			}
			return nil
		}}
	sel.flags(c)
	c.Flags().BoolVar(&cells, "cells", false, "list every cell")
	c.Flags().BoolVar(&asJSON, "json", false, "the whole plan as JSON")
	c.Flags().StringVar(&out, "out", "results", "`FOLDER` of earlier results, for measured load times")
	return c
}

// planDocument is one experiment of `plan --json`.
type planDocument struct {
	*engine.Manifest
	Blocks   []planBlock  `json:"blocks"`
	Order    []planTrial  `json:"order"`
	Estimate planEstimate `json:"estimate"`
}

type planBlock struct {
	Dataset string `json:"dataset"`
	System  string `json:"system"`
	Rows    int64  `json:"rows"`
	Trials  int    `json:"trials"`
}

type planTrial struct {
	Trial  string `json:"trial_id"`
	Cell   int    `json:"cell"` // index into cells
	Repeat int    `json:"repeat"`
	Block  int    `json:"block"`
}

type planEstimate struct {
	Seconds float64 `json:"seconds"`
	Loads   int     `json:"dataset_loads"`
	Resets  int     `json:"dataset_resets"`
}

func (e *env) planJSON(plans []*engine.Plan) error {
	var docs []planDocument
	for _, p := range plans {
		m, err := engine.NewManifest(p)
		if err != nil {
			return err
		}
		d := planDocument{Manifest: m}
		m.Created = time.Now().UTC()
		m.Product = version()
		for _, b := range p.Blocks {
			d.Blocks = append(d.Blocks, planBlock{b.Dataset, b.System.Name, b.Measure.Workload.Dataset.Rows, b.Trials})
		}
		index := map[int32]int{}
		for i, c := range p.Cells {
			index[c] = i
		}
		for _, s := range p.Steps {
			t, err := p.Trial(s)
			if err != nil {
				return err
			}
			d.Order = append(d.Order, planTrial{t.ID, index[s.Cell], int(s.Repeat), int(s.Block)})
		}
		est := p.Estimate(nil)
		d.Estimate = planEstimate{est.Total().Seconds(), est.LoadRuns, est.Resets}
		docs = append(docs, d)
	}
	enc := json.NewEncoder(e.stdout)
	enc.SetIndent("", " ")
	return enc.Encode(docs)
}

func (e *env) checkCommand() *cobra.Command {
	return &cobra.Command{Use: "check FILE...", Short: "Say what is wrong with scripts, and nothing else", Args: args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, a []string) error {
			worst := exitFine
			for _, file := range a {
				if _, err := e.eval(c.Context(), file, e.lookup); err != nil {
					worst = max(worst, e.report(err))
				}
			}
			if worst != exitFine {
				return exitError(worst)
			}
			return nil
		}}
}
