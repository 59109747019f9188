package picture

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"

	"github.com/kirchhoff-lsm/lsm/grid"
)

func TestGather(t *testing.T) {
	const nt = 50
	offset := []float64{500, 400, 300, 200, 100} // far trace first
	data := make([]float32, len(offset)*nt)
	data[1*nt+10] = 1 // offset 400 m, sample 10
	f, err := Gather(data, Times{NT: nt, DT: 0.004, T0: 1}, offset, Options{Clip: 100})
	if err != nil {
		t.Fatal(err)
	}
	img, rects := decoded(t, f)
	r, p := rects[0][0], f.rows[0][0]
	x, y := extreme(img, r, true)
	wantX := float64(r.Min.X) + fracX(p, 400)*float64(r.Dx())
	wantY := float64(r.Min.Y) + fracY(p, 1+10*0.004)*float64(r.Dy())
	if math.Abs(x-wantX) > 1 || math.Abs(y-wantY) > 1 {
		t.Errorf("sample is at pixel (%.1f, %.1f), want (%.1f, %.1f)", x, y, wantX, wantY)
	}
	if wantX < float64(r.Min.X+r.Max.X)/2 || p.x.label != "offset (m)" {
		t.Errorf("offset 400 m is on the left of an axis %q", p.x.label)
	}

	// Uneven offsets: trace numbers, and the range in a note.
	f, err = Gather(data, Times{NT: nt, DT: 0.004}, []float64{-10, 5, 7, 900, 3}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p = f.rows[0][0]
	if p.x.label != "trace number" || !strings.Contains(p.notes[0], "offsets -10 to 900 m") {
		t.Errorf("axis %q, notes %q", p.x.label, p.notes)
	}
}

func TestImageGathers(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 100}, Spacing: []float64{10, 5}, Shape: []int{4, 20}}
	c := Classes{Name: "offset", Unit: "m", Centers: []float64{50, 150, 250}}
	gather := func(name string) ImageGather { return ImageGather{Name: name, Values: make([]float32, 3*20)} }
	two := []ImageGather{gather("x = 10 m"), gather("x = 3000 m")}
	two[1].Values[2*20+7] = -1 // offset 250 m, depth 135 m
	f, err := ImageGathers(g, two, c, Options{Clip: 100})
	if err != nil {
		t.Fatal(err)
	}
	img, rects := decoded(t, f)
	r, p := rects[0][0], f.rows[0][0]
	x, y := extreme(img, r, false)
	wantX := float64(r.Min.X) + (3+2.5)/6*float64(r.Dx()) // the last of three classes of the second gather
	wantY := float64(r.Min.Y) + fracY(p, 135)*float64(r.Dy())
	if math.Abs(x-wantX) > 2 || math.Abs(y-wantY) > 2 || p.x.label != "offset (m)" {
		t.Errorf("the value is at pixel (%.1f, %.1f) of an axis %q, want (%.1f, %.1f)", x, y, p.x.label, wantX, wantY)
	}
	if names := namesAbove(p); len(names.Labels) != 2 || names.Labels[1] != "x = 3000 m" || fracX(p, names.XYs[1].X) != 0.75 || fracY(p, names.XYs[1].Y) > 1e-6 {
		t.Errorf("names %v, want each gather's place above its middle", names)
	}
	if f, err = ImageGathers(g, []ImageGather{gather("x = 1 m, y = 2 m")}, c, Options{}); err != nil || namesAbove(f.rows[0][0]).Labels[0] != "x = 1 m\ny = 2 m" {
		t.Errorf("a place of two parts has no two lines above its gather: %v", err)
	}
	two[0].Values = two[0].Values[1:]
	for _, list := range [][]ImageGather{nil, two} {
		if _, err := ImageGathers(g, list, c, Options{}); err == nil {
			t.Errorf("%d gathers, none or cut short, are drawn", len(list))
		}
	}
}

// namesAbove are the names of gathers, which are drawn last.
func namesAbove(p *panel) *plotter.Labels { return p.plotters[len(p.plotters)-1].(*plotter.Labels) }

// A tick of a gather stands at the class whose value it names; texts do not touch, nor
// those of the gather beside.
func TestTicksOfClasses(t *testing.T) {
	uneven := []float64{125, 375, 625, 875, 1250}
	for _, k := range []struct {
		centers []float64
		width   float64
		texts   string
	}{
		{[]float64{0, 10, 20, 30, 40}, 1.24, "0 10 20 30 40"},
		{[]float64{50, 150, 250}, 1.5, "50 150 250"},
		{[]float64{50, 150, 250}, 0.75, "150"},
		{uneven, 1.2, "375 875"},
		{uneven, 6, "125 375 625 875 1250"},
		{uneven, 0.75, "625"},
		{[]float64{300}, 0.75, "300"},
	} {
		texts, last := []string{}, 0.0
		for i, tk := range (Classes{Centers: k.centers}).ticks(k.width) {
			if want := (float64(i) + 0.5) / float64(len(k.centers)); math.Abs(tk.Value-want) > 1e-9 {
				t.Errorf("%v: tick %d stands at %g, want %g", k.centers, i, tk.Value, want)
			}
			if tk.Label == "" {
				continue
			}
			if v, err := strconv.ParseFloat(tk.Label, 64); err != nil || v != k.centers[i] {
				t.Errorf("%v: class %d is named %s", k.centers, i, tk.Label)
			}
			half, at := textWidth(tk.Label)/2, tk.Value*k.width
			if at < last+half-1e-9 && len(texts) > 0 || at < half-1e-9 || at > k.width-half+1e-9 {
				t.Errorf("%v of %g inches: tick %s at %g touches another or reaches beyond", k.centers, k.width, tk.Label, tk.Value)
			}
			texts, last = append(texts, tk.Label), at+half
		}
		if got := strings.Join(texts, " "); got != k.texts {
			t.Errorf("%v of %g inches: ticks %q, want %q", k.centers, k.width, got, k.texts)
		}
	}
}

func TestConvergence(t *testing.T) {
	f, err := Convergence(Options{Title: "solve"}, History{
		Residual: []float64{4, 2, 1, 0},
		Gradient: []float64{50, 5, 0.5, 0.05},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := f.rows[0][0]
	if got := p.key[0].Thumbnailer.(*plotter.Line).XYs; len(got) != 3 || got[0].Y != 1 || got[2].Y != 0.25 {
		t.Errorf("residual relative to start is %v, want [1 0.5 0.25]", got)
	}
	if got := p.key[1].Thumbnailer.(*plotter.Line).XYs[3].Y; math.Abs(got-1e-3) > 1e-15 {
		t.Errorf("last gradient is %g of the first, want 1e-3", got)
	}
	if fracY(p, 1) >= fracY(p, 1e-3) {
		t.Error("the curve rises where the norm falls")
	}
	for _, tk := range p.x.ticks(p.w, 0.95) {
		if v := tk.Value; math.Abs(v-math.Round(v)) > 1e-9 {
			t.Errorf("tick at iteration %g", v)
		}
	}
	decoded(t, f)
	for want, h := range map[string]History{
		"no values":                {},
		"is zero at the start":     {Residual: []float64{0, 1}},
		"iteration 1 is NaN":       {Residual: []float64{1, math.NaN()}},
		"gradient: iteration 0 is": {Residual: []float64{1}, Gradient: []float64{-1}},
	} {
		if _, err := Convergence(Options{}, h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
	if _, err := Convergence(Options{}); err == nil {
		t.Error("no history at all is drawn")
	}
	one, err := Convergence(Options{}, History{Residual: []float64{3}})
	if err != nil {
		t.Fatal(err)
	}
	decoded(t, one)
}

func TestBesideAndStack(t *testing.T) {
	g := grid2(60, 40)
	v := make([]float32, g.Len())
	for i := range v {
		v[i] = float32(i)
	}
	adjoint, err := Image(g, v, Options{Title: "adjoint"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range v {
		v[i] *= 1e-3
	}
	lsq, err := Image(g, v, Options{Title: "least squares"})
	if err != nil {
		t.Fatal(err)
	}
	before := adjoint.rows[0][0].w
	f := Beside(adjoint, lsq)
	if adjoint.rows[0][0].w != before {
		t.Error("Beside changed the figure it was given")
	}
	_, rects := decoded(t, f)
	a, b := rects[0][0], rects[0][1]
	if a.Min.Y != b.Min.Y || a.Size() != b.Size() || b.Min.X <= a.Max.X {
		t.Errorf("frames side by side are %v and %v", a, b)
	}
	if w := px(besideWidth); a.Dx()+b.Dx() > w+2 {
		t.Errorf("frames span %d pixels, more than %d", a.Dx()+b.Dx(), w)
	}
	n1, n2 := f.rows[0][0].notes[0], f.rows[0][1].notes[0]
	if n1 != "clip: 99th percentile, ±2375" || n2 != "clip: 99th percentile, ±2.4" {
		t.Errorf("clips are %q and %q", n1, n2)
	}
	_, rects = decoded(t, Stack(adjoint, lsq))
	a, b = rects[0][0], rects[1][0]
	if a.Min.X != b.Min.X || b.Min.Y <= a.Max.Y {
		t.Errorf("stacked frames are %v and %v", a, b)
	}
}

func TestSameBytes(t *testing.T) {
	g := grid2(40, 30)
	v := make([]float32, g.Len())
	for i := range v {
		v[i] = float32(math.Sin(float64(i)))
	}
	render := func() []byte {
		f, err := Image(g, v, Options{Title: "twice", Colors: Diverging, Bar: "a"})
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if err := f.Encode(&buf); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}
	if !bytes.Equal(render(), render()) {
		t.Error("two renderings of one image differ")
	}
}

// Pictures with one limit have one scale, whatever they hold, and say so.
func TestLimit(t *testing.T) {
	loud, soft := []float32{-4, 2, 0, 1, 3, 0}, []float64{0.5, 0, 0, 0, 0, 0}
	limit := Limit(loud, 100)
	if limit != 4 {
		t.Fatalf("limit is %g, want 4", limit)
	}
	for _, draw := range []func() (*Figure, error){
		func() (*Figure, error) { return Gather(soft, Times{NT: 3, DT: 1}, nil, Options{Limit: limit}) },
		func() (*Figure, error) { return Image(grid2(3, 2), soft, Options{Limit: limit}) },
	} {
		f, err := draw()
		if err != nil {
			t.Fatal(err)
		}
		p := f.rows[0][0]
		if win := p.raster.win; win.lo != -4 || win.hi != 4 || win.note != "colours span ±4" {
			t.Errorf("colours span %+v, want ±4", win)
		}
	}
}
