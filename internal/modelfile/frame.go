package modelfile

import (
	"cmp"
	"math"
	"regexp"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// sums describe the axes of a regular grid of nx by ny places, by least squares: its middle, and
// the steps a from crossline to crossline and b from inline to inline.
type sums struct {
	middle, a, b [2]float64
	u, w         float64 // mean number of crosslines, of inlines
	uu, ww       float64 // sums of squares about these
}

func sumsOf(at [][2]float64, nx int) (s sums) {
	n, ny := float64(len(at)), len(at)/nx
	s.u, s.w = float64(nx-1)/2, float64(ny-1)/2
	for _, p := range at {
		s.middle[0], s.middle[1] = s.middle[0]+(p[0]-at[0][0])/n, s.middle[1]+(p[1]-at[0][1])/n
	}
	for c, p := range at {
		u, w := float64(c%nx)-s.u, float64(c/nx)-s.w
		s.uu, s.ww = s.uu+u*u, s.ww+w*w
		for k := range p {
			s.a[k], s.b[k] = s.a[k]+u*(p[k]-at[0][k]), s.b[k]+w*(p[k]-at[0][k])
		}
	}
	for k := range s.a {
		s.a[k], s.b[k] = s.a[k]/s.uu, s.b[k]/s.ww
		s.middle[k] += at[0][k]
	}
	return s
}

// fit is the frame with x along the inlines and y along the crosslines, both in the direction of
// growing numbers, whose axes at right angles fit places best, and the spacings in it. Its numbers
// have the fewest digits that the rounding of places allows.
func (t *traces) fit(at [][2]float64, nx int) (f *grid.Frame, dx, dy float64) {
	s := sumsOf(at, nx)
	f = &grid.Frame{Left: s.a[0]*s.b[1]-s.a[1]*s.b[0] < 0}
	turned := [2]float64{s.b[1], -s.b[0]} // b, turned to lie along x
	if f.Left {
		turned = [2]float64{-s.b[1], s.b[0]}
	}
	xx := s.uu*s.a[0]*s.a[0] + s.ww*turned[0]*turned[0]
	yy := s.uu*s.a[1]*s.a[1] + s.ww*turned[1]*turned[1]
	xy := s.uu*s.a[0]*s.a[1] + s.ww*turned[0]*turned[1]
	angle := 0.5 * math.Atan2(2*xy, xx-yy) // from east towards north, of the principal axis
	if math.Cos(angle)*s.a[0]+math.Sin(angle)*s.a[1] < 0 {
		angle += math.Pi
	}
	exact := grid.Degrees(90 - angle*180/math.Pi)
	extent := math.Hypot(math.Hypot(s.a[0], s.a[1])*float64(nx-1), math.Hypot(s.b[0], s.b[1])*float64(len(at)/nx-1))
	set := func(near float64) float64 { // to numbers that move no place by more than about near
		f.Azimuth = grid.Degrees(shortest(exact, near/extent*180/math.Pi))
		dx, dy = along(f, s, near/float64(nx-1), near/float64(len(at)/nx-1))
		east, north := (&grid.Frame{Azimuth: f.Azimuth, Left: f.Left}).ToMap(s.u*dx, s.w*dy)
		f.Origin = [2]float64{shortest(s.middle[0]-east, near), shortest(s.middle[1]-north, near)}
		return off(at, nx, f, [2]float64{}, [2]float64{dx, 0}, [2]float64{0, dy})
	}
	best := set(0)
	for near := t.resolution / 2; near > 1e-4*t.resolution; near /= 10 {
		if set(near) <= 1.5*best+1e-3*t.resolution {
			return f, dx, dy
		}
	}
	set(0)
	return f, dx, dy
}

// along are the steps of lines along the axes of a frame.
func along(f *grid.Frame, s sums, nearX, nearY float64) (dx, dy float64) {
	dx, _ = f.FromMap(f.Origin[0]+s.a[0], f.Origin[1]+s.a[1])
	_, dy = f.FromMap(f.Origin[0]+s.b[0], f.Origin[1]+s.b[1])
	return shortest(dx, nearX), shortest(dy, nearY)
}

// off is how far places, at most, lie off the grid with first point and steps in a frame.
func off(at [][2]float64, nx int, f *grid.Frame, first, a, b [2]float64) (worst float64) {
	for c, p := range at {
		u, w := float64(c%nx), float64(c/nx)
		e, n := f.ToMap(first[0]+u*a[0]+w*b[0], first[1]+u*a[1]+w*b[1])
		worst = max(worst, math.Hypot(p[0]-e, p[1]-n))
	}
	return worst
}

// shortest is the number with the fewest decimals that is as near as that to v.
func shortest(v, near float64) float64 {
	for scale := 1.0; scale <= 1e9; scale *= 10 {
		if r := math.Round(v*scale) / scale; math.Abs(r-v) <= near {
			return r + 0 // no -0
		}
	}
	return v
}

// turned lays out traces whose lines do not run along the axes of the map: in the given frame, in
// that of the textual header of lsm, or in the one that their places say.
func (t *traces) turned(x, y *Axis, at [][2]float64, inlines, crosslines []int32, opt Options) error {
	nx := x.N
	fitted, dx, dy := t.fit(at, nx)
	slack := t.slack(min(dx, dy))
	if off := off(at, nx, fitted, [2]float64{}, [2]float64{dx, 0}, [2]float64{0, dy}); !(off <= slack) {
		s := sumsOf(at, nx)
		angle := math.Abs(math.Atan2(s.a[0]*s.b[1]-s.a[1]*s.b[0], s.a[0]*s.b[0]+s.a[1]*s.b[1])) * 180 / math.Pi
		return t.fault("inlines and crosslines are not at right angles (%.4g°): on axes that are, its traces lie up to %.3g off", angle, off)
	}
	x.Origin, x.Spacing, y.Origin, y.Spacing = 0, dx, 0, dy
	f := cmp.Or(t.inFileUnit(opt), t.toldFrame())
	if f == nil {
		fitted.Lines = linesOf(inlines, crosslines, dx, dy)
		t.frame, t.Axes = fitted, []Axis{*y, *x}
		t.note("x runs along the inlines: %s", fitted)
		return nil
	}
	half := t.resolution / 2
	x0, y0 := f.FromMap(fitted.Origin[0], fitted.Origin[1])
	x0, y0 = shortest(x0, half), shortest(y0, half)
	// The fitted axes in f, whose origin does not matter for directions.
	turn := func(f *grid.Frame) *grid.Frame { return &grid.Frame{Azimuth: f.Azimuth, Left: f.Left} }
	alongX, alongY := turn(f).FromMap(turn(fitted).ToMap(1, 0))
	acrossX, acrossY := turn(f).FromMap(turn(fitted).ToMap(0, 1))
	a, b := [2]float64{math.Copysign(dx, alongX), 0}, [2]float64{0, math.Copysign(dy, acrossY)}
	x.Origin, x.Spacing, y.Origin, y.Spacing = x0, a[0], y0, b[1]
	if math.Abs(alongX) < math.Abs(alongY) { // its inlines run along y
		a, b = [2]float64{0, math.Copysign(dx, alongY)}, [2]float64{math.Copysign(dy, acrossX), 0}
		x.Name, x.Origin, x.Spacing, y.Name, y.Origin, y.Spacing = "y", y0, a[1], "x", x0, b[0]
	}
	if off := off(at, nx, f, [2]float64{x0, y0}, a, b); !(off <= slack) {
		return t.fault("its lines do not run along the axes of the frame %s: traces lie up to %.3g off; their own is %s", f, off, fitted)
	}
	out := *f
	if out.Lines == (grid.Lines{}) && x.Name == "x" {
		l := linesOf(inlines, crosslines, x.Spacing, y.Spacing)
		if l.CrosslineStep != 0 {
			l.Crossline -= x0 / l.CrosslineStep
			l.Inline -= y0 / l.InlineStep
		}
		out.Lines = l
	}
	t.frame, t.Axes = &out, []Axis{*y, *x}
	t.note("x and y lie in the frame %s", &out)
	return nil
}

// linesOf are the numbers of lines whose first ones lie at 0; none for lines that have no numbers.
func linesOf(inlines, crosslines []int32, dx, dy float64) grid.Lines {
	if inlines == nil {
		return grid.Lines{}
	}
	return grid.Lines{Inline: float64(inlines[0]), InlineStep: dy / float64(inlines[1]-inlines[0]),
		Crossline: float64(crosslines[0]), CrosslineStep: dx / float64(crosslines[1]-crosslines[0])}
}

// inFileUnit is the given frame with lengths in the unit of the places; nil: none is given.
func (t *traces) inFileUnit(opt Options) *grid.Frame {
	if opt.Frame == nil {
		return nil
	}
	factor := axisFactors[cmp.Or(opt.LengthUnits, t.unit, "m")]
	f := *opt.Frame
	for _, v := range []*float64{&f.Origin[0], &f.Origin[1], &f.Lines.InlineStep, &f.Lines.CrosslineStep} {
		*v /= factor
	}
	return &f
}

// The lines of lsm's textual headers about a frame.
var (
	azimuthText = regexp.MustCompile(`FRAME: X AT AZIMUTH (\S+) DEGREES FROM NORTH, Y TO ITS (LEFT|RIGHT)`)
	originText  = regexp.MustCompile(`FRAME: X = Y = 0 AT (\S+), (\S+) M`)
)

// toldFrame is the frame that the textual header of lsm tells; nil for none.
func (t *traces) toldFrame() *grid.Frame {
	a, o := azimuthText.FindStringSubmatch(t.file.Text), originText.FindStringSubmatch(t.file.Text)
	if a == nil || o == nil {
		return nil
	}
	f, err := grid.ParseFrame(o[1] + "," + o[2] + "," + a[1] + map[string]string{"LEFT": ",right", "RIGHT": ",left"}[a[2]])
	if err != nil {
		return nil
	}
	return f
}

// perLine is the number of traces of each of several lines that follow each other in the file, as
// their places say; 0 where these lie on one line or are not of such lines.
func (t *traces) perLine() int {
	p := t.place
	if len(p) < 4 || t.unit == "angle" {
		return 0
	}
	step := difference(p[1], p[0], 1)
	slack := t.slack(math.Hypot(step[0], step[1]))
	n := 2
	for n < len(p) {
		d := difference(p[n], p[n-1], 1)
		if math.Hypot(d[0]-step[0], d[1]-step[1]) > 2*slack {
			break
		}
		n++
	}
	if n == len(p) || len(p)%n != 0 || step == [2]float64{} {
		return 0
	}
	next := difference(p[n], p[0], 1)
	if math.Abs(next[0]*step[1]-next[1]*step[0]) < 0.5*math.Hypot(next[0], next[1])*math.Hypot(step[0], step[1]) {
		return 0 // back on the line, or askew
	}
	return n
}

// gridByOrder lays out lines of n traces that follow each other in the file.
func (t *traces) gridByOrder(n int, opt Options) error {
	for i := range t.place {
		t.cell = append(t.cell, int32(i))
	}
	x, y := Axis{Name: "x", N: n, Unit: t.unit}, Axis{Name: "y", N: len(t.place) / n, Unit: t.unit}
	err := t.turned(&x, &y, t.place, nil, nil, opt)
	if err != nil {
		t.cell = nil
	}
	return err
}
