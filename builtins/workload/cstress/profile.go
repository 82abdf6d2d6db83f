package cstress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"sextant/interp/spec"
)

// A Profile is a user profile of the tool: a table of one's own, how its rows are drawn, and statements on it.
type Profile struct {
	Table      *Table
	Extra      []string // statements that make indexes
	Insert     *Query
	Queries    []*Query     // in the order of their names
	Partitions Distribution // of an insert
	Select     Ratio        // of a partition's rows that an insert writes
	Populate   Ratio        // of the columns that have a value
	Batch      string       // "LOGGED", "UNLOGGED", "COUNTER": of inserts of several rows
}

// file is the form of a profile.
type file struct {
	Specname           string
	Keyspace           string
	KeyspaceDefinition string `yaml:"keyspace_definition"`
	Table              string
	TableDefinition    string   `yaml:"table_definition"`
	ExtraDefinitions   []string `yaml:"extra_definitions"`
	Columnspec         []map[string]string
	Insert             map[string]string
	Queries            map[string]struct {
		CQL                    string `yaml:"cql"`
		Fields                 string
		ConsistencyLevel       string `yaml:"consistencyLevel"`
		SerialConsistencyLevel string `yaml:"serialConsistencyLevel"`
	}
	TokenRangeQueries map[string]any `yaml:"token_range_queries"`
}

var unknownKey = regexp.MustCompile(`field (\w+) not found in type \S+`)

// ParseProfile reads a profile.
func ParseProfile(text string) (*Profile, error) {
	var f file
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		msg := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n  ")
		return nil, errors.New(unknownKey.ReplaceAllString(msg, "a profile has no $1"))
	}
	if f.TableDefinition == "" {
		return nil, errors.New("has no table_definition")
	}
	p := &Profile{}
	var err error
	if p.Table, err = parseTable(f.TableDefinition); err != nil {
		return nil, err
	}
	if name(f.Table) != p.Table.Name {
		return nil, fmt.Errorf("names the table %q, but table_definition makes %s", f.Table, p.Table.Name)
	}
	if err := p.columns(f.Columnspec); err != nil {
		return nil, err
	}
	if err := p.inserts(f.Insert); err != nil {
		return nil, err
	}
	for _, e := range f.ExtraDefinitions {
		toks, _ := tokens(e)
		i := slices.IndexFunc(toks, func(s string) bool { return strings.EqualFold(s, "index") })
		if len(toks) == 0 || !strings.EqualFold(toks[0], "create") || i < 1 || i > 2 || slices.Index(toks, ";") >= 0 && toks[len(toks)-1] != ";" {
			return nil, fmt.Errorf("has the extra definition %q; only CREATE INDEX is taken", spec.Display(e))
		}
		p.Extra = append(p.Extra, strings.TrimRight(strings.TrimSpace(e), "; \n"))
	}
	for _, n := range slices.Sorted(maps.Keys(f.Queries)) {
		q := f.Queries[n]
		bad := func(format string, a ...any) error { return fmt.Errorf("query %s %s", n, fmt.Sprintf(format, a...)) }
		if q.ConsistencyLevel != "" || q.SerialConsistencyLevel != "" {
			return nil, bad("has a consistency level of its own: that is the experiment's, by consistency = ...")
		}
		if n == "insert" {
			return nil, bad("has the name of the profile's insert")
		}
		toks, _ := tokens(q.CQL)
		if i := slices.Index(toks, "."); i > 0 && name(toks[i-1]) != p.Table.Name {
			return nil, bad("names the keyspace %s: leave it out, the table is in the system's", toks[i-1])
		}
		parsed, err := p.Table.parseQuery(q.CQL)
		if err != nil {
			return nil, bad("%v", err)
		}
		parsed.Name = strings.ToLower(n)
		switch strings.ToLower(q.Fields) {
		case "", "multirow":
		case "samerow":
			parsed.SameRow = true
		default:
			return nil, bad("has the fields %s; there are samerow and multirow", q.Fields)
		}
		p.Queries = append(p.Queries, parsed)
	}
	p.Insert = p.Table.insert()
	return p, nil
}

// columns reads the distributions of columns.
func (p *Profile) columns(specs []map[string]string) error {
	var names []string
	for _, c := range p.Table.Columns() {
		names = append(names, c.Name)
	}
	for _, s := range specs {
		lower := map[string]string{}
		for k, v := range s {
			lower[strings.ToLower(k)] = v
		}
		i := slices.Index(names, strings.ToLower(lower["name"]))
		if i < 0 {
			err := fmt.Errorf("columnspec names %q, which is no column of %s", lower["name"], p.Table.Name)
			if near := spec.Nearest(lower["name"], names); near != "" {
				err = fmt.Errorf("%w; did you mean %s?", err, near)
			}
			return err
		}
		c := p.Table.Columns()[i]
		for _, k := range slices.Sorted(maps.Keys(lower)) {
			to := map[string]*Distribution{"size": &c.size, "population": &c.ids.d, "cluster": &c.cluster.d}[k]
			if k == "name" {
				continue
			}
			if to == nil {
				return fmt.Errorf("the columnspec of %s has %q; there are name, size, population and cluster", c.Name, k)
			}
			d, err := Parse(lower[k])
			if err == nil && !d.Seedable() {
				err = fmt.Errorf("is not fixed, uniform or gaussian")
			}
			if err == nil && k != "population" && (d.Min < 0 || d.Max > 1<<20) {
				err = fmt.Errorf("is over numbers outside of 0 to %d", 1<<20)
			}
			if err != nil {
				return fmt.Errorf("the %s of column %s, %s, %w", k, c.Name, lower[k], err)
			}
			*to = d
		}
		if lower["cluster"] != "" && !slices.Contains(p.Table.Clustering, c) {
			return fmt.Errorf("the columnspec of %s has a cluster, but the column orders no rows", c.Name)
		}
	}
	for _, c := range p.Table.Columns() {
		c.ready()
	}
	return nil
}

func (p *Profile) inserts(given map[string]string) error {
	p.Batch = "LOGGED"
	p.Partitions = Distribution{kind: "fixed", Min: 1, Max: 1}
	p.Select, p.Populate = Ratio{p.Partitions, 1}, Ratio{p.Partitions, 1}
	for _, k := range slices.Sorted(maps.Keys(given)) {
		var err error
		switch v := given[k]; strings.ToLower(k) {
		case "partitions":
			if p.Partitions, err = Parse(v); err == nil && (p.Partitions.Min < 1 || p.Partitions.Max > 65535 || p.Partitions.Sequential()) {
				err = errors.New("is not over numbers from 1 to 65535")
			}
		case "select":
			p.Select, err = parseRatio(v)
		case "row-population":
			p.Populate, err = parseRatio(v)
		case "batchtype":
			if p.Batch = strings.ToUpper(v); !slices.Contains([]string{"LOGGED", "UNLOGGED", "COUNTER"}, p.Batch) {
				err = errors.New("is none of LOGGED, UNLOGGED, COUNTER")
			}
		case "consistencylevel", "serialconsistencylevel":
			err = errors.New("is set by the experiment, by consistency = ...")
		default:
			err = errors.New("is none of partitions, batchtype, select, row-population")
		}
		if err != nil {
			return fmt.Errorf("the insert's %s, %s, %w", k, given[k], err)
		}
	}
	if most := float64(p.Partitions.Max) * p.Table.MaxRows(); most > 65535 {
		return fmt.Errorf("an insert may have %.0f rows; a batch has 65535 at most", most)
	}
	return nil
}

// A Ratio is a distribution over a divisor: a share from 0 to 1.
type Ratio struct {
	d       Distribution
	divisor float64
}

func parseRatio(text string) (Ratio, error) {
	i := strings.LastIndexByte(text, '/')
	if i < 0 {
		return Ratio{}, errors.New("is no ratio such as uniform(1..10)/10")
	}
	d, err := Parse(text[:i])
	if err != nil {
		return Ratio{}, err
	}
	by, err := strconv.ParseFloat(strings.TrimSpace(text[i+1:]), 64)
	if err != nil || by <= 0 || d.Sequential() {
		return Ratio{}, errors.New("has no number above 0 behind the /")
	}
	return Ratio{d, by}, nil
}

// Draw takes a share.
func (q *Ratio) Draw(r Source) float64 {
	var v float64
	if q.d.kind == "uniform" { // fractions too
		v = min(float64(q.d.Min)+r.Float64()*(float64(q.d.Max)+1-float64(q.d.Min)), float64(q.d.Max))
	} else {
		v = float64(q.d.Draw(r))
	}
	return max(0, min(1, v/q.divisor))
}

// One says that the share is always 1.
func (q *Ratio) One() bool { return q.d.kind == "fixed" && float64(q.d.Min) >= q.divisor }

// RowBytes is about how many bytes a row has at the most.
func (t *Table) RowBytes() (n int64) {
	for _, c := range t.Columns() {
		n += c.MaxBytes()
	}
	return n
}

// Display writes a value in words: numbers and texts as such, other bytes in hexadecimal.
func (c *Column) Display(v []byte) string {
	switch c.base {
	case "ascii", "text", "varchar":
		return string(v)
	case "bigint", "counter", "time", "timestamp":
		return strconv.FormatInt(int64(binary.BigEndian.Uint64(v)), 10)
	case "int":
		return strconv.FormatInt(int64(int32(binary.BigEndian.Uint32(v))), 10)
	}
	return fmt.Sprintf("0x%x", v)
}
