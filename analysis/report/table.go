// Package report turns results into what a person reads.
//
// Map of the package:
//
//	table.go  Table: aligned columns within a terminal's width
//	cells.go  Cells: the table of an experiment's cells, best values in bold
//	compare.go  Compare: effects with intervals, adjusted p, verdicts in words
//	figure.go  Figure: lines, bars, heat maps as SVG and PNG
//	heat.go, ticks.go  heat maps; the labels of axes
//	page.go    Page: a report as one HTML file (page.html, page.css, page.js)
package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Column of a Table.
type Column struct {
	Name string
	Left bool // aligned left; numbers are not
	// Drop says when a column goes because the table is too wide: the highest first, 0 never.
	Drop int
}

// A Table is text in columns.
type Table struct {
	Columns []Column
	Rows    [][]string
	Bold    map[[2]int]bool // row and column
}

// gap is between columns.
const gap = 2

// Write writes the table. Width is that of the terminal, 0 for any; bold says whether the output can show it. It
// returns the names of the columns that had no room.
func (t *Table) Write(w io.Writer, width int, bold bool) (dropped []string, err error) {
	widths := make([]int, len(t.Columns))
	for c, col := range t.Columns {
		widths[c] = utf8.RuneCountInString(col.Name)
		for _, r := range t.Rows {
			widths[c] = max(widths[c], utf8.RuneCountInString(r[c]))
		}
	}
	show := t.fit(widths, width)
	b := bufio.NewWriter(w)
	for c, col := range t.Columns {
		if !show[c] {
			dropped = append(dropped, col.Name)
		}
	}
	line := func(row int, text func(c int) string) {
		var l strings.Builder
		for c, col := range t.Columns {
			if !show[c] {
				continue
			}
			if l.Len() > 0 {
				l.WriteString(strings.Repeat(" ", gap))
			}
			pad := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(text(c)))
			s := text(c)
			if bold && t.Bold[[2]int{row, c}] {
				s = "\x1b[1m" + s + "\x1b[0m"
			}
			if col.Left {
				l.WriteString(s + pad)
			} else {
				l.WriteString(pad + s)
			}
		}
		fmt.Fprintln(b, strings.TrimRight(l.String(), " "))
	}
	line(-1, func(c int) string { return t.Columns[c].Name })
	for i, r := range t.Rows {
		line(i, func(c int) string { return r[c] })
	}
	return dropped, b.Flush()
}

// fit chooses the columns that have room.
func (t *Table) fit(widths []int, width int) []bool {
	show := make([]bool, len(widths))
	total := -gap
	for c := range show {
		show[c] = true
		total += widths[c] + gap
	}
	for width > 0 && total > width {
		worst := -1
		for c, col := range t.Columns {
			if show[c] && col.Drop > 0 && (worst < 0 || col.Drop > t.Columns[worst].Drop) {
				worst = c
			}
		}
		if worst < 0 {
			break
		}
		show[worst] = false
		total -= widths[worst] + gap
	}
	return show
}
