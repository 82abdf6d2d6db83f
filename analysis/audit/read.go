package audit

import (
	"encoding/csv"
	"fmt"
	"regexp"
	"strings"
)

// A Table is a table of a text.
type Table struct {
	Line    int    // of its head, from 1
	Caption string // the text before it, as far as it speaks of the table
	Columns []string
	Rows    [][]string
	Lines   []int // of each row
}

// Name is the table's number in its caption, or its line.
func (t *Table) Name() string {
	if m := regexp.MustCompile(`(?i)\btable\s+\d+`).FindString(t.Caption); m != "" {
		return m
	}
	return fmt.Sprintf("line %d", t.Line)
}

var ruler = regexp.MustCompile(`^[\s|:+-]+$`)

// Tables finds the tables of a text: CSV when the name ends so, else Markdown's and blocks of lines with tabs.
func Tables(name, text string) ([]*Table, error) {
	if strings.HasSuffix(strings.ToLower(name), ".csv") {
		return csvTable(text)
	}
	var out []*Table
	var t *Table
	caption := ""
	end := func() {
		if t != nil && len(t.Rows) > 0 {
			out = append(out, t)
		}
		t = nil
	}
	for i, l := range strings.Split(text, "\n") {
		cells := split(l)
		switch {
		case cells == nil:
			if t != nil {
				end()
				caption = ""
			}
			if s := strings.TrimSpace(l); s != "" {
				caption = s
			}
		case t == nil:
			t = &Table{Line: i + 1, Caption: caption, Columns: cells}
		case strings.Contains(l, "-") && ruler.MatchString(l):
		case len(cells) == len(t.Columns):
			t.Rows, t.Lines = append(t.Rows, cells), append(t.Lines, i+1)
		default:
			end()
			t = &Table{Line: i + 1, Caption: caption, Columns: cells}
		}
	}
	end()
	return out, nil
}

// split cuts a line into cells: at tabs, or at the bars of a Markdown table. A line of text has none.
func split(l string) []string {
	var cells []string
	s := strings.TrimSpace(l)
	switch {
	case strings.HasPrefix(s, "|") && strings.Count(s, "|") > 1:
		cells = strings.Split(strings.Trim(s, "|"), "|")
	case strings.Count(strings.Trim(l, "\t "), "\t") > 0:
		cells = strings.Split(strings.Trim(l, " "), "\t")
	default:
		return nil
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

func csvTable(text string) ([]*Table, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading the CSV: %w", err)
	}
	if len(rows) < 2 {
		return nil, nil
	}
	t := &Table{Line: 1, Columns: rows[0]}
	for i, row := range rows[1:] {
		if len(row) == len(t.Columns) {
			t.Rows, t.Lines = append(t.Rows, row), append(t.Lines, i+2)
		}
	}
	return []*Table{t}, nil
}
