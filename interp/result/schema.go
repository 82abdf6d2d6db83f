package result

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// An Axis is a column of its own in trials and summary. Type is "bool", "int", "float" or "string".
type Axis struct{ Name, Type string }

// A Table is one table of a run.
type Table struct {
	Name   string
	Doc    string
	schema *parquet.Schema
	base   *parquet.Schema // without axes
	row    reflect.Type    // the struct
	axes   []Axis
}

// A Schema is the tables of one run, in the order of the documentation.
type Schema struct {
	Tables []*Table
	byName map[string]*Table
}

type tableDef struct {
	name, doc string
	row       any
	axes      bool
}

func definitions() []tableDef {
	return []tableDef{
		{"trials", "one trial: one cell measured once", TrialRow{}, true},
		{"operations", "trial x operation type x outcome", OperationRow{}, false},
		{"intervals", "trial x operation type x interval: the time series", IntervalRow{}, false},
		{"latencies", "trial x operation type x kind x histogram bucket: percentiles over any group can be computed exactly", LatencyRow{}, false},
		{"errors", "trial x class x code", ErrorRow{}, false},
		{"resources", "trial x second x process: what the host, sextant and the server used", ResourceRow{}, false},
		{"server_counters", "trial x counter of the server, before and after", CounterRow{}, false},
		{"events", "what happened during the run beside the trials", EventRow{}, false},
		{"measurements", "what hooks recorded by ctx.record(name, value)", MeasurementRow{}, false},
		{"environment", "facts about host, product, script and servers, for each start of the run", EnvironmentRow{}, false},
		{"summary", "cell x metric: mean, deviation and interval over the trials; written when the run is sealed", SummaryRow{}, true},
	}
}

// NewSchema is the schema of a run with these axes.
func NewSchema(axes []Axis) (*Schema, error) {
	s := &Schema{byName: map[string]*Table{}}
	for _, d := range definitions() {
		t := &Table{Name: d.name, Doc: d.doc, row: reflect.TypeOf(d.row), base: parquet.SchemaOf(d.row)}
		t.schema = t.base
		if d.axes && len(axes) > 0 {
			t.axes = axes
			fields, err := axisFields(t.row, axes)
			if err != nil {
				return nil, fmt.Errorf("table %s: %w", d.name, err)
			}
			t.schema = parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
		}
		s.Tables = append(s.Tables, t)
		s.byName[d.name] = t
	}
	return s, nil
}

// columnTypes are the nullable types of columns that are made while a program runs.
func columnTypes() map[string]reflect.Type {
	return map[string]reflect.Type{"bool": reflect.TypeFor[*bool](), "int": reflect.TypeFor[*int64](),
		"float": reflect.TypeFor[*float64](), "string": reflect.TypeFor[*string]()}
}

// axisFields are the fields of a struct extended by a nullable one per axis.
func axisFields(row reflect.Type, axes []Axis) ([]reflect.StructField, error) {
	types := columnTypes()
	fields := reflect.VisibleFields(row)
	for i, a := range axes {
		t := types[a.Type]
		if t == nil {
			return nil, fmt.Errorf("axis %q has the unknown type %q", a.Name, a.Type)
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Axis%d", i), Type: t,
			Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", a.Name))})
	}
	return fields, nil
}

// Reserved are the column names that an axis can't have, because trials or summary has them already.
func Reserved() []string {
	var out []string
	seen := map[string]bool{}
	for _, d := range definitions() {
		if !d.axes {
			continue
		}
		for _, c := range parquet.SchemaOf(d.row).Columns() {
			if n := strings.Join(c, "."); !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}

// Table is the table of that name, or nil.
func (s *Schema) Table(name string) *Table { return s.byName[name] }

// Columns are the column names in order.
func (t *Table) Columns() []string {
	var out []string
	for _, c := range t.schema.Columns() {
		out = append(out, c[0])
	}
	return out
}

// values makes a Parquet row of a struct and the values of the axes (nil where the table has none).
func (t *Table) values(row any, axes []any) (parquet.Row, error) {
	if reflect.TypeOf(row) != t.row {
		return nil, fmt.Errorf("table %s takes rows of type %v, not %T", t.Name, t.row, row)
	}
	if len(axes) != len(t.axes) {
		return nil, fmt.Errorf("table %s has %d axes, the row %d", t.Name, len(t.axes), len(axes))
	}
	if err := finite(reflect.ValueOf(row)); err != nil {
		return nil, fmt.Errorf("table %s: %w", t.Name, err)
	}
	out := t.base.Deconstruct(make(parquet.Row, 0, len(t.schema.Columns())), row)
	for i, a := range axes {
		v, err := axisValue(t.axes[i], a)
		if err != nil {
			return nil, err
		}
		def := 1
		if v.IsNull() {
			def = 0
		}
		out = append(out, v.Level(0, def, len(t.base.Columns())+i))
	}
	for i, v := range out { // a reader refuses text that isn't UTF-8; the row must not hold on to the caller's memory
		if v.Kind() == parquet.ByteArray {
			s := strings.ToValidUTF8(string(v.ByteArray()), "\uFFFD")
			out[i] = parquet.ByteArrayValue([]byte(s)).Level(0, v.DefinitionLevel(), v.Column())
		}
	}
	return out, nil
}

func axisValue(a Axis, v any) (parquet.Value, error) {
	switch v := v.(type) {
	case nil:
		return parquet.NullValue(), nil
	case bool:
		if a.Type == "bool" {
			return parquet.BooleanValue(v), nil
		}
	case int64:
		if a.Type == "int" {
			return parquet.Int64Value(v), nil
		}
	case float64:
		if a.Type == "float" {
			return parquet.DoubleValue(v), nil
		}
	case string:
		if a.Type == "string" {
			return parquet.ByteArrayValue([]byte(v)), nil
		}
	}
	return parquet.Value{}, fmt.Errorf("axis %s of type %s can't hold %v (%T)", a.Name, a.Type, v, v)
}

// finite refuses NaN and infinity: undefined is null.
func finite(row reflect.Value) error {
	for i := range row.NumField() {
		f := row.Field(i)
		if f.Kind() == reflect.Pointer {
			if f.IsNil() {
				continue
			}
			f = f.Elem()
		}
		if f.Kind() == reflect.Float64 {
			if x := f.Float(); x-x != 0 {
				return fmt.Errorf("column %s is %v: undefined must be null", columnName(row.Type().Field(i)), x)
			}
		}
	}
	return nil
}

func columnName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
	return name
}
