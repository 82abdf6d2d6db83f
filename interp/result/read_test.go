package result

import (
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// A file of an earlier version lacks columns that may be null; whatever else differs is refused: its values would be taken for others.
func TestColumnsOfEarlierVersions(t *testing.T) {
	type now struct {
		A string   `parquet:"a"`
		B *int64   `parquet:"b"`
		C int64    `parquet:"c"`
		D *float64 `parquet:"d"`
	}
	type before struct {
		A string `parquet:"a"`
		C int64  `parquet:"c"`
	}
	type without struct {
		A string   `parquet:"a"`
		B *int64   `parquet:"b"`
		D *float64 `parquet:"d"`
	}
	type later struct {
		A string   `parquet:"a"`
		B *int64   `parquet:"b"`
		C int64    `parquet:"c"`
		D *float64 `parquet:"d"`
		E *float64 `parquet:"e"`
	}
	type other struct {
		A string   `parquet:"a"`
		B *float64 `parquet:"b"`
		C int64    `parquet:"c"`
		D *float64 `parquet:"d"`
	}
	type moved struct {
		B *int64   `parquet:"b"`
		A string   `parquet:"a"`
		C int64    `parquet:"c"`
		D *float64 `parquet:"d"`
	}
	want := parquet.SchemaOf(now{})
	for _, c := range []struct {
		name    string
		got     *parquet.Schema
		from    []int
		refused string
	}{
		{"the same", want, []int{0, 1, 2, 3}, ""},
		{"an earlier version", parquet.SchemaOf(before{}), []int{0, -1, 1, -1}, ""},
		{"without a column that is never null", parquet.SchemaOf(without{}), nil, "it has 3 columns"},
		{"with one more", parquet.SchemaOf(later{}), nil, "it has 5 columns"},
		{"with another type", parquet.SchemaOf(other{}), nil, "its column 1 is b"},
		{"in another order", parquet.SchemaOf(moved{}), nil, "its column 0 is b"},
	} {
		from, err := columnsOf(c.got, want)
		if !slices.Equal(from, c.from) || (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, %v", c.name, from, err)
		}
	}
}
