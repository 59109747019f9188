package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

func grid2(nx, nz int) grid.Grid {
	return grid.Grid{Origin: []float64{100, 50}, Spacing: []float64{20, 10}, Shape: []int{nx, nz}}
}

// decoded sends the figure through PNG and back, and gives the framed areas.
func decoded(t *testing.T, f *Figure) (image.Image, [][]image.Rectangle) {
	t.Helper()
	var buf bytes.Buffer
	if err := f.Encode(&buf); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&buf)
	if err != nil {
		t.Fatal(err)
	}
	rects, w, h := f.layout()
	if img.Bounds() != image.Rect(0, 0, w, h) {
		t.Fatalf("picture is %v, layout says %d×%d", img.Bounds(), w, h)
	}
	return img, rects
}

// fracX and fracY are where a value lies, in parts of the frame from its upper left corner.
func fracX(p *panel, v float64) float64 { return p.plot().X.Norm(v) }
func fracY(p *panel, v float64) float64 { return 1 - p.plot().Y.Norm(v) }

func grey(c color.Color) int {
	r, _, _, _ := c.RGBA()
	return int(r >> 8)
}

// extreme is the centre of gravity of the darkest or brightest pixels in r.
func extreme(img image.Image, r image.Rectangle, dark bool) (x, y float64) {
	best, n := 0, 0.0
	for px := r.Min.X; px < r.Max.X; px++ {
		for py := r.Min.Y; py < r.Max.Y; py++ {
			v := grey(img.At(px, py))
			if dark {
				v = 255 - v
			}
			if v > best {
				best, n, x, y = v, 0, 0, 0
			}
			if v == best {
				x, y, n = x+float64(px)+0.5, y+float64(py)+0.5, n+1
			}
		}
	}
	return x / n, y / n
}

func TestImageOrientation(t *testing.T) {
	const nx, nz = 9, 12
	g := grid2(nx, nz)
	v := make([]float32, nx*nz)
	v[6*nz+2] = 1  // right and shallow: black
	v[1*nz+9] = -1 // left and deep: white
	f, err := Image(g, v, Options{Clip: 100})
	if err != nil {
		t.Fatal(err)
	}
	img, rects := decoded(t, f)
	r := rects[0][0]
	for _, p := range []struct {
		ix, iz int
		dark   bool
	}{{6, 2, true}, {1, 9, false}} {
		x, y := extreme(img, r, p.dark)
		wantX := float64(r.Min.X) + (float64(p.ix)+0.5)/nx*float64(r.Dx())
		wantY := float64(r.Min.Y) + (float64(p.iz)+0.5)/nz*float64(r.Dy())
		if math.Abs(x-wantX) > 1 || math.Abs(y-wantY) > 1 {
			t.Errorf("sample (%d, %d) is at pixel (%.1f, %.1f), want (%.1f, %.1f)", p.ix, p.iz, x, y, wantX, wantY)
		}
	}
	// Zero is the middle grey, L* = 50, which is 119 in sRGB.
	if got := grey(img.At(r.Min.X+r.Dx()/2, r.Max.Y-3)); got < 118 || got > 120 {
		t.Errorf("zero is drawn as %d, want 119", got)
	}
	// True to scale: 180 m by 120 m.
	if want := float64(r.Dx()) * 120 / 180; math.Abs(float64(r.Dy())-want) > 1 {
		t.Errorf("frame is %d×%d pixels for 180×120 m", r.Dx(), r.Dy())
	}
}

func TestModelBlocksAndBar(t *testing.T) {
	g := grid2(2, 2)
	f, err := Model(g, []float64{1500, 2500, 2000, 3000}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := f.rows[0][0]
	if bar := f.rows[0][1]; bar.y.label != "velocity (m/s)" {
		t.Errorf("bar is %q", bar.y.label)
	}
	if p.raster.win.lo != 1500 || p.raster.win.hi != 3000 {
		t.Errorf("colours span %g to %g, want 1500 to 3000", p.raster.win.lo, p.raster.win.hi)
	}
	img, rects := decoded(t, f)
	r := rects[0][0]
	lut := Sequential
	for _, q := range []struct {
		i, k int
		v    float64
	}{{0, 0, 1500}, {0, 1, 2500}, {1, 0, 2000}, {1, 1, 3000}} {
		// Each sample is a block of one colour up to its edge.
		for _, off := range []float64{0.1, 0.5, 0.9} {
			x := r.Min.X + int((float64(q.i)+off)/2*float64(r.Dx()))
			y := r.Min.Y + int((float64(q.k)+off)/2*float64(r.Dy()))
			want := lut.at((q.v - 1500) / 1500)
			if got := color.RGBAModel.Convert(img.At(x, y)); got != want {
				t.Errorf("sample (%d, %d) at %g of its block is %v, want %v", q.i, q.k, off, got, want)
			}
		}
	}
	// The bar runs from the greatest value at the top to the least.
	bar := rects[0][1]
	if bar.Min.Y != r.Min.Y || bar.Max.Y != r.Max.Y || bar.Min.X < r.Max.X {
		t.Errorf("bar at %v beside %v", bar, r)
	}
	x := (bar.Min.X + bar.Max.X) / 2
	if got, want := color.RGBAModel.Convert(img.At(x, r.Min.Y)), lut.at(1); !near(got.(color.RGBA), want, 3) {
		t.Errorf("top of the bar is %v, want %v", got, want)
	}
	if got, want := color.RGBAModel.Convert(img.At(x, r.Max.Y-1)), lut.at(0); !near(got.(color.RGBA), want, 3) {
		t.Errorf("bottom of the bar is %v, want %v", got, want)
	}
}

func near(a, b color.RGBA, tol int) bool {
	d := func(p, q uint8) bool { return int(p)-int(q) <= tol && int(q)-int(p) <= tol }
	return d(a.R, b.R) && d(a.G, b.G) && d(a.B, b.B)
}

// Slices of cubes of all shapes show the sample where it lies, side by side along common axes, and leave little of the
// page empty.
func TestSlices(t *testing.T) {
	at := [3]int{2, 7, 3}
	for _, c := range []struct {
		shape     []int
		x, y      [2]int // row and column of the sections along x and y
		sideways  bool   // the section along y has its depth to the right
		mostEmpty float64
	}{
		{[]int{8, 10, 12}, [2]int{0, 1}, [2]int{0, 2}, false, 0.06},
		{[]int{20, 20, 6}, [2]int{1, 0}, [2]int{0, 1}, true, 0.06},
		{[]int{8, 9, 30}, [2]int{1, 0}, [2]int{1, 1}, false, 0.13},
	} {
		g := grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{10, 10, 10}, Shape: c.shape}
		nx, ny, nz := c.shape[0], c.shape[1], c.shape[2]
		v := make([]float32, g.Len())
		v[(at[0]*ny+at[1])*nz+at[2]] = 1
		f, err := Image(g, v, Options{At: []float64{20, 70, 30}, Clip: 100})
		if err != nil {
			t.Fatal(err)
		}
		// Guides cross at the very sample that is looked for: take them away.
		var notes []string
		all, drawn := [2]float64{}, 0.0
		for _, row := range f.rows {
			wide, tall := 0.0, 0.0
			for _, p := range row {
				if p != nil {
					p.plotters = nil
					notes = append(notes, p.notes...)
					drawn += p.w * p.h
					wide, tall = wide+p.w, max(tall, p.h)
				}
			}
			all = [2]float64{max(all[0], wide), all[1] + tall}
		}
		if empty := 1 - drawn/(all[0]*all[1]); empty > c.mostEmpty {
			t.Errorf("%v: %.0f %% of the page is empty", c.shape, 100*empty)
		}
		img, rects := decoded(t, f)
		if top, x, y := rects[0][0], rects[c.x[0]][c.x[1]], rects[c.y[0]][c.y[1]]; c.x[1] == 0 && top.Min.X != x.Min.X || c.x[0] == c.y[0] && x.Min.Y != y.Min.Y || c.sideways && top.Min.Y != y.Min.Y {
			t.Errorf("%v: slices do not line up: %v", c.shape, rects)
		}
		frac := func(i, n int) float64 { return (float64(i) + 0.5) / float64(n) }
		ySection := [2]float64{frac(at[1], ny), frac(at[2], nz)}
		if c.sideways {
			ySection = [2]float64{frac(at[2], nz), 1 - frac(at[1], ny)}
		}
		for _, s := range []struct {
			name string
			at   [2]int
			on   [2]float64
		}{
			{"map, y upward", [2]int{0, 0}, [2]float64{frac(at[0], nx), 1 - frac(at[1], ny)}},
			{"x section", c.x, [2]float64{frac(at[0], nx), frac(at[2], nz)}},
			{"y section", c.y, ySection},
		} {
			r := rects[s.at[0]][s.at[1]]
			x, y := extreme(img, r, true)
			wantX, wantY := float64(r.Min.X)+s.on[0]*float64(r.Dx()), float64(r.Min.Y)+s.on[1]*float64(r.Dy())
			if math.Abs(x-wantX) > 1 || math.Abs(y-wantY) > 1 {
				t.Errorf("%v, %s: sample at pixel (%.1f, %.1f), want (%.1f, %.1f)", c.shape, s.name, x, y, wantX, wantY)
			}
		}
		for _, want := range []string{"section at y = 70 m", "section at x = 20 m", "depth slice at z = 30 m"} {
			if text := strings.Join(notes, "|"); !strings.Contains(text, want) {
				t.Errorf("%v: notes %q lack %q", c.shape, text, want)
			}
		}
		if _, err := Image(g, v, Options{At: []float64{20, 700, 30}}); err == nil || !strings.Contains(err.Error(), "y = 700 m: outside the grid") {
			t.Errorf("slices outside the grid: %v", err)
		}
	}
}

func TestNotes(t *testing.T) {
	g := grid2(30, 20)
	ramp := make([]float32, g.Len())
	for i := range ramp {
		ramp[i] = -float32(i+1) / float32(len(ramp)) * 3.2e-3
	}
	spike := make([]float32, g.Len())
	spike[7] = 4
	for _, c := range []struct {
		name string
		g    grid.Grid
		v    []float32
		clip float64
		want string
	}{
		{"percentile", g, ramp, 0, "clip: 99th percentile, ±3.2e-3"},
		{"another", g, ramp, 50, "clip: 50th percentile, ±1.6e-3"},
		{"none", g, ramp, 100, "not clipped: ±3.2e-3"},
		{"spike", g, spike, 0, "not clipped (99th percentile is zero): ±4"},
		{"zero", g, make([]float32, g.Len()), 0, "all values are zero"},
		{"stretched", grid2(2000, 10), make([]float32, 20000), 0, "all values are zero; vertical exaggeration 100×"},
		{"narrow", grid2(2, 400), make([]float32, 800), 0, "all values are zero; horizontal exaggeration 30×"},
		{"one column", grid2(1, 40), make([]float32, 40), 0, "all values are zero; not to scale"},
		{"one point", grid2(1, 1), make([]float32, 1), 0, "all values are zero; not to scale"},
	} {
		f, err := Image(c.g, c.v, Options{Clip: c.clip})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := strings.Join(f.rows[0][0].notes, "|"); got != c.want {
			t.Errorf("%s: note is %q, want %q", c.name, got, c.want)
		}
		decoded(t, f)
	}
	f, err := Model(g, make([]float64, g.Len()), Options{Title: "flat"})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.rows[0][0].notes[0]; got != "constant: 0" {
		t.Errorf("constant model: note is %q", got)
	}
	decoded(t, f)
}

func TestRefused(t *testing.T) {
	g := grid2(3, 2)
	nan := []float64{0, 0, 0, math.NaN(), 0, 0}
	big := []float64{0, 0, 0, 0, 0, 1e300}
	ok := make([]float64, 6)
	for _, c := range []struct {
		name string
		err  func() error
		want string
	}{
		{"NaN", func() error { _, err := Image(g, nan, Options{}); return err }, "value 3 (at (120, 60 m)) is NaN"},
		{"too big for float32", func() error { _, err := Model(g, big, Options{}); return err }, "value 5 (at (140, 60 m)) is 1e+300"},
		{"length", func() error { _, err := Image(g, ok[:5], Options{}); return err }, "5 values for a grid of 6 points"},
		{"clip", func() error { _, err := Image(g, ok, Options{Clip: 101}); return err }, "clip percentile is 101"},
		{"clip NaN", func() error { _, err := Image(g, ok, Options{Clip: math.NaN()}); return err }, "clip percentile is NaN"},
		{"grid", func() error { _, err := Image(grid.Grid{}, ok, Options{}); return err }, "0 axes"},
		{"gather length", func() error { _, err := Gather(ok, Times{NT: 4, DT: 1}, nil, Options{}); return err }, "no whole number of traces"},
		{"gather dt", func() error { _, err := Gather(ok, Times{NT: 3}, nil, Options{}); return err }, "dt is 0 s"},
		{"gather offsets", func() error { _, err := Gather(ok, Times{NT: 3, DT: 1}, ok[:1], Options{}); return err }, "1 offsets for 2 traces"},
		{"gather NaN", func() error { _, err := Gather(nan, Times{NT: 3, DT: 1}, nil, Options{}); return err }, "trace 1, sample 0"},
	} {
		if err := c.err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want one with %q", c.name, err, c.want)
		}
	}
}
