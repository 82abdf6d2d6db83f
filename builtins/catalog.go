// Package builtins is the one list of what sextant can measure: drivers, workloads, values. A new one is a folder and a
// line here.
package builtins

import (
	"fmt"

	"sextant/builtins/cassandra"
	"sextant/builtins/mongodb"
	"sextant/builtins/mysql"
	"sextant/builtins/postgres"
	"sextant/builtins/redis"
	"sextant/builtins/sqlite"
	"sextant/builtins/workload"
	"sextant/interp/driver"
	"sextant/interp/lang"
	"sextant/interp/result"
	"sextant/interp/spec"
)

// Drivers are the systems that a script can name, in the order of the documentation.
func Drivers() []driver.Driver {
	return []driver.Driver{
		sqlite.Driver(),
		postgres.Driver(),
		mysql.Driver(),
		mongodb.Driver(),
		redis.Driver(),
		cassandra.Driver(),
	}
}

// Registry is the catalog as the language needs it.
func Registry() lang.Registry {
	r := lang.Registry{Workloads: workload.Types(), Values: workload.Values(), Reserved: result.Reserved()}
	for _, d := range Drivers() {
		r.Systems = append(r.Systems, &d.SystemType)
	}
	return r
}

// DriversByName is the catalog as a run needs it.
func DriversByName() map[string]driver.Driver {
	out := map[string]driver.Driver{}
	for _, d := range Drivers() {
		out[d.Name] = d
	}
	return out
}

// Check says what is wrong with the catalog itself: names that are no identifiers or stand twice, parameters without
// documentation.
func Check() error {
	r := Registry()
	seen := map[string]bool{}
	name := func(n, doc string) error {
		for i, c := range n {
			if c != '_' && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
				return fmt.Errorf("%q is no plain lower-case name", n)
			}
		}
		if n == "" || doc == "" || seen[n] {
			return fmt.Errorf("%q is empty, there twice, or not documented", n)
		}
		seen[n] = true
		return nil
	}
	for _, s := range r.Systems {
		if err := name(s.Name, s.Doc); err != nil {
			return err
		}
		for _, m := range s.Makers {
			if err := checkParams(s.Name+"."+m.Name, m.Params); err != nil {
				return err
			}
		}
	}
	for _, v := range r.Values {
		if err := name(v.Name, v.Doc); err != nil {
			return err
		}
		if err := checkParams(v.Name, v.Params); err != nil {
			return err
		}
	}
	seen = map[string]bool{}
	for _, w := range r.Workloads {
		if err := name(w.Name, w.Doc); err != nil {
			return err
		}
		if err := checkParams("workload."+w.Name, w.Params); err != nil {
			return err
		}
	}
	return nil
}

func checkParams(of string, params []spec.Param) error {
	for _, p := range params {
		if p.Doc == "" || p.Name == "" {
			return fmt.Errorf("%s: parameter %q is not documented", of, p.Name)
		}
	}
	return nil
}
