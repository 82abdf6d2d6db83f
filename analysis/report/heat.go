package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// heatMap is a figure's grid as the plotter wants it.
type heatMap struct {
	f        *Figure
	low, top float64
}

func (h heatMap) Dims() (c, r int) { return len(h.f.Labels), len(h.f.RowLabels) }
func (h heatMap) X(c int) float64  { return float64(c) }
func (h heatMap) Y(r int) float64  { return float64(r) }
func (h heatMap) Min() float64     { return h.low }
func (h heatMap) Max() float64     { return h.top }
func (h heatMap) Z(c, r int) float64 {
	if v := h.f.Grid[r][c]; v != nil {
		return *v
	}
	return math.NaN()
}

// shades go from light to dark blue.
type shades struct{}

func (shades) Colors() []color.Color {
	var out []color.Color
	for i := range 64 {
		t := float64(i) / 63
		mix := func(a, b float64) uint8 { return uint8(a + (b-a)*t) }
		out = append(out, color.NRGBA{mix(0xde, 0x08), mix(0xeb, 0x45), mix(0xf7, 0x94), 255})
	}
	return out
}

var _ palette.Palette = shades{}

func (f *Figure) heat(p *plot.Plot) error {
	h := heatMap{f: f, low: math.Inf(1), top: math.Inf(-1)}
	for _, r := range f.Grid {
		for _, v := range r {
			if v != nil {
				h.low, h.top = min(h.low, *v), max(h.top, *v)
			}
		}
	}
	if h.low == h.top {
		h.low--
	}
	m := plotter.NewHeatMap(h, shades{})
	m.NaN = color.Transparent
	p.Add(m)
	var marks []plot.Tick
	for i, l := range f.RowLabels {
		marks = append(marks, plot.Tick{Value: float64(i), Label: l})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(marks)
	p.Y.Tick.LineStyle.Width = 0
	labels := plotter.XYLabels{}
	var dark []bool
	for r, row := range f.Grid {
		for c, v := range row {
			if v == nil {
				continue
			}
			labels.XYs, labels.Labels = append(labels.XYs, plotter.XY{X: float64(c), Y: float64(r)}), append(labels.Labels, Number(v))
			dark = append(dark, (*v-h.low)/(h.top-h.low) > 0.5)
		}
	}
	text, err := plotter.NewLabels(labels)
	if err != nil {
		return err
	}
	for i := range text.TextStyle {
		s := &text.TextStyle[i]
		s.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 9}
		s.XAlign, s.YAlign = draw.XCenter, draw.YCenter
		s.Color = color.NRGBA{0x11, 0x11, 0x11, 255}
		if dark[i] {
			s.Color = color.White
		}
	}
	p.Add(text)
	return nil
}
