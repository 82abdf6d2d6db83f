package report

import (
	"bytes"
	_ "embed" // the page's template, style and script
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// A Section is a part of a page: text, tables, figures, in this order.
type Section struct {
	ID, Title  string
	Paragraphs []string
	Notices    []string // what must not be overlooked, shown as a list of warnings
	Tables     []PageTable
	Figures    []*Figure
	Code       string // shown as it is
}

// A PageTable is a table of a page with its caption.
type PageTable struct {
	Caption string
	*Table
}

// A Page is a whole report.
type Page struct {
	Title    string
	Lead     []string    // paragraphs
	Facts    [][2]string // a few words and their values, at the top
	Sections []Section
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// Size of a page's figures in points, so that their texts can be read on a telephone.
const figureWidth, figureHeight = 430, 270

// themed are the colours of figures that a page replaces by its theme's.
func themed() map[string]string {
	out := map[string]string{"#222222": "var(--ink)", "#DDDDDD": "var(--grid)"}
	for i, c := range seriesColors() {
		out[fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B)] = fmt.Sprintf("var(--s%d)", i)
	}
	return out
}

var hexColor = regexp.MustCompile(`#[0-9A-Fa-f]{6}`)

// pageFigure is a figure as the template takes it.
type pageFigure struct {
	ID, Note string
	SVG      template.HTML
	Data     PageTable
}

// Write writes the page as one HTML file that needs nothing else, in every theme and on paper.
func (p *Page) Write(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{"cell": cellOf}).Parse(pageHTML)
	if err != nil {
		return fmt.Errorf("the page's template: %w", err)
	}
	type section struct {
		Section
		Drawn []pageFigure
	}
	data := struct {
		*Page
		CSS      template.CSS
		JS       template.JS
		Sections []section
	}{Page: p, CSS: template.CSS(pageCSS), JS: template.JS(pageJS)}
	n := 0
	for _, s := range p.Sections {
		out := section{Section: s}
		for _, f := range s.Figures {
			n++
			svg, err := f.SVG(figureWidth, figureHeight)
			if err != nil {
				return err
			}
			id := "figure-" + strconv.Itoa(n)
			out.Drawn = append(out.Drawn, pageFigure{ID: id, Note: f.Note, SVG: inline(svg, f.describe()), Data: PageTable{Caption: f.Title, Table: f.Data()}})
		}
		data.Sections = append(data.Sections, out)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// inline makes a drawn figure part of a page: its colours become the theme's, its size that of its place.
func inline(svg []byte, description string) template.HTML {
	s := string(svg)
	s = s[strings.Index(s, "<svg"):]
	head, rest, _ := strings.Cut(s, ">")
	box := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s"`, figureWidth, figureHeight, template.HTMLEscapeString(description))
	if m := regexp.MustCompile(`viewBox="[^"]*"`).FindString(head); m != "" {
		box = fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" %s role="img" aria-label="%s"`, m, template.HTMLEscapeString(description))
	}
	rest = hexColor.ReplaceAllStringFunc(rest, func(c string) string {
		if v := themed()[strings.ToUpper(c)]; v != "" {
			return v
		}
		return c
	})
	return template.HTML(box + ">" + rest) //nolint:gosec // drawn here; its texts were escaped by the canvas
}

// describe is a figure in words.
func (f *Figure) describe() string {
	var names []string
	for _, s := range f.Series {
		names = append(names, s.Name)
	}
	out := f.Title
	if len(names) > 0 {
		out += ": " + strings.Join(names, ", ")
	}
	return out + ". The numbers stand in the table below it."
}

// Data is the table of a figure's numbers.
func (f *Figure) Data() *Table {
	if f.Kind == Heat {
		t := &Table{Columns: []Column{{Name: f.YLabel, Left: true}}}
		for _, l := range f.Labels {
			t.Columns = append(t.Columns, Column{Name: l})
		}
		for r, row := range f.Grid {
			line := []string{f.RowLabels[r]}
			for _, v := range row {
				line = append(line, Number(v))
			}
			t.Rows = append(t.Rows, line)
		}
		return t
	}
	of := f.Of
	if of == "" {
		of = "series"
	}
	t := &Table{Columns: []Column{{Name: of, Left: true}, {Name: f.XLabel}, {Name: f.YLabel}, {Name: "from"}, {Name: "to"}}}
	for _, s := range f.Series {
		for i, y := range s.Y {
			if y == nil {
				continue
			}
			at := func(v []*float64) string {
				if i < len(v) {
					return Number(v[i])
				}
				return "-"
			}
			x := ""
			if len(f.Labels) > 0 {
				x = f.Labels[i]
			} else {
				x = Number(&s.X[i])
			}
			t.Rows = append(t.Rows, []string{s.Name, x, Number(y), at(s.Lo), at(s.Hi)})
		}
	}
	return t
}

// cellOf is what the template shows of a table's cell.
func cellOf(t *Table, row, col int) struct {
	Text string
	Left bool
	Bold bool
} {
	return struct {
		Text string
		Left bool
		Bold bool
	}{t.Rows[row][col], t.Columns[col].Left, t.Bold[[2]int{row, col}]}
}
