package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sextant/builtins"
	"sextant/interp/spec"
)

func (e *env) docCommand() *cobra.Command {
	return &cobra.Command{Use: "doc [NAME]", Short: "Explain what scripts can name: systems, workloads, values", Args: args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, a []string) error {
			r := builtins.Registry()
			if len(a) == 0 {
				for _, s := range r.Systems {
					fmt.Fprintf(e.stdout, "%-26s %s\n", s.Name, s.Doc)
				}
				for _, w := range r.Workloads {
					fmt.Fprintf(e.stdout, "%-26s %s\n", "workload."+w.Name, w.Doc)
				}
				for _, v := range r.Values {
					fmt.Fprintf(e.stdout, "%-26s %s\n", v.Name, v.Doc)
				}
				return nil
			}
			var names []string
			for _, s := range r.Systems {
				if s.Name == a[0] {
					e.docSystem(s)
					return nil
				}
				names = append(names, s.Name)
			}
			for _, w := range r.Workloads {
				if w.Name == strings.TrimPrefix(a[0], "workload.") {
					e.docCall("workload."+w.Name, w.Doc, w.Params)
					return nil
				}
				names = append(names, "workload."+w.Name)
			}
			for _, v := range r.Values {
				if v.Name == a[0] {
					e.docCall(v.Name, v.Doc, v.Params)
					return nil
				}
				names = append(names, v.Name)
			}
			return &usageError{fmt.Errorf("nothing is called %q; %s", a[0], hint(a[0], "there are", names))}
		}}
}

func (e *env) docSystem(s *spec.SystemType) {
	fmt.Fprintf(e.stdout, "%s: %s\n", s.Name, s.Doc)
	for _, m := range s.Makers {
		fmt.Fprintln(e.stdout)
		e.docCall(s.Name+"."+m.Name, m.Doc, m.Params)
	}
	for _, l := range s.Levels {
		fmt.Fprintf(e.stdout, "\nlevel %s: %s\n", l.Name, l.Doc)
		for _, v := range l.Values {
			fmt.Fprintf(e.stdout, "  %-18s %s\n", v.Name, v.Doc)
		}
	}
}

func (e *env) docCall(name, doc string, params []spec.Param) {
	fmt.Fprintf(e.stdout, "%s(...): %s\n", name, doc)
	for _, p := range params {
		def := ""
		switch {
		case p.Required:
			def = " (required)"
		case p.Default != nil:
			def = " (default " + spec.Display(p.Default) + ")"
		}
		fmt.Fprintf(e.stdout, "  %-18s %s: %s%s\n", p.Name, p.Kind, p.Doc, def)
	}
}
