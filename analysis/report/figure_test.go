package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
)

func ptrs(v ...float64) []*float64 {
	var out []*float64
	for _, x := range v {
		out = append(out, &x)
	}
	return out
}

func line(name string, y ...float64) Series {
	s := Series{Name: name, Y: ptrs(y...)}
	for i := range y {
		s.X = append(s.X, float64(i+1))
	}
	return s
}

// texts are all texts of an SVG, which must be well formed.
func texts(t *testing.T, svg []byte) string {
	t.Helper()
	var out []string
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(out, "|")
		}
		if err != nil {
			t.Fatalf("%v in %.300s", err, svg)
		}
		if c, ok := tok.(xml.CharData); ok && strings.TrimSpace(string(c)) != "" {
			out = append(out, strings.TrimSpace(string(c)))
		}
	}
}

// Every kind of figure names its axes, its series and its labels, and can be drawn as a picture.
func TestFigures(t *testing.T) {
	banded := line("full <&>", 10, 20, 15)
	banded.Lo, banded.Hi = ptrs(9, 18, 12), ptrs(11, 22, 18)
	gap := line("gap", 1, 2, 3)
	gap.Y[1] = nil
	for name, c := range map[string]struct {
		f    Figure
		want []string
	}{
		"lines": {Figure{Title: "Rate", XLabel: "clients", YLabel: "ops/s", Of: "level", Series: []Series{line("off", 100, 2000, 30000), banded, gap}}, []string{"Rate", "clients", "ops/s", "level", "off", "full <&>", "gap", "20k", "1|2|3"}},
		"log":   {Figure{Title: "p99", LogX: true, LogY: true, Series: []Series{line("a", 0.01, 1, 1000)}}, []string{"p99", "100", "0.01"}},
		"bars":  {Figure{Title: "Cost", Kind: Bars, Labels: []string{"one", "two"}, Series: []Series{{Name: "x", Y: ptrs(-5, 3), Lo: ptrs(-6, 2), Hi: ptrs(-4, 4)}, {Name: "y", Y: ptrs(1, 2)}}}, []string{"Cost", "one", "two", "x", "y"}},
		"heat":  {Figure{Title: "Heat", Kind: Heat, Labels: []string{"1", "4"}, RowLabels: []string{"small", "large"}, Grid: [][]*float64{ptrs(1234, 2), {nil, ptrs(7)[0]}}}, []string{"Heat", "small", "large", "1234", "7.000"}},
	} {
		svg, err := c.f.SVG(400, 250)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := texts(t, svg)
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s has no %q: %s", name, w, got)
			}
		}
		if strings.Contains(string(svg), "NaN") {
			t.Errorf("%s has NaN", name)
		}
		b, err := c.f.PNG(400, 250)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		img, err := png.Decode(bytes.NewReader(b))
		if err != nil || img.Bounds().Dx() < 1000 {
			t.Errorf("%s as a picture: %v", name, err)
		}
	}
}

// A figure that can't be drawn honestly is an error: nothing to show, no finite value, no logarithm.
func TestFigureRefusals(t *testing.T) {
	for name, f := range map[string]Figure{
		"empty": {Series: []Series{{Name: "a", X: []float64{1}, Y: []*float64{nil}}}}, "nothing": {}, "heat": {Kind: Heat, Labels: []string{"a"}, RowLabels: []string{"b"}, Grid: [][]*float64{{nil}}},
		"NaN": {Series: []Series{line("a", 1, math.NaN())}}, "infinite": {Series: []Series{line("a", math.Inf(1))}}, "log of 0": {LogY: true, Series: []Series{line("a", 0, 1)}},
	} {
		svg, err := f.SVG(100, 100)
		if err == nil || svg != nil {
			t.Errorf("%s was drawn", name)
		}
		if empty := name == "empty" || name == "nothing" || name == "heat"; errors.Is(err, ErrNothing) != empty || f.Empty() != empty {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A page stands alone: no address is fetched, texts are escaped, colours are the theme's, each figure has its numbers.
func TestPage(t *testing.T) {
	p := Page{Title: "a <b> study", Lead: []string{"What?"}, Facts: [][2]string{{"run", "1 & 2"}}, Sections: []Section{
		{ID: "cells", Title: "Cells", Notices: []string{"<script>alert(1)</script>"}, Tables: []PageTable{{Caption: "All \"cells\"", Table: &Table{Columns: []Column{{Name: "axis", Left: true}, {Name: "ops/s"}},
			Rows: [][]string{{"</table>", "12"}}, Bold: map[[2]int]bool{{0, 1}: true}}}}},
		{ID: "f", Title: "Figures", Figures: []*Figure{{Title: "Rate", XLabel: "clients", Of: "level", Series: []Series{line("off", 1, 2), line("full", 3, 4)}}}},
		{ID: "script", Title: "Script", Code: "x = \"</pre><script>\""},
	}}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	s := b.String()
	for _, want := range []string{"a &lt;b&gt; study", "1 &amp; 2", "&lt;script&gt;alert(1)", "&lt;/table&gt;", "<b>12</b>", "var(--s0)", "var(--s1)", "var(--ink)", `role="img"`,
		`aria-label="Rate: off, full`, "<summary>Numbers</summary>", "&lt;/pre&gt;&lt;script&gt;", "@media print", "prefers-color-scheme: dark", "width=device-width"} {
		if !strings.Contains(s, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if m := regexp.MustCompile(`(src|href)="?(https?:)?//|@import|url\(`).FindString(strings.ReplaceAll(s, "http://www.w3.org/", "")); m != "" {
		t.Errorf("the page fetches something: %q", m)
	}
	if n := strings.Count(s, "<script>"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	data := p.Sections[1].Figures[0].Data()
	if len(data.Rows) != 4 || data.Columns[0].Name != "level" || strings.Join(data.Rows[3], ",") != "full,2.000,4.000,-,-" {
		t.Errorf("numbers of the figure: %v", data.Rows)
	}
}
