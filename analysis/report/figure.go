package report

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Kind is how a figure shows its series.
type Kind int

// The kinds of a figure.
const (
	Lines Kind = iota // points joined by lines, with bands where there are intervals
	Bars              // a group of bars for each label of X, a bar a series, with whiskers
	Heat              // cells of Grid, darker where higher
)

// A Series is one line, or one bar of each group. X, Y, Lo and Hi are parallel; a nil Y has no value, a nil Lo or Hi no
// interval.
type Series struct {
	Name      string
	X         []float64 // of Lines; bars stand at Figure.Labels
	Y, Lo, Hi []*float64
}

// A Figure is one figure as data.
type Figure struct {
	Title, XLabel, YLabel string
	Of                    string // what the series' names are values of: "scale / consistency"
	Note                  string // below it: what the bands are, what is left out
	Kind                  Kind
	LogX, LogY            bool
	Labels                []string // of Bars' groups; of Heat's columns; of Lines' X where they are 0, 1, 2, ...
	RowLabels             []string // of Heat
	Grid                  [][]*float64
	Series                []Series
}

// ErrNothing is a figure without a single value.
var ErrNothing = errors.New("there is no value to show")

// seriesColors are Okabe and Ito's (2008), which people with any colour vision tell apart; black comes last.
func seriesColors() []color.NRGBA {
	return []color.NRGBA{{0x00, 0x72, 0xb2, 255}, {0xd5, 0x5e, 0x00, 255}, {0x00, 0x9e, 0x73, 255}, {0xcc, 0x79, 0xa7, 255},
		{0xe6, 0x9f, 0x00, 255}, {0x56, 0xb4, 0xe9, 255}, {0x80, 0x80, 0x80, 255}, {0xb3, 0xa1, 0x0a, 255}}
}

// MaxSeries is how many series one figure tells apart.
const MaxSeries = 8

// ink and grid are the colours of text and lines; a page replaces them by its theme's.
var (
	ink  = color.NRGBA{0x22, 0x22, 0x22, 255}
	grid = color.NRGBA{0xdd, 0xdd, 0xdd, 255}
)

// SVG draws the figure; width and height are in points, those of the legend below come on top.
func (f *Figure) SVG(width, height float64) ([]byte, error) {
	height += f.legendHeight()
	c := vgsvg.New(vg.Length(width), vg.Length(height))
	if err := f.drawOn(draw.New(c), nil); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("writing the figure: %w", err)
	}
	return b.Bytes(), nil
}

// PNG draws the figure on white at 192 dots an inch; width and height are in points, as for SVG.
func (f *Figure) PNG(width, height float64) ([]byte, error) {
	height += f.legendHeight()
	c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(vg.Length(width), vg.Length(height)), vgimg.UseDPI(192))}
	if err := f.drawOn(draw.New(c), color.White); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("writing the figure: %w", err)
	}
	return b.Bytes(), nil
}

func (f *Figure) drawOn(c draw.Canvas, background color.Color) error {
	if err := f.check(); err != nil {
		return err
	}
	p := plot.New()
	p.BackgroundColor = background
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.XLabel, f.YLabel
	sans := font.Font{Typeface: "Liberation", Variant: "Sans", Size: 10}
	for _, s := range []*draw.TextStyle{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		s.Font, s.Color = sans, ink
	}
	p.Title.TextStyle.Font.Size, p.Title.Padding = 12, 6
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.LineStyle.Color, a.Tick.LineStyle.Color = ink, ink
		a.Tick.Marker = plot.TickerFunc(shortTicks(a.Tick.Marker))
	}
	if f.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	}
	if f.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	}
	if len(f.Labels) > 0 {
		var ticks []plot.Tick
		for i, l := range f.Labels {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: l})
		}
		p.X.Tick.Marker = plot.ConstantTicks(ticks)
		p.X.Tick.LineStyle.Width = 0
		p.X.Min, p.X.Max = -0.5, float64(len(f.Labels))-0.5
		long := 0
		for _, l := range f.Labels {
			long += len(l) + 2
		}
		if f.Kind != Heat && long > 70 {
			p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/4, draw.XRight, draw.YCenter
		}
	}
	if f.Kind != Heat {
		g := plotter.NewGrid()
		g.Vertical.Color, g.Horizontal.Color = color.Transparent, grid
		p.Add(g)
	}
	p.Legend.ThumbnailWidth, p.Legend.Padding = 22, 1
	if f.Of != "" {
		p.Legend.Add(f.Of)
	}
	var err error
	switch f.Kind {
	case Lines:
		err = f.lines(p)
	case Bars:
		err = f.bars(p)
	case Heat:
		err = f.heat(p)
	}
	if err != nil {
		return fmt.Errorf("drawing %q: %w", f.Title, err)
	}
	legend := p.Legend
	p.Legend = plot.NewLegend()
	h := vg.Length(f.legendHeight())
	p.Draw(draw.Crop(c, 0, -4, h, 0))
	if h > 0 {
		legend.Top, legend.Left, legend.XOffs = true, true, 8
		legend.Draw(draw.Crop(c, 0, 0, 0, h-c.Size().Y-legendGap))
	}
	return nil
}

// The legend stands below the figure, a line a series.
const legendLine, legendGap = 10.5, 4

func (f *Figure) legendHeight() float64 {
	if len(f.Series) < 2 {
		return 0
	}
	n := len(f.Series)
	if f.Of != "" {
		n++
	}
	return float64(n)*legendLine + legendGap
}

// check refuses a figure that can't be drawn: nothing to show, or a number that isn't finite or has no logarithm.
func (f *Figure) check() error {
	if f.Empty() {
		return fmt.Errorf("figure %q: %w", f.Title, ErrNothing)
	}
	for _, s := range f.Series {
		for i, y := range s.Y {
			if y == nil {
				continue
			}
			if !finite(*y) || f.LogY && *y <= 0 || f.Kind == Lines && (!finite(s.X[i]) || f.LogX && s.X[i] <= 0) {
				return fmt.Errorf("figure %q: the series %s has a value that can't be shown", f.Title, s.Name)
			}
		}
	}
	return nil
}

// Empty says whether the figure has nothing to show.
func (f *Figure) Empty() bool {
	for _, s := range f.Series {
		for _, y := range s.Y {
			if y != nil {
				return false
			}
		}
	}
	for _, r := range f.Grid {
		for _, v := range r {
			if v != nil {
				return false
			}
		}
	}
	return true
}

func finite(v float64) bool { return v-v == 0 }

func (f *Figure) lines(p *plot.Plot) error {
	for k, s := range f.Series {
		c := seriesColors()[k%MaxSeries]
		var points, up, down plotter.XYs
		for i, y := range s.Y {
			if y == nil {
				continue
			}
			points = append(points, plotter.XY{X: s.X[i], Y: *y})
			if i < len(s.Lo) && s.Lo[i] != nil && i < len(s.Hi) && s.Hi[i] != nil {
				lo := *s.Lo[i]
				if f.LogY && lo <= 0 {
					lo = *y / 10
				}
				up = append(up, plotter.XY{X: s.X[i], Y: *s.Hi[i]})
				down = append(down, plotter.XY{X: s.X[i], Y: lo})
			}
		}
		if len(points) == 0 {
			continue
		}
		if len(up) > 1 {
			ring := append(plotter.XYs{}, up...)
			for i := len(down) - 1; i >= 0; i-- {
				ring = append(ring, down[i])
			}
			band, err := plotter.NewPolygon(ring)
			if err != nil {
				return err
			}
			shade := c
			shade.A = 0x30
			band.Color, band.LineStyle.Width = shade, 0
			p.Add(band)
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color, line.Width = c, 1.4
		line.Dashes = dashes(k)
		p.Add(line)
		if len(points) <= 40 {
			dots, err := plotter.NewScatter(points)
			if err != nil {
				return err
			}
			dots.Color, dots.Radius, dots.Shape = c, 2.2, shape(k)
			p.Add(dots)
			p.Legend.Add(s.Name, line, dots)
			continue
		}
		p.Legend.Add(s.Name, line)
	}
	if !f.LogY {
		p.Y.Min = min(p.Y.Min, 0)
	}
	if at := f.places(); len(f.Labels) == 0 && len(at) <= 8 {
		var ticks []plot.Tick
		for _, x := range at {
			ticks = append(ticks, plot.Tick{Value: x, Label: shortNumber(x)})
		}
		p.X.Tick.Marker = plot.ConstantTicks(ticks)
	}
	return nil
}

// places are the different X of the series.
func (f *Figure) places() []float64 {
	seen := map[float64]bool{}
	for _, s := range f.Series {
		for _, x := range s.X {
			seen[x] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// dashes and shape tell series apart without their colours.
func dashes(k int) []vg.Length {
	return [][]vg.Length{nil, {5, 3}, {2, 2}, {7, 2, 2, 2}}[k%4]
}

func shape(k int) draw.GlyphDrawer {
	return []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}}[k%4]
}

// barSpace is how much of a group's width its bars take.
const barSpace = 0.8

func (f *Figure) bars(p *plot.Plot) error {
	w := barSpace / float64(len(f.Series))
	for k, s := range f.Series {
		c := seriesColors()[k%MaxSeries]
		var legend plot.Thumbnailer
		for i, y := range s.Y {
			if y == nil {
				continue
			}
			x := float64(i) - barSpace/2 + w*float64(k)
			box, err := plotter.NewPolygon(plotter.XYs{{X: x, Y: 0}, {X: x, Y: *y}, {X: x + w*0.9, Y: *y}, {X: x + w*0.9, Y: 0}})
			if err != nil {
				return err
			}
			box.Color, box.LineStyle.Width = c, 0
			p.Add(box)
			legend = box
			if i < len(s.Lo) && s.Lo[i] != nil && s.Hi[i] != nil {
				whisker, err := plotter.NewLine(plotter.XYs{{X: x + w*0.45, Y: *s.Lo[i]}, {X: x + w*0.45, Y: *s.Hi[i]}})
				if err != nil {
					return err
				}
				whisker.Color, whisker.Width = ink, 1
				p.Add(whisker)
			}
		}
		if legend != nil {
			p.Legend.Add(s.Name, legend)
		}
	}
	zero, err := plotter.NewLine(plotter.XYs{{X: -0.5, Y: 0}, {X: float64(len(f.Labels)) - 0.5, Y: 0}})
	if err != nil {
		return err
	}
	zero.Color, zero.Width = ink, 0.5
	p.Add(zero)
	return nil
}
