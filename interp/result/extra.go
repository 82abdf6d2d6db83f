package result

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// An Extra is a table that an analysis has made: plain values (nil, bool, int64, float64, string) by column. Its columns are
// nullable, and have the one type of their values; integers beside floats are floats.
type Extra struct {
	Name    string
	Columns []string
	Rows    [][]any
}

// name is what tables and columns of an analysis may be called.
var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// check refuses names that readers or other tables stumble over.
func (x *Extra) check() error {
	if !plainName.MatchString(x.Name) || len(x.Name) > 60 {
		return fmt.Errorf("a table %q: its name must be made of lower-case letters, digits and _", x.Name)
	}
	for _, d := range definitions() {
		if d.name == x.Name {
			return fmt.Errorf("a table %q: the run has a table of that name", x.Name)
		}
	}
	if len(x.Columns) == 0 {
		return fmt.Errorf("the table %s has no columns: give it at least one row", x.Name)
	}
	seen := map[string]bool{}
	for _, c := range x.Columns {
		if !plainName.MatchString(c) || seen[c] {
			return fmt.Errorf("table %s: the column %q is there twice, or is no name of lower-case letters, digits and _", x.Name, c)
		}
		seen[c] = true
	}
	return nil
}

// kind finds the type of a column.
func (x *Extra) kind(c int) (reflect.Type, error) {
	kind := ""
	for i, r := range x.Rows {
		k := ""
		switch v := r[c].(type) {
		case nil:
			continue
		case bool:
			k = "bool"
		case int64:
			k = "int"
		case float64:
			if v-v != 0 {
				return nil, fmt.Errorf("table %s, row %d: %s is not a finite number", x.Name, i, x.Columns[c])
			}
			k = "float"
		case string:
			k = "string"
		default:
			return nil, fmt.Errorf("table %s, row %d: %s is a %T", x.Name, i, x.Columns[c], v)
		}
		switch {
		case kind == "" || kind == k:
			kind = k
		case kind == "int" && k == "float", kind == "float" && k == "int":
			kind = "float"
		default:
			return nil, fmt.Errorf("table %s: the column %s holds %ss and %ss", x.Name, x.Columns[c], kind, k)
		}
	}
	if kind == "" {
		kind = "string"
	}
	return columnTypes()[kind], nil
}

// WriteExtra writes a table beside those of a sealed run, in place of an older one of that name.
func WriteExtra(dir string, x *Extra, meta Meta) error {
	if err := x.check(); err != nil {
		return err
	}
	var fields []reflect.StructField // a struct keeps the order of the columns
	for c, name := range x.Columns {
		t, err := x.kind(c)
		if err != nil {
			return err
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("C%d", c), Type: t, Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", name))})
	}
	schema := parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	tmp := filepath.Join(dir, ".writing-"+x.Name)
	err := writeFile(tmp, x.Name, schema, meta, func(w *parquet.Writer) error {
		row := make(parquet.Row, len(x.Columns))
		for _, r := range x.Rows {
			for c, v := range r {
				if n, ok := v.(int64); ok && fields[c].Type == reflect.TypeFor[*float64]() {
					v = float64(n)
				}
				row[c] = parquet.NullValue().Level(0, 0, c)
				if v != nil {
					row[c] = parquet.ValueOf(v).Level(0, 1, c)
				}
			}
			if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = os.Rename(tmp, filepath.Join(dir, x.Name+".parquet"))
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	return syncDir(dir)
}

// Extras are the names of the tables that analyses have made of a run.
func Extras(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".parquet")
		if plainName.MatchString(name) && !slices.ContainsFunc(definitions(), func(d tableDef) bool { return d.name == name }) {
			out = append(out, name)
		}
	}
	return out, nil
}

// ReadExtra reads such a table.
func ReadExtra(dir, name string) (*Extra, error) {
	x := &Extra{Name: name}
	columns := func(s *parquet.Schema) error {
		for _, c := range s.Columns() {
			x.Columns = append(x.Columns, c[0])
		}
		return nil
	}
	err := eachOf(filepath.Join(dir, name+".parquet"), name, columns, func(row []any) error {
		x.Rows = append(x.Rows, slices.Clone(row))
		return nil
	})
	return x, err
}
