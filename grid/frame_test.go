package grid

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// frames draws frames of both hands, at the origins of map grids.
func frames() *rapid.Generator[*Frame] {
	return rapid.Custom(func(t *rapid.T) *Frame {
		return &Frame{
			Origin:  [2]float64{rapid.Float64Range(1e5, 1e6).Draw(t, "east"), rapid.Float64Range(0, 1e7).Draw(t, "north")},
			Azimuth: rapid.OneOf(rapid.SampledFrom([]float64{0, 90, 180, 270}), rapid.Float64Range(0, 359.999)).Draw(t, "azimuth"),
			Left:    rapid.Bool().Draw(t, "left"),
		}
	})
}

func near(t interface{ Fatalf(string, ...any) }, what string, x, y, wantX, wantY, slack float64) {
	if !(math.Hypot(x-wantX, y-wantY) <= slack) {
		t.Fatalf("%s: (%.9g, %.9g), want (%.9g, %.9g)", what, x, y, wantX, wantY)
	}
}

// To the map and back is the identity, in frames of all azimuths and both hands; so are a frame's
// flag, and its exchanged axes.
func TestFrameThereAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := frames().Draw(t, "frame")
		x, y := rapid.Float64Range(-1e5, 1e5).Draw(t, "x"), rapid.Float64Range(-1e5, 1e5).Draw(t, "y")
		east, north := f.ToMap(x, y)
		backX, backY := f.FromMap(east, north)
		near(t, "back", backX, backY, x, y, 1e-6)
		if d := math.Hypot(east-f.Origin[0], north-f.Origin[1]); math.Abs(d-math.Hypot(x, y)) > 1e-6 {
			t.Fatalf("%g m from the origin become %g m", math.Hypot(x, y), d)
		}
		again, err := ParseFrame(f.Flag())
		if err != nil || *again != *f || !again.Equal(f) {
			t.Fatalf("%q is read as %v: %v", f.Flag(), again, err)
		}
		e, n := f.Swapped().ToMap(y, x)
		near(t, "exchanged axes", e, n, east, north, 1e-6)
	})
}

// Axes in each quadrant, and the hands, by the compass.
func TestFrameAxes(t *testing.T) {
	t.Parallel()
	r := math.Sqrt(0.5)
	for _, c := range []struct {
		azimuth float64
		left    bool
		x, y    [2]float64 // unit vectors, east and north
	}{
		{90, false, [2]float64{1, 0}, [2]float64{0, 1}},
		{0, false, [2]float64{0, 1}, [2]float64{-1, 0}},
		{0, true, [2]float64{0, 1}, [2]float64{1, 0}},
		{45, false, [2]float64{r, r}, [2]float64{-r, r}},
		{135, true, [2]float64{r, -r}, [2]float64{-r, -r}},
		{225, false, [2]float64{-r, -r}, [2]float64{r, -r}},
		{315, true, [2]float64{-r, r}, [2]float64{r, r}},
	} {
		f := &Frame{Origin: [2]float64{5e5, 6e6}, Azimuth: c.azimuth, Left: c.left}
		for i, want := range [2][2]float64{c.x, c.y} {
			e, n := f.ToMap(100*float64(1-i), 100*float64(i))
			near(t, f.String(), e, n, 5e5+100*want[0], 6e6+100*want[1], 1e-8)
		}
		if got, want := Degrees(f.Bearing(1, 0)), c.azimuth; math.Abs(got-want) > 1e-9 {
			t.Errorf("x has the bearing %g, want %g", got, want)
		}
	}
	var none *Frame
	if x, y := none.FromMap(1, 2); x != 1 || y != 2 || none.Handed() != "right" || none.Bearing(1, 0) != 90 {
		t.Error("no frame is not the map's")
	}
}

// Only what may be the same coordinates is equal.
func TestFramesThatDiffer(t *testing.T) {
	t.Parallel()
	f := Frame{Origin: [2]float64{431000, 6543000}, Azimuth: 359.99999999}
	for text, c := range map[string]struct {
		change func(*Frame)
		equal  bool
	}{
		"nothing":       {func(f *Frame) {}, true},
		"a whole turn":  {func(f *Frame) { f.Azimuth = 0 }, true},
		"lines":         {func(f *Frame) { f.Lines.Inline = 4 }, true},
		"a millimetre":  {func(f *Frame) { f.Origin[0] += 0.002 }, false},
		"the hand":      {func(f *Frame) { f.Left = true }, false},
		"a millidegree": {func(f *Frame) { f.Azimuth = 0.001 }, false},
	} {
		o := f
		c.change(&o)
		if f.Equal(&o) != c.equal {
			t.Errorf("%s: equal is %t", text, !c.equal)
		}
	}
	if f.Equal(nil) || !(*Frame)(nil).Equal(nil) {
		t.Error("a frame equals none")
	}
	g := Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{1, 1, 1}, Shape: []int{2, 2, 2}, Frame: &f}
	bare, other := g, g
	bare.Frame, other.Frame = nil, &Frame{Azimuth: 37}
	if !g.Equal(bare) || g.Equal(other) {
		t.Error("grids: a frame that is not known may be any, another is not")
	}
	for _, text := range []string{"", "1,2", "1,2,x", "1,2,3,up", "1,2,NaN", "1e16,0,0"} {
		if f, err := ParseFrame(text); err == nil {
			t.Errorf("%q is read as %v", text, f)
		}
	}
}

// Line numbers are those of the lines through a point, and none between lines.
func TestLineNumbers(t *testing.T) {
	t.Parallel()
	f := &Frame{Lines: Lines{Inline: 100, InlineStep: -25, Crossline: 1000, CrosslineStep: 6.25}}
	if i, x, ok := f.Numbers(25, 50); i != 98 || x != 1004 || !ok {
		t.Errorf("%d, %d, %t", i, x, ok)
	}
	if _, _, ok := f.Numbers(3, 50); ok {
		t.Error("a point between crosslines has a number")
	}
	if _, _, ok := (*Frame)(nil).Numbers(0, 0); ok {
		t.Error("no frame has numbers")
	}
}
