package picture

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

func square(nx, nz int) grid.Grid {
	return grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{nx, nz}}
}

// A window shows its part of the array, at its place.
func TestWindow(t *testing.T) {
	g := square(40, 30)
	v := make([]float32, g.Len())
	v[25*30+12] = 1  // x = 250 m, z = 120 m
	v[35*30+12] = -9 // outside the window
	f, err := Image(g, v, Options{Clip: 100, Window: []float64{200, 300, 50, 200}})
	if err != nil {
		t.Fatal(err)
	}
	img, rects := decoded(t, f)
	r, p := rects[0][0], f.rows[0][0]
	if p.x.from != 195 || p.x.to != 305 || p.y.from != 45 || p.y.to != 205 {
		t.Errorf("the window spans x %g to %g, z %g to %g", p.x.from, p.x.to, p.y.from, p.y.to)
	}
	if p.raster.win.hi != 1 {
		t.Errorf("colours span %g, want what the window holds", p.raster.win.hi)
	}
	x, y := extreme(img, r, true)
	wantX, wantY := float64(r.Min.X)+fracX(p, 250)*float64(r.Dx()), float64(r.Min.Y)+fracY(p, 120)*float64(r.Dy())
	if math.Abs(x-wantX) > 2 || math.Abs(y-wantY) > 2 {
		t.Errorf("the point is at pixel (%.1f, %.1f), want (%.1f, %.1f)", x, y, wantX, wantY)
	}
}

// The depths of a window are those of the gathers below the image, too.
func TestWindowOfGathers(t *testing.T) {
	g := square(40, 30)
	c := Classes{Name: "offset", Unit: "m", Centers: []float64{100, 300}}
	v := make([]float32, 2*30)
	v[12], v[30+25] = 1, -9 // z = 120 m, and below the window
	f, err := ImageGathers(g, []ImageGather{{Name: "x = 250 m", Values: v}}, c, Options{Clip: 100, Window: []float64{200, 300, 50, 200}})
	if err != nil {
		t.Fatal(err)
	}
	p := f.rows[0][0]
	if p.y.from != 45 || p.y.to != 205 || p.x.from != 0 || p.x.to != 1 {
		t.Errorf("the gathers span z %g to %g, x %g to %g", p.y.from, p.y.to, p.x.from, p.x.to)
	}
	if p.raster.n0 != 2 || p.raster.n1 != 16 || p.raster.v[12-5] != 1 || p.raster.win.hi != 1 {
		t.Errorf("%d × %d values up to %g", p.raster.n0, p.raster.n1, p.raster.win.hi)
	}
}

// Gain 1 makes linear growth of what was constant; the middle keeps its values.
func TestGain(t *testing.T) {
	g := square(3, 100)
	v := make([]float32, g.Len())
	for i := range v {
		v[i] = 1
	}
	f, err := Image(g, v, Options{Gain: 1, Clip: 100})
	if err != nil {
		t.Fatal(err)
	}
	r := f.rows[0][0].raster
	for _, k := range []int{10, 50, 99} {
		want := float64(k) * 10 / 495
		if got := float64(r.v[k]); math.Abs(got-want) > 0.02 {
			t.Errorf("sample %d is %g, want %g", k, got, want)
		}
	}
	if v[10] != 1 {
		t.Error("the array itself has changed")
	}
}

// Wiggles are black to the right of the zero line where the trace is positive and white elsewhere.
func TestWiggles(t *testing.T) {
	const nt = 60
	data := make([]float32, 3*nt)
	for k := range nt {
		data[nt+k] = float32(math.Sin(2 * math.Pi * float64(k) / nt)) // positive in the upper half
	}
	f, err := Gather(data, Times{NT: nt, DT: 0.01}, []float64{0, 10, 20}, Options{Wiggles: true, Clip: 100})
	if err != nil {
		t.Fatal(err)
	}
	img, rects := decoded(t, f)
	r, p := rects[0][0], f.rows[0][0]
	at := func(offset, time float64) int {
		return grey(img.At(r.Min.X+int(fracX(p, offset)*float64(r.Dx())), r.Min.Y+int(fracY(p, time)*float64(r.Dy()))))
	}
	for _, c := range []struct {
		offset, time float64
		black        bool
	}{{13, 0.15, true}, {7, 0.15, false}, {13, 0.45, false}, {7, 0.45, false}, {3, 0.15, false}} {
		if got := at(c.offset, c.time); got < 60 != c.black {
			t.Errorf("offset %g m, %g s: grey %d, want black: %t", c.offset, c.time, got, c.black)
		}
	}
	if _, err := Gather(make([]float32, 4000), Times{NT: 4, DT: 1}, nil, Options{Wiggles: true}); !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "1000 traces are too many") {
		t.Errorf("a thousand wiggles: %v", err)
	}
}

// Beneath an image without amplitude the model shows its own colours; a strong reflector hides it.
func TestUnder(t *testing.T) {
	g := square(20, 20)
	v := make([]float32, g.Len())
	v[10*20+10] = 1
	model := square(2, 2)
	model.Spacing = []float64{190, 190}
	f, err := Image(g, v, Options{Clip: 100, Under: &Layer{Grid: model, Values: []float64{1000, 2000, 1000, 2000}, Bar: "velocity (m/s)"}})
	if err != nil {
		t.Fatal(err)
	}
	img, rects := decoded(t, f)
	r := rects[0][0]
	colour := func(i, j int) [3]uint8 {
		red, green, blue, _ := img.At(r.Min.X+(2*i+1)*r.Dx()/40, r.Min.Y+(2*j+1)*r.Dy()/40).RGBA()
		return [3]uint8{uint8(red >> 8), uint8(green >> 8), uint8(blue >> 8)}
	}
	table := func(share float64) [3]uint8 { c := Sequential.at(share); return [3]uint8{c.R, c.G, c.B} }
	if got := colour(2, 2); got != table(0) {
		t.Errorf("above the ground is %v, want %v", got, table(0))
	}
	if got := colour(2, 17); got != table(1) {
		t.Errorf("below the ground is %v, want %v", got, table(1))
	}
	if got := colour(10, 10); got[0] > 40 || got[1] > 40 {
		t.Errorf("the reflector is %v, want black", got)
	}
	if len(f.rows[0]) != 2 || f.rows[0][1].y.to != 1000 {
		t.Error("the colour bar is not that of the model")
	}
}

func TestFlatOptionsAreRefused(t *testing.T) {
	g := square(4, 4)
	cube := grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{1, 1, 1}, Shape: []int{2, 2, 2}}
	time := square(4, 4)
	time.Domain = grid.Time
	for name, f := range map[string]func() (*Figure, error){
		"beyond": func() (*Figure, error) {
			return Image(g, make([]float32, 16), Options{Window: []float64{50, 60, 0, 30}})
		},
		"empty": func() (*Figure, error) {
			return Image(g, make([]float32, 16), Options{Window: []float64{20, 10, 0, 30}})
		},
		"three": func() (*Figure, error) { return Image(g, make([]float32, 16), Options{Window: []float64{1, 2, 3}}) },
		"size":  func() (*Figure, error) { return Image(g, make([]float32, 16), Options{Size: [2]float64{0.1, 3}}) },
		"3-D":   func() (*Figure, error) { return Image(cube, make([]float32, 8), Options{Wiggles: true}) },
		"NaN": func() (*Figure, error) {
			return Image(g, make([]float32, 16), Options{Window: []float64{math.NaN(), 2, 0, 3}})
		},
	} {
		if _, err := f(); !errors.Is(err, ErrOption) {
			t.Errorf("%s: %v, want an error of options", name, err)
		}
	}
	if _, err := Image(g, make([]float32, 16), Options{Under: &Layer{Grid: time, Values: make([]float64, 16)}}); err == nil {
		t.Error("a model in time beneath an image in depth is drawn")
	}
}

// Points that are grey have no colour of their own, and those beside them keep theirs to the edge of their cells.
func TestGreyPoints(t *testing.T) {
	g := grid2(4, 2)
	v := []float32{1, 1, 1, 1, 1, 1, 1, 1}
	hidden := []bool{false, false, true, true, false, false, false, false}
	f, err := Image(g, v, Options{Colors: Diverging, Limit: 1, Grey: hidden})
	if err != nil {
		t.Fatal(err)
	}
	img, rects := decoded(t, f)
	r := rects[0][0]
	for i, want := range []bool{false, true, false, false} {
		for _, share := range []float64{0.05, 0.5, 0.95} {
			x := r.Min.X + int((float64(i)+share)/4*float64(r.Dx()))
			red, green, blue, _ := img.At(x, r.Min.Y+r.Dy()/2).RGBA()
			if got := red == green && green == blue; got != want {
				t.Errorf("column %d at %g of its width is grey: %v, want %v", i, share, got, want)
			}
		}
	}
}
