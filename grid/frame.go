package grid

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Frame says where horizontal coordinates x, y lie on the map: how far from an origin, along axes
// at right angles that need not run east and north. It is immutable. A nil Frame is the map's
// own: x is east and y is north.
type Frame struct {
	Origin  [2]float64 // east and north of x = y = 0, m
	Azimuth float64    // of the x axis, degrees from north towards east, in [0, 360)

	// Left says that, seen from above, y lies to the right of x. Otherwise y lies to the left of
	// x, as north does of east.
	Left bool

	Lines Lines
}

// Lines are the numbers of the lines that run along the axes: an inline is a line of constant y, a
// crossline one of constant x. The zero value: they have none.
type Lines struct {
	Inline, Crossline         float64 // numbers at y = 0 and at x = 0
	InlineStep, CrosslineStep float64 // m, along y and x, from a number to the next; 0: no numbers
}

// axes are the unit vectors along x and y, east and north.
func (f *Frame) axes() (x, y [2]float64) {
	sine, cosine := sincos(f.Azimuth)
	x = [2]float64{sine, cosine}
	if f.Left {
		return x, [2]float64{cosine, -sine}
	}
	return x, [2]float64{-cosine, sine}
}

// sincos is exact where an axis runs along one of the map.
func sincos(degrees float64) (sine, cosine float64) {
	switch degrees {
	case 0:
		return 0, 1
	case 90:
		return 1, 0
	case 180:
		return 0, -1
	case 270:
		return -1, 0
	}
	return math.Sincos(degrees * math.Pi / 180)
}

// ToMap is the place on the map, m, of x, y.
func (f *Frame) ToMap(x, y float64) (east, north float64) {
	if f == nil {
		return x, y
	}
	along, across := f.axes()
	return f.Origin[0] + (x*along[0] + y*across[0]), f.Origin[1] + (x*along[1] + y*across[1])
}

// FromMap is the inverse of ToMap.
func (f *Frame) FromMap(east, north float64) (x, y float64) {
	if f == nil {
		return east, north
	}
	along, across := f.axes()
	e, n := east-f.Origin[0], north-f.Origin[1]
	return e*along[0] + n*along[1], e*across[0] + n*across[1]
}

// Bearing is the azimuth on the map, degrees, of a direction with components along x and y.
func (f *Frame) Bearing(x, y float64) float64 {
	if f != nil {
		along, across := f.axes()
		x, y = x*along[0]+y*across[0], x*along[1]+y*across[1]
	}
	return math.Atan2(x, y) * 180 / math.Pi
}

// Swapped is the frame whose x is y and whose y is x.
func (f *Frame) Swapped() *Frame {
	if f == nil {
		return &Frame{Azimuth: 0, Left: true}
	}
	_, y := f.axes()
	l := f.Lines
	return &Frame{Origin: f.Origin, Azimuth: Degrees(math.Atan2(y[0], y[1]) * 180 / math.Pi), Left: !f.Left,
		Lines: Lines{Inline: l.Crossline, Crossline: l.Inline, InlineStep: l.CrosslineStep, CrosslineStep: l.InlineStep}}
}

// Degrees is an azimuth in [0, 360).
func Degrees(azimuth float64) float64 {
	if azimuth = math.Mod(azimuth, 360); azimuth < 0 {
		azimuth += 360
	}
	if azimuth >= 360 {
		return 0
	}
	return azimuth + 0 // no -0
}

// Slacks within which two frames are one.
const (
	frameSlack   = 1e-3 // m
	azimuthSlack = 1e-7 // degrees: 1 mm over 500 km
)

// Equal reports whether coordinates in two frames are the same, to a millimetre. Numbers of lines do
// not count.
func (f *Frame) Equal(o *Frame) bool {
	if f == nil || o == nil {
		return f == o
	}
	turn := Degrees(f.Azimuth - o.Azimuth)
	return f.Left == o.Left && min(turn, 360-turn) <= azimuthSlack &&
		math.Abs(f.Origin[0]-o.Origin[0]) <= frameSlack && math.Abs(f.Origin[1]-o.Origin[1]) <= frameSlack
}

// Validate returns an error that names what is wrong with the frame, or nil.
func (f *Frame) Validate() error {
	if f == nil {
		return nil
	}
	for _, v := range f.Origin {
		if !(math.Abs(v) <= Farthest) {
			return fmt.Errorf("frame: origin is %g, %g m, must be finite and at most %g m from 0", f.Origin[0], f.Origin[1], float64(Farthest))
		}
	}
	if !(f.Azimuth >= 0 && f.Azimuth < 360) {
		return fmt.Errorf("frame: azimuth of x is %g degrees, must be from 0 to less than 360", f.Azimuth)
	}
	for _, v := range []float64{f.Lines.Inline, f.Lines.Crossline, f.Lines.InlineStep, f.Lines.CrosslineStep} {
		if !(math.Abs(v) <= Farthest) {
			return fmt.Errorf("frame: a line number or a distance of lines is %g, must be finite", v)
		}
	}
	return nil
}

// Handed is "left" or "right".
func (f *Frame) Handed() string {
	if f != nil && f.Left {
		return "left"
	}
	return "right"
}

// String describes the frame, such as "x at azimuth 37° from (431000, 6543000) m, y to its left".
func (f *Frame) String() string {
	if f == nil {
		return "x east, y north"
	}
	side := "left"
	if f.Left {
		side = "right"
	}
	return fmt.Sprintf("x at azimuth %s° from (%s, %s) m on the map, y to its %s", plain(f.Azimuth), plain(f.Origin[0]), plain(f.Origin[1]), side)
}

// Flag is the frame as ParseFrame reads it.
func (f *Frame) Flag() string {
	text := plain(f.Origin[0]) + "," + plain(f.Origin[1]) + "," + plain(f.Azimuth)
	if f.Left {
		text += ",left"
	}
	return text
}

func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// ParseFrame reads "EAST,NORTH,AZIMUTH", perhaps with ",left" or ",right" behind.
func ParseFrame(text string) (*Frame, error) {
	parts := strings.Split(text, ",")
	f := &Frame{}
	if len(parts) == 4 {
		switch strings.TrimSpace(parts[3]) {
		case "left":
			f.Left = true
		case "right":
		default:
			return nil, fmt.Errorf("frame is %q: want left or right after the azimuth, not %q", text, parts[3])
		}
		parts = parts[:3]
	}
	if len(parts) != 3 {
		return nil, fmt.Errorf("frame is %q, want EAST,NORTH,AZIMUTH[,left]", text)
	}
	for i, to := range []*float64{&f.Origin[0], &f.Origin[1], &f.Azimuth} {
		v, err := strconv.ParseFloat(strings.TrimSpace(parts[i]), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("frame is %q: %q is not a finite number", text, parts[i])
		}
		*to = v
	}
	f.Azimuth = Degrees(f.Azimuth)
	return f, f.Validate()
}

// Numbers are the line numbers at x, y. Without numbers, or between two lines, ok is false.
func (f *Frame) Numbers(x, y float64) (inline, crossline int64, ok bool) {
	if f == nil || f.Lines.InlineStep == 0 || f.Lines.CrosslineStep == 0 {
		return 0, 0, false
	}
	of := func(first, step, at float64) (int64, bool) {
		v := first + at/step
		n := math.Round(v)
		return int64(n), math.Abs(v-n) < 0.02 && math.Abs(n) <= math.MaxInt32
	}
	inline, one := of(f.Lines.Inline, f.Lines.InlineStep, y)
	crossline, other := of(f.Lines.Crossline, f.Lines.CrosslineStep, x)
	return inline, crossline, one && other
}
