package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"sextant/analysis/audit"
)

func (e *env) auditCommand() *cobra.Command {
	var o audit.Options
	var all bool
	c := &cobra.Command{Use: "audit FILE...", Short: "Check the arithmetic of published tables", Args: args(cobra.MinimumNArgs(1)),
		Long: `Check the arithmetic of published tables (CSV, Markdown, tab-separated): per cent changes and ratios against their two
numbers, CVs and intervals against mean, deviation and n, correlations against their interval and p, Bonferroni marks, classes of
stability, throughput x time against a count, Little's law. Each finding shows its computation; rounding alone is never one.
The exit code is 1 when something is inconsistent.`,
		RunE: func(c *cobra.Command, a []string) error {
			wrong := false
			for _, file := range a {
				b, err := os.ReadFile(file)
				if err != nil {
					return &usageError{fmt.Errorf("reading the tables: %w", err)}
				}
				found, err := audit.Audit(file, string(b), o)
				if err != nil {
					return fmt.Errorf("%s: %w", file, err)
				}
				if len(found) == 0 {
					fmt.Fprintf(e.stdout, "%s: nothing in its tables can be checked\n", file)
					continue
				}
				counts := map[audit.Verdict]int{}
				for _, f := range found {
					counts[f.Verdict]++
					if f.Verdict == audit.Consistent && !all {
						continue
					}
					fmt.Fprintf(e.stdout, "%s:%d: %s: %s, %s\n    %s: %s\n", file, f.Line, f.Verdict, f.Table, f.Row, f.Check, f.Detail)
				}
				fmt.Fprintf(e.stdout, "%s: %s: %d consistent, %d inconsistent, %d can't tell\n", file, count(len(found), "check"), counts[audit.Consistent], counts[audit.Inconsistent], counts[audit.CantTell])
				wrong = wrong || counts[audit.Inconsistent] > 0
			}
			if wrong {
				return exitError(exitFailed)
			}
			return nil
		}}
	c.Flags().Float64Var(&o.Count, "count", 0, "operations of each run, for throughput x time")
	c.Flags().Float64Var(&o.Clients, "clients", 0, "clients of each run, for Little's law where neither a column nor a caption has them")
	c.Flags().BoolVar(&all, "all", false, "show what is consistent as well")
	return c
}
