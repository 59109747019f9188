package report

import (
	"fmt"
	"math"
	"strings"
)

// Size of a chart in its own units, which the page scales, and of its frame.
const (
	chartWidth, chartHeight = 480.0, 300.0
	frameLeft, frameRight   = 62.0, 468.0
	frameTop, frameBottom   = 30.0, 252.0
	letter                  = 7.0 // width of one, about
)

// chart is a diagram of curves as the template draws it, in SVG.
type chart struct {
	Width, Height            float64
	Left, Right, Top, Bottom float64
	MiddleX, MiddleY         float64
	XLabel, YLabel           string
	XTicks, YTicks           []tick
	Lines                    []line
	Says                     string // what a reader that does not see it is told

	x, y   scale
	curves []curve
}

type tick struct {
	At   float64
	Text string
}

// line is a curve with its key. Class chooses colour and dashes.
type line struct {
	Name       string
	Class      int
	Path       string
	Dots       [][2]float64
	KeyX, KeyY float64
}

type curve struct {
	name  string
	class int
	x, y  []float64
	dots  bool
}

// scale is the range of an axis.
type scale struct {
	lo, hi float64
	log    bool
	whole  bool // ticks at whole numbers alone
}

func (s scale) frac(v float64) float64 {
	if s.log {
		return math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	}
	return (v - s.lo) / (s.hi - s.lo)
}

func newChart(x, y string) *chart {
	return &chart{Width: chartWidth, Height: chartHeight, Left: frameLeft, Right: frameRight,
		Top: frameTop, Bottom: frameBottom, MiddleX: (frameLeft + frameRight) / 2,
		MiddleY: (frameTop + frameBottom) / 2, XLabel: x, YLabel: y}
}

// add adds a curve; x ascends. Points that are not finite are left out, on a
// logarithmic axis those that are not positive too.
func (c *chart) add(name string, class int, x, y []float64, dots bool) {
	k := curve{name: name, class: class, dots: dots}
	for i := range x {
		if finite(y[i]) && (!c.y.log || y[i] > 0) {
			k.x, k.y = append(k.x, x[i]), append(k.y, y[i])
		}
	}
	if len(k.x) > 0 {
		c.curves = append(c.curves, k)
		c.x.hi = max(c.x.hi, k.x[len(k.x)-1])
	}
}

// trimRight ends the x axis a little behind where the last curve sinks to the
// least value for good.
func (c *chart) trimRight(least float64) {
	end, last := 0.0, c.x.hi
	for _, k := range c.curves {
		for i := range k.x {
			if k.y[i] > least {
				end = max(end, k.x[i])
			}
		}
	}
	if end > 0 {
		c.x.hi = min(last, 1.05*end)
	}
}

// finish lays the chart out.
func (c *chart) finish() *chart {
	if c.x.hi <= c.x.lo {
		c.x.hi = c.x.lo + 1
	}
	c.XTicks = c.ticks(c.x, 6, func(f float64) float64 { return c.Left + f*(c.Right-c.Left) })
	c.YTicks = c.ticks(c.y, 6, func(f float64) float64 { return c.Bottom - f*(c.Bottom-c.Top) })
	at := c.Left
	var names []string
	for _, k := range c.curves {
		l := line{Name: k.name, Class: k.class, KeyX: round(at), KeyY: 15}
		at += 44 + letter*float64(len([]rune(k.name)))
		names = append(names, k.name)
		var path strings.Builder
		for i := range k.x {
			if k.x[i] > c.x.hi*(1+1e-9) {
				break
			}
			px := round(c.Left + c.x.frac(k.x[i])*(c.Right-c.Left))
			py := round(c.Bottom - min(1, max(0, c.y.frac(k.y[i])))*(c.Bottom-c.Top))
			fmt.Fprintf(&path, "%s%g %g", map[bool]string{true: "M", false: " L"}[i == 0], px, py)
			if k.dots {
				l.Dots = append(l.Dots, [2]float64{px, py})
			}
		}
		l.Path = path.String()
		c.Lines = append(c.Lines, l)
	}
	c.Says = fmt.Sprintf("%s against %s: %s", c.YLabel, c.XLabel, strings.Join(names, ", "))
	return c
}

// round keeps a tenth of a unit: the page gets shorter, the eye sees nothing.
func round(v float64) float64 { return math.Round(10*v) / 10 }

func (c *chart) ticks(s scale, want float64, place func(frac float64) float64) (ticks []tick) {
	put := func(v float64) {
		ticks = append(ticks, tick{round(place(s.frac(v))), tickText(v)})
	}
	if s.log {
		first, last := math.Ceil(math.Log10(s.lo)-1e-9), math.Floor(math.Log10(s.hi)+1e-9)
		step := math.Max(1, math.Ceil((last-first)/want))
		between := []float64{1}
		if last-first <= 2 {
			between = []float64{1, 2, 5}
		}
		for e := first - 1; e <= last; e += step {
			for _, m := range between {
				if v := m * math.Pow(10, e); v >= s.lo*(1-1e-9) && v <= s.hi*(1+1e-9) {
					put(v)
				}
			}
		}
		return ticks
	}
	raw := (s.hi - s.lo) / want
	p := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * p
	for _, m := range []float64{1, 2, 5} {
		if raw <= m*p*(1+1e-9) {
			step = m * p
			break
		}
	}
	if s.whole {
		step = math.Max(1, math.Round(step))
	}
	for k := math.Ceil(s.lo/step - 1e-9); k*step <= s.hi+1e-9*step; k++ {
		put(k * step)
	}
	return ticks
}

// tickText writes 0.01 as such, 1e-05 as a power.
func tickText(v float64) string {
	return strings.Replace(fmt.Sprintf("%.4g", v+0), "-", "\u2212", 1)
}
