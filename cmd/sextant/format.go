package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"sextant/interp/lang"
)

func (e *env) fmtCommand() *cobra.Command {
	var check, showDiff bool
	c := &cobra.Command{Use: "fmt FILE...", Short: "Format scripts in place", Args: args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, a []string) error {
			worst := exitFine
			for _, file := range a {
				changed, err := e.format(file, check, showDiff)
				if err != nil {
					fmt.Fprintf(e.stderr, "sextant: %v\n", err)
					worst = exitUsage
				} else if changed && check {
					worst = max(worst, exitFailed)
				}
			}
			if worst != exitFine {
				return exitError(worst)
			}
			return nil
		}}
	c.Flags().BoolVar(&check, "check", false, "change nothing; name files that would change, and exit with 1")
	c.Flags().BoolVar(&showDiff, "diff", false, "change nothing; show what would change")
	return c
}

func (e *env) format(file string, check, showDiff bool) (changed bool, err error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	out, err := lang.Format(file, src)
	if err != nil {
		return false, err
	}
	if bytes.Equal(src, out) {
		return false, nil
	}
	if showDiff {
		fmt.Fprint(e.stdout, strings.TrimPrefix(string(diff.Diff(file, src, file+" (formatted)", out)), "diff "+file+" "+file+" (formatted)\n"))
	}
	if check && !showDiff {
		fmt.Fprintln(e.stdout, file)
	}
	if check || showDiff {
		return true, nil
	}
	st, err := os.Stat(file)
	if err != nil {
		return false, err
	}
	tmp := file + ".formatting"
	if err := os.WriteFile(tmp, out, st.Mode().Perm()); err != nil {
		return false, fmt.Errorf("writing %s: %w", file, err)
	}
	if err := os.Rename(tmp, file); err != nil {
		return false, fmt.Errorf("writing %s: %w", file, err)
	}
	return true, nil
}
