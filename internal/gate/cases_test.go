package gate

import (
	"context"
	"fmt"
	"math"
	"math/cmplx"
	"path/filepath"
	"sync"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// pair is a source and a receiver.
type pair [2][]float64

// experiment is one medium with one scatterer below the origin, the primaries of some traces, and what is known of them.
type experiment struct {
	name, made string
	dim        int
	medium
	mirror           // of the coefficient 1 in closed form, 1/11 in finite differences
	point    bool    // a diffractor at the depth of the mirror, instead of a mirror
	f0       float64 // Hz, peak of the Ricker wavelet
	strength float64 // reflection coefficient; of a diffractor, what its image is

	trace    func(p pair) []float64 // primaries of a pair, samples
	modelled []pair                 // traces to compare with modelled ones
	classes  [][]pair               // traces of each image: one offset, midpoints across the origin
	spacing  float64                // m, of the midpoints; 0 for a diffractor
	reach    float64                // m, of the midpoints from the origin, and of the modelled reflector

	dt    float64 // s
	nt    int
	first float64   // s
	model grid.Grid // of the velocity, where it is not constant

	once          sync.Once   // makes the rest
	faded, wanted [][]float64 // of each class: traces that fade out, and the column of the image
}

const dip = 15 // degrees, of dipping reflectors

func flat(dim int, depth float64) mirror { return mirror{depth, make([]float64, dim-1)} }

// tilted is a mirror that dips along an azimuth of 0 degrees in 2-D, of 30 degrees in 3-D.
func tilted(dim int, depth float64) mirror {
	slope := math.Tan(dip * math.Pi / 180)
	if dim == 2 {
		return mirror{depth, []float64{slope}}
	}
	return mirror{depth, []float64{slope * math.Cos(math.Pi/6), slope * math.Sin(math.Pi/6)}}
}

// at is a position at the surface.
func at(dim int, x ...float64) []float64 {
	p := make([]float64, dim)
	copy(p[:dim-1], x)
	return p
}

// classesOf are the pairs of each offset (along x) with midpoints on a square of the given half-width round the origin.
func (e *experiment) classesOf(offsets ...float64) {
	n := int(math.Round(e.reach / e.spacing))
	for _, o := range offsets {
		var class []pair
		for i := -n; i <= n; i++ {
			x := float64(i) * e.spacing
			if e.dim == 2 {
				class = append(class, pair{at(2, x-o/2), at(2, x+o/2)})
				continue
			}
			for j := -n; j <= n; j++ {
				y := float64(j) * e.spacing
				class = append(class, pair{at(3, x-o/2, y), at(3, x+o/2, y)})
			}
		}
		e.classes = append(e.classes, class)
	}
}

// analytic are the experiments whose primaries have a closed form.
func analytic(dim int) []*experiment {
	made := "closed form"
	common := func() *experiment {
		e := &experiment{made: made, dim: dim, medium: medium{v0: 2000}, f0: 15, strength: 0.1, dt: 0.002, nt: 420, first: 0.2, reach: 560, spacing: 14}
		if dim == 3 {
			e.spacing = 28
		}
		return e
	}
	offsets := []float64{100, 300, 500}
	var list []*experiment
	for _, m := range []mirror{flat(dim, 600), tilted(dim, 600)} {
		e := common()
		e.mirror, e.name = m, "flat"
		if m.steepness() > 1 {
			e.name = "dipping"
		}
		if dim == 3 {
			offsets = []float64{80, 400}
		}
		e.classesOf(offsets...)
		for _, o := range []float64{20, 100, 200, 300, 400, 500, 600} {
			e.modelled = append(e.modelled, pair{at(dim, -o/2, 10), at(dim, o/2, -10)})
		}
		list = append(list, e)
	}
	list = append(list, diffracting(common()), increasing(dim))
	for _, e := range list {
		e.trace = e.closedForm
	}
	return list
}

func diffracting(e *experiment) *experiment {
	dim := e.dim
	e.name, e.point, e.mirror, e.strength, e.spacing = "diffractor", true, flat(dim, 600), 1, 0
	for k, side := range []float64{0, 300} {
		var class []pair
		for i := -4; i <= 4; i++ {
			for j := -4; j <= 4; j++ {
				class = append(class, pair{at(dim, side+float64(60*i), float64(30*j)), at(dim, -side+float64(50*j), float64(70*i-20*k))})
			}
		}
		e.classes = append(e.classes, class)
		e.modelled = append(e.modelled, class[0], class[40], class[len(class)-1], class[13])
	}
	return e
}

// increasing is a flat mirror below a constant gradient of velocity.
func increasing(dim int) *experiment {
	e := &experiment{name: "gradient", made: "closed form", dim: dim, medium: medium{1500, 0.8}, f0: 15, strength: 0.1, dt: 0.002, nt: 350, first: 0.1}
	e.mirror, e.reach, e.spacing = flat(dim, 400), 420, 10
	e.model = grid.Grid{Origin: []float64{-720, -20}, Spacing: []float64{10, 10}, Shape: []int{145, 60}}
	offsets := []float64{80, 240, 400}
	if dim == 3 {
		e.reach, e.spacing, offsets = 420, 24, []float64{80, 240}
		e.model = grid.Grid{Origin: []float64{-520, -420, -20}, Spacing: []float64{20, 20, 20}, Shape: []int{53, 43, 29}}
	}
	e.classesOf(offsets...)
	for _, o := range []float64{40, 120, 200, 280, 360} {
		e.modelled = append(e.modelled, pair{at(dim, -o/2), at(dim, o/2)})
	}
	return e
}

// closedForm are the primaries of a pair: exact where the velocity is constant, else those of rays.
func (e *experiment) closedForm(p pair) []float64 {
	spectrum := func(f float64) complex128 { return 0 }
	if e.point {
		to := at(e.dim)
		to[e.dim-1] = e.depth
		// Born's scattering by a point (Wu and Aki 1985, Scattering characteristics of elastic waves by an
		// elastic heterogeneity, Geophysics 50): see pixel.
		power := 2 - 0.5*float64(3-e.dim)
		spectrum = func(f float64) complex128 {
			d := complex(e.strength*2/e.v0*ricker(f, e.f0), 0) * derived(f, power)
			for _, end := range p {
				d *= e.wave(f, distance(end, to))
			}
			return d
		}
	} else {
		t, b, _ := e.reflected(e.medium, p[0], p[1])
		spectrum = func(f float64) complex128 {
			d := complex(e.strength*ricker(f, e.f0), 0)
			if e.k == 0 {
				return d * e.wave(f, e.v0*t)
			}
			return d * cmplx.Rect(b, -2*math.Pi*f*t)
		}
	}
	return pulse(e.nt, e.dt, e.first, spectrum)
}

// wave is what a wave at a distance is of what it is at 1 m.
func (e *experiment) wave(f, d float64) complex128 {
	if e.dim == 2 {
		return line(f, d, e.v0)
	}
	return cmplx.Rect(1/d, -2*math.Pi*f*d/e.v0)
}

// wavelet is the one that the operator is given: the source's Ricker wavelet. A diffractor makes of it a derivative
// more than a reflector does, so there the wavelet is the derivative of that.
func (e *experiment) wavelet() (samples []float64, zero int) {
	zero = int(math.Ceil(2.4 / e.f0 / e.dt))
	return pulse(2*zero+1, e.dt, -float64(zero)*e.dt, func(f float64) complex128 {
		w := complex(ricker(f, e.f0), 0)
		if e.point {
			w *= derived(f, 1)
		}
		return w
	}), zero
}

// finite are the experiments with primaries of finite differences, made by testdata/make.py.
func finite(t *testing.T) (list []*experiment) {
	made := "finite differences"
	for _, e := range []*experiment{
		{name: "flat", dim: 2, medium: medium{v0: 2000}, mirror: flat(2, 596.25), f0: 12, strength: 1.0 / 11, reach: 600, spacing: 15},
		{name: "dipping", dim: 2, medium: medium{v0: 2000}, mirror: tilted(2, 596), f0: 12, strength: 1.0 / 11, reach: 570, spacing: 30},
		{name: "diffractor", dim: 2, medium: medium{v0: 2000}, mirror: flat(2, 600), point: true, f0: 12},
		{name: "gradient", dim: 2, medium: medium{1500, 0.6}, mirror: flat(2, 596.25), f0: 12, strength: 1.0 / 11, reach: 600, spacing: 15,
			model: grid.Grid{Origin: []float64{-900, -20}, Spacing: []float64{10, 10}, Shape: []int{181, 82}}},
		{name: "flat", dim: 3, medium: medium{v0: 2000}, mirror: flat(3, 592.5), f0: 12, strength: 1.0 / 11, reach: 600, spacing: 30},
		{name: "diffractor", dim: 3, medium: medium{v0: 2000}, mirror: flat(3, 495), point: true, f0: 10},
	} {
		e.made = made
		e.read(t, filepath.Join("testdata", fmt.Sprintf("%s-%dd.h5", e.name, e.dim)))
		list = append(list, e)
	}
	return list
}

// read takes the traces of a file, which those of any place are where nothing depends on x.
func (e *experiment) read(t *testing.T, path string) {
	s, err := surveytest.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	e.dt, e.nt, e.first = s.DT, s.NT, s.T0
	layered := !e.point && e.steepness() == 1
	key := func(p pair) string {
		if layered {
			return fmt.Sprintf("%.2f", distance(p[0], p[1]))
		}
		return fmt.Sprintf("%.2f", p)
	}
	traces := map[string][]float64{}
	var all []pair
	for i := range s.NumTraces() {
		a, b := s.Pair(i)
		p := pair{s.Source(a), s.Receiver(b)}
		samples := make([]float64, s.NT)
		for k := range samples {
			samples[k] = float64(s.Data[i*s.NT+k])
		}
		traces[key(p)], all = samples, append(all, p)
	}
	e.trace = func(p pair) []float64 {
		d := traces[key(p)]
		if d == nil {
			t.Fatalf("%s: no trace of %v", path, p)
		}
		return d
	}
	switch {
	case e.point:
		// A cell of 7.5 or 15 m a side whose velocity is 5 % higher: see pixel.
		cell := math.Pow([]float64{7.5, 15}[e.dim-2], float64(e.dim))
		e.strength = pixel(e.dim, e.v0, cell*(1/(1.05*1.05)-1)/(e.v0*e.v0))
		e.modelled, e.classes = all, [][]pair{all}
	case layered:
		half := make([]pair, len(all))
		for i, p := range all {
			o := distance(p[0], p[1])
			half[i] = pair{at(e.dim, -o/2), at(e.dim, o/2)}
		}
		e.modelled = half
		if e.dim == 2 {
			e.classesOf(60, 300, 450)
		} else {
			e.classesOf(180, 360)
		}
	default:
		e.classesOf(60, 360)
		for _, c := range e.classes {
			e.modelled = append(e.modelled, c[16], c[19], c[22])
		}
	}
}

// pixel is the image of a point at which 1/v² differs by q, in s² (2-D) or m s² (3-D). It scatters ω² q G G of the
// source, G the fields of lines or points. With the wavelet at 1 m these are −q √(v/8π) (iω)^{3/2} b b in 2-D and
// −q/(4π) (iω)² b b in 3-D; the operator makes 2 cos θ/v b b times the derivative of order 1/2 or 1 of its wavelet,
// which is the derivative of the source's, so the image is this over cos θ.
func pixel(dim int, v, q float64) float64 {
	if dim == 2 {
		return -q * v / 2 * math.Sqrt(v/(8*math.Pi))
	}
	return -q * v / (8 * math.Pi)
}

// times are the traveltimes on the grid of an image. Those of exact have the closed form.
func (e *experiment) times(t *testing.T, g grid.Grid, exact bool) traveltime.Method {
	m, err := traveltime.NewAnalytic(e.v0, g)
	must(t, err)
	if exact {
		return closed{m, e.medium}
	}
	if e.k == 0 {
		return m
	}
	v, x := make([]float64, e.model.Len()), make([]float64, e.dim)
	for i := range v {
		e.model.Point(x, i)
		v[i] = e.medium.at(x[e.dim-1])
	}
	m, err = traveltime.NewEikonal(v, e.model, g)
	must(t, err)
	return m
}

// closed are the times of rays in a gradient.
type closed struct {
	traveltime.Method
	medium
}

func (c closed) Solve(ctx context.Context, p *survey.Positions, places []int, opt traveltime.Options, sink func(int, traveltime.Field) error) error {
	return c.Method.Solve(ctx, p, places, opt, func(place int, f traveltime.Field) error {
		c.each(p.At(place), func(i int, t, b float64) { f.Branches[0].Time[i] = t })
		return sink(place, f)
	})
}

// each calls back with the time and the spreading at each point of the grid.
func (c closed) each(from []float64, f func(i int, t, b float64)) {
	g := c.Grid()
	x := make([]float64, g.Dim())
	for i := range g.Len() {
		g.Point(x, i)
		t, b := c.leg(from, x)
		f(i, t, b)
	}
}
