package butterfly

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// media are velocities, in m/s, by name.
var media = []struct {
	name string
	at   func(g grid.Grid) []float64
}{
	{"smooth", func(g grid.Grid) []float64 {
		return velocities(g, func(x, _, z float64) float64 { return 1800 + 0.6*z })
	}},
	{"perturbed by 5 %", perturbed},
	{"salt flank", func(g grid.Grid) []float64 {
		return velocities(g, func(x, _, z float64) float64 {
			if z > 250 && x > 130+0.4*(z-250) {
				return 4500
			}
			return 1800 + 0.6*z
		})
	}},
}

func velocities(g grid.Grid, at func(x, y, z float64) float64) []float64 {
	v, x := make([]float64, g.Len()), make([]float64, len(g.Shape))
	for i := range v {
		g.Point(x, i)
		if len(x) == 2 {
			v[i] = at(x[0], 0, x[1])
		} else {
			v[i] = at(x[0], x[1], x[2])
		}
	}
	return v
}

// perturbed is the smooth medium with waves of all directions and of half to three times the length of
// those of 20 Hz, of 5 % together.
func perturbed(g grid.Grid) []float64 {
	const waves = 40
	r := rand.New(rand.NewPCG(7, 8))
	var k [waves][3]float64
	var phase [waves]float64
	for i := range k {
		z, azimuth, length := 2*r.Float64()-1, 2*math.Pi*r.Float64(), 100*math.Pow(6, r.Float64())-50
		c := 2 * math.Pi / length
		k[i] = [3]float64{c * math.Sqrt(1-z*z) * math.Cos(azimuth), c * math.Sqrt(1-z*z) * math.Sin(azimuth), c * z}
		phase[i] = 2 * math.Pi * r.Float64()
	}
	return velocities(g, func(x, y, z float64) float64 {
		sum := 0.0
		for i, k := range k {
			sum += math.Cos(k[0]*x + k[1]*y + k[2]*z + phase[i])
		}
		return (1800 + 0.6*z) * (1 + 0.05*sum*math.Sqrt(2.0/waves))
	})
}

// over is 6 × 6 sources and receivers over a medium.
func over(t *testing.T, velocity func(grid.Grid) []float64) *kirchhoff.Problem {
	p := carpet(t, 1, 25, 320, []int{32, 32, 48})
	model := grid.Grid{Shape: []int{32, 32, 80}, Origin: []float64{0, 0, 0}, Spacing: []float64{10, 10, 10}}
	r := rand.New(rand.NewPCG(1, 2))
	s := survey.Survey{Dim: 3, Fixed: true, Sources: lattice(r, 80, 80, 6, 6, 25, 25), Receivers: lattice(r, 90, 70, 6, 6, 25, 25)}
	p.Positions, p.NT = s.Distinct(true), 300
	var err error
	if p.Times, err = traveltime.NewEikonal(velocity(model), model, p.Grid); err != nil {
		t.Fatal(err)
	}
	return p
}

// line is 24 sources and 60 receivers along x over a medium of 2-D.
func line(t *testing.T, velocity func(grid.Grid) []float64) *kirchhoff.Problem {
	p := carpet(t, 1, 25, 0, []int{2, 2, 2}) // its wavelet
	p.Grid = grid.Grid{Shape: []int{160, 96}, Origin: []float64{0, 100}, Spacing: []float64{10, 10}}
	model := grid.Grid{Shape: []int{160, 106}, Origin: []float64{0, 0}, Spacing: []float64{10, 10}}
	r := rand.New(rand.NewPCG(1, 2))
	s := survey.Survey{Dim: 2, Fixed: true}
	for i := range 60 {
		if i < 24 {
			s.Sources = append(s.Sources, 50+60*float64(i)+2*r.Float64(), 0)
		}
		s.Receivers = append(s.Receivers, 40+25*float64(i)+2*r.Float64(), 0)
	}
	p.Positions, p.NT = s.Distinct(true), 500
	var err error
	if p.Times, err = traveltime.NewEikonal(velocity(model), model, p.Grid); err != nil {
		t.Fatal(err)
	}
	return p
}

// dipping is an image of plane layers, 60 m apart, that dip along x by an angle in degrees.
func dipping(g grid.Grid, degrees float64) []float32 {
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	out := make([]float32, g.Len())
	for i, v := range velocities(g, func(x, _, z float64) float64 { return math.Sin(2 * math.Pi / 60 * (z*cos - x*sin)) }) {
		out[i] = float32(v)
	}
	return out
}

// TestErrors: what a user's tolerance promises holds by itself in every depth slice, for every class of
// offsets and for every dip, also in media whose times are not smooth. Beyond that, sums are direct.
func TestErrors(t *testing.T) {
	for i := range 2 * len(media) {
		medium, p := media[i/2], (*kirchhoff.Problem)(nil)
		if i%2 == 0 {
			p = over(t, medium.at)
		} else {
			medium.name += ", 2-D"
			if p = line(t, medium.at); i == 1 {
				medium.name += ", anti-aliasing"
				p.Antialias, p.Slowest = []float64{25}, 1800
			}
		}
		truth := *p
		truth.Finer = 16
		want := answers(t, &truth)
		for _, tolerance := range []float64{1e-2, 1e-3} {
			q := *p
			share := factorise(t, &q, tolerance)
			got := answers(t, &q)
			depths, offsets := byDepth(p, got.image, want.image), byOffset(p, got.traces, want.traces)
			t.Logf("%s, tolerance %g: %.0f %% factorised, off by depth %.1e, by offset %.1e, by dip %.1e", medium.name, tolerance,
				100*share, depths, offsets, apartBy(got.dips, want.dips))
			for _, list := range [][]float64{depths, offsets, apartBy(got.dips, want.dips)} {
				for _, e := range list {
					if !(e <= tolerance) {
						t.Errorf("%s, tolerance %g: off by %.2e", medium.name, tolerance, e)
					}
				}
			}
			if medium.name == "smooth" && share < 0.2 {
				t.Errorf("smooth, tolerance %g: only %.2f is factorised", tolerance, share)
			}
		}
	}
}

// answered is what an operator makes of random vectors, and of layers of several dips.
type answered struct {
	image, traces []float32
	dips          [][]float32
}

func answers(t *testing.T, p *kirchhoff.Problem) (a answered) {
	e, err := kirchhoff.New(t.Context(), p, kirchhoff.Work{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	k, host, n := e.Kernels()[0], device.NewHost(2), p.NumTraces()*p.NT
	forward := func(m []float32) []float32 {
		d := make([]float32, n)
		if err := k.Forward(context.Background(), device.Wrap(host, d), device.Wrap(host, m)); err != nil {
			t.Fatal(err)
		}
		return d
	}
	a.image = make([]float32, p.ImageLen())
	if err := k.Adjoint(context.Background(), device.Wrap(host, a.image), device.Wrap(host, random(1, n))); err != nil {
		t.Fatal(err)
	}
	a.traces = forward(random(2, p.ImageLen()))
	for _, dip := range []float64{0, 30, 60} {
		a.dips = append(a.dips, forward(dipping(p.Grid, dip)))
	}
	return a
}

// byDepth is how far an image is off in slices of 8 points.
func byDepth(p *kirchhoff.Problem, got, want []float32) []float64 {
	nz := p.Grid.Shape[len(p.Grid.Shape)-1]
	return grouped(got, want, nz/8, func(i int) int { return i % nz / 8 })
}

// byOffset is how far traces are off in classes of 60 m, or 400 m in 2-D.
func byOffset(p *kirchhoff.Problem, got, want []float32) []float64 {
	return grouped(got, want, 3, func(i int) int {
		trace := i / p.NT
		s, r := p.Positions.At(int(p.Positions.Source[trace])), p.Positions.At(int(p.Positions.Receiver[trace]))
		if len(p.Grid.Shape) == 2 {
			return min(2, int(math.Abs(s[0]-r[0])/400))
		}
		return min(2, int(math.Hypot(s[0]-r[0], s[1]-r[1])/60))
	})
}

func grouped(got, want []float32, groups int, of func(i int) int) []float64 {
	diff, norm := make([]float64, groups), make([]float64, groups)
	for i, v := range got {
		g := of(i)
		diff[g] += float64(v-want[i]) * float64(v-want[i])
		norm[g] += float64(want[i]) * float64(want[i])
	}
	for g := range diff {
		diff[g] = math.Sqrt(diff[g] / norm[g])
	}
	return diff
}

func apartBy(got, want [][]float32) (out []float64) {
	for i := range got {
		out = append(out, off(got[i], want[i]))
	}
	return out
}
