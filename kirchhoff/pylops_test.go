package kirchhoff

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// pylopsCase is one small problem and samples of what PyLops made of it; the
// file states the version.
type pylopsCase struct {
	Name, Image        string
	Origin, Spacing    []float64
	Shape              []int
	Sources, Receivers []float64
	NT                 int
	DT                 float64
	Wavelet            []float64
	Zero               int
	Velocity           float64
	Filter, Dynamic    bool
	AngleLimit         []float64 `json:"angle_limit"`
	Index              []int     // into the data
	Value              []float64
	NormalIndex        []int     `json:"normal_index"` // into the image
	NormalValue        []float64 `json:"normal_value"` // adjoint of the forward
}

func (c *pylopsCase) problem(t testing.TB) *Problem {
	g := grid.Grid{Origin: c.Origin, Spacing: c.Spacing, Shape: c.Shape}
	times, err := traveltime.NewAnalytic(c.Velocity, g)
	if err != nil {
		t.Fatal(err)
	}
	s := survey.Survey{Dim: g.Dim(), Sources: c.Sources, Receivers: c.Receivers, Fixed: true}
	v := make([]float64, g.Len())
	for i := range v {
		v[i] = c.Velocity
	}
	filter := NoFilter
	if c.Filter {
		filter = PyLopsFilter
	}
	return &Problem{
		Grid: g, Positions: s.Distinct(true), Times: times, NT: c.NT, DT: c.DT,
		Wavelet:       survey.Wavelet{Samples: c.Wavelet, Zero: c.Zero, DT: c.DT},
		WaveletFilter: filter, Dynamic: c.Dynamic, AngleLimit: c.AngleLimit, Velocity: v,
	}
}

// layers is the image of lsm_tutorial: a reflectivity of two flat interfaces.
func layers(g grid.Grid) []float64 {
	m := make([]float64, g.Len())
	for x := range g.Shape[0] {
		m[x*g.Shape[1]+30] = -1
		m[x*g.Shape[1]+50] = 0.5
	}
	return m
}

func eachPylops(t *testing.T, f func(t *testing.T, c *pylopsCase, image []float64)) {
	var file struct {
		Images map[string][]float64
		Cases  []*pylopsCase
	}
	text, err := os.ReadFile("testdata/pylops.json")
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			image := file.Images[c.Image]
			if image == nil {
				image = layers(c.problem(t).Grid)
			}
			f(t, c, image)
		})
	}
}

// comparePylops applies an engine and reports errors relative to the largest
// of the samples.
func comparePylops(t *testing.T, c *pylopsCase, e Engine, image []float64, tolerance float64) {
	h := device.NewHost(1)
	ctx := context.Background()
	alloc := func(n int) device.Buf {
		b, err := h.Alloc(n, e.Type())
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	p := c.problem(t)
	m, d, back := alloc(p.Grid.Len()), alloc(p.NumTraces()*p.NT), alloc(p.Grid.Len())
	if err := device.Upload(m, image); err != nil {
		t.Fatal(err)
	}
	if err := only(e).Forward(ctx, d, m); err != nil {
		t.Fatal(err)
	}
	if err := only(e).Adjoint(ctx, back, d); err != nil {
		t.Fatal(err)
	}
	check := func(name string, b device.Buf, index []int, value []float64) {
		got := make([]float64, b.Len())
		if err := device.Download(got, b); err != nil {
			t.Fatal(err)
		}
		scale, worst := 0.0, 0.0
		for i, at := range index {
			scale = max(scale, math.Abs(value[i]))
			worst = max(worst, math.Abs(got[at]-value[i]))
		}
		if !(worst <= tolerance*scale) {
			t.Errorf("%s differs by %.2e of the largest sample, want at most %g", name, worst/scale, tolerance)
		}
	}
	check("forward", d, c.Index, c.Value)
	check("adjoint of the forward", back, c.NormalIndex, c.NormalValue)
}

// TestReferencePylops: 1e-12 is what two correct float64 implementations keep.
func TestReferencePylops(t *testing.T) {
	eachPylops(t, func(t *testing.T, c *pylopsCase, image []float64) {
		e, err := NewReference(context.Background(), c.problem(t), Work{})
		if err != nil {
			t.Fatal(err)
		}
		comparePylops(t, c, e, image, 1e-12)
	})
}

// TestCPUPylops: a few units of float32 rounding.
func TestCPUPylops(t *testing.T) {
	for isa := simd.Portable; isa <= simd.Best(); isa++ {
		t.Run(isa.String(), func(t *testing.T) {
			t.Setenv("LSM_CPU_ISA", isa.String())
			eachPylops(t, func(t *testing.T, c *pylopsCase, image []float64) {
				comparePylops(t, c, newCPUEngine(t, c.problem(t), Work{}), image, 1e-6)
			})
		})
	}
}
