package gpu

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// must ends a test over an error. It skips what needs a program that is not carried, where
// there is no compiler: see TestOnPTX.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), "is not among the programs carried as PTX") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// open makes the emulated card ready, or the real one.
func open(t testing.TB, engine driver.Engine) *card.Device {
	t.Helper()
	gputest.Need(t)
	d, err := card.Open(card.Options{Engine: engine, Cache: accel.UserCache()})
	if err != nil && gputest.Real() {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

// trial is one combination of everything an operator can be made of.
type trial struct {
	dim, weights      int // weights: 0 none, 1 dynamic, 2 with an angle limit
	irregular, filter bool
	t0                float64 // s
	short, gaps       bool    // record ends early; unreachable points
	aperture          int     // 0 none, 1 along the first axis, 2 along all with tapers, 3 without
	antialias         bool
	limits            int  // 1 of the dip, 2 of the opening angle, 3 of both
	unequal           bool // slownesses
	rays              bool // spreading of rays, and a limit of their take-off
}

func (c trial) String() string {
	return fmt.Sprintf("%dD/rays=%v,weights=%d,irregular=%v,filter=%v,t0=%g,short=%v,gaps=%v,aperture=%d,limits=%d,antialias=%v,unequal=%v",
		c.dim, c.rays, c.weights, c.irregular, c.filter, c.t0, c.short, c.gaps, c.aperture, c.limits, c.antialias, c.unequal)
}

func trials() []trial {
	var all []trial
	for i := range 2 * 3 * 2 * 2 * 3 * 2 {
		digit := func(n int) int { d := i % n; i /= n; return d }
		c := trial{dim: 2 + digit(2), weights: digit(3), irregular: digit(2) == 1, filter: digit(2) == 1,
			t0: []float64{0, 0.0713, -0.031}[digit(3)], short: digit(2) == 1}
		c.gaps = len(all)%7 == 4
		c.aperture = []int{0, 0, 2, 0, 1, 0, 2, 3, 0, 0, 0}[len(all)%11]
		c.limits = []int{0, 1, 0, 3, 0, 2, 0, 0, 3, 0, 0, 0, 0}[len(all)%13]
		c.rays = c.weights > 0 && !c.gaps && len(all)%3 == 2
		c.antialias = len(all)%3 == 1
		all = append(all, c)
	}
	for i := range 8 {
		c := all[7*i+5]
		c.weights, c.limits, c.unequal, c.rays = []int{1, 2, 0}[i%3], []int{0, 2, 3, 1}[i%4], true, false
		all = append(all, c)
	}
	return all
}

// problem makes a small problem with random geometry. Grids have from one tile to
// some groups of them; spacings run from 4 to 60 m, so that a tile's times span from a
// few samples to more than shared memory holds.
func (c trial) problem(t testing.TB, seed uint64) *kirchhoff.Problem {
	r := rand.New(rand.NewPCG(seed, 1))
	g := grid.Grid{}
	for range c.dim {
		g.Origin = append(g.Origin, -20+40*r.Float64())
		g.Spacing = append(g.Spacing, []float64{4, 7, 13, 30, 60}[seed%5]*(0.8+0.4*r.Float64()))
		g.Shape = append(g.Shape, 1+r.IntN(map[int]int{2: 40, 3: 13}[c.dim]))
	}
	place := func(n int) (xyz []float64) {
		for range n {
			for a := range c.dim {
				x := g.Origin[a] + r.Float64()*(g.End(a)-g.Origin[a]+10)
				if a == c.dim-1 {
					x = g.Origin[a] - 5*r.Float64()
				}
				xyz = append(xyz, x)
			}
		}
		return xyz
	}
	s := survey.Survey{Dim: c.dim, Sources: place(1 + r.IntN(6)), Receivers: place(1 + r.IntN(20)), Fixed: true}
	if c.irregular {
		s.Fixed = false
		s.Receivers = append(s.Receivers, s.Sources...) // places that are both
		for range 1 + r.IntN(40) {
			s.SourceIndex = append(s.SourceIndex, int32(r.IntN(s.NumSources())))
			s.ReceiverIndex = append(s.ReceiverIndex, int32(r.IntN(s.NumReceivers())))
		}
	}
	p := &kirchhoff.Problem{Grid: g, Positions: s.Distinct(true), NT: 40 + r.IntN(200), DT: 0.004, T0: c.t0,
		WaveletFilter: c.waveletFilter(seed), Dynamic: c.weights > 0, Threads: 2}
	if c.short {
		p.NT = 2 + r.IntN(30)
	}
	p.Wavelet = survey.Wavelet{Samples: make([]float64, 1+r.IntN(60)), DT: p.DT}
	for i := range p.Wavelet.Samples {
		p.Wavelet.Samples[i] = r.NormFloat64()
	}
	p.Wavelet.Zero = r.IntN(len(p.Wavelet.Samples))
	p.Velocity = make([]float64, g.Len())
	for i := range p.Velocity {
		p.Velocity[i] = 1500 + 1000*r.Float64()
	}
	if c.rays {
		p.Spreading = traveltime.RaySpreading
		if c.dim == 2 && c.filter {
			p.Spreading = traveltime.PointSpreading
		}
		p.TakeoffLimit = []float64{35, 85}
	}
	if c.weights == 2 {
		p.AngleLimit = []float64{25, 55}
	}
	if c.limits&1 != 0 {
		p.DipLimit = []float64{25, 70}
	}
	if c.limits&2 != 0 {
		p.Opening = kirchhoff.Window{Rise0: 10, Rise1: 30, Fall0: 60, Fall1: 110}
	}
	if c.antialias {
		p.Slowest = 2000
		for range c.dim - 1 {
			p.Antialias = append(p.Antialias, 5+60*r.Float64())
		}
	}
	if c.aperture > 0 {
		p.Aperture, p.ApertureTaper = make([]float64, c.dim-1), make([]float64, c.dim-1)
		for axis := range p.Aperture {
			if axis == 0 || c.aperture > 1 {
				p.Aperture[axis] = (0.2 + 0.4*r.Float64()) * (g.End(axis) - g.Origin[axis] + 5)
			}
			if c.aperture < 3 {
				p.ApertureTaper[axis] = 0.7 * p.Aperture[axis]
			}
		}
	}
	analytic, err := traveltime.NewAnalytic(2000, g)
	must(t, err)
	p.Times = analytic
	if c.gaps {
		p.Times = gaps{analytic}
	}
	if c.unequal {
		p.Times, p.Slowest, p.Velocity = traveltime.NewUnequal(slower{p.Times}, nil), 1200, nil
	}
	return p
}

// slower makes the times of receivers longer, as for converted waves.
type slower struct{ traveltime.Method }

func (m slower) Solve(ctx context.Context, p *survey.Positions, places []int, opt traveltime.Options, sink func(int, traveltime.Field) error) error {
	return m.Method.Solve(ctx, p, places, opt, func(place int, f traveltime.Field) error {
		for i := range f.Branches[0].Time {
			if p.Role[place] == survey.AtReceiver {
				f.Branches[0].Time[i] *= 5.0 / 3
			}
		}
		return sink(place, f)
	})
}

// gaps makes some points of each field unreachable.
type gaps struct{ traveltime.Method }

func (m gaps) Solve(ctx context.Context, p *survey.Positions, places []int, opt traveltime.Options, sink func(int, traveltime.Field) error) error {
	return m.Method.Solve(ctx, p, places, opt, func(place int, f traveltime.Field) error {
		time := f.Branches[0].Time
		for i := int(p.NumberOf(int32(place))) % 3; i < len(time); i += 7 {
			time[i] = []float64{math.Inf(1), math.NaN(), 1e30}[i%3]
		}
		return sink(place, f)
	})
}

// spread is a fixed spread over a grid of the given shape and spacing.
func spread(t testing.TB, shape []int, h float64, sources, receivers, nt int, dynamic bool) *kirchhoff.Problem {
	dim := len(shape)
	g := grid.Grid{Origin: make([]float64, dim), Spacing: make([]float64, dim), Shape: shape}
	for a := range dim {
		g.Spacing[a] = h
	}
	line := func(n int, y float64) (xyz []float64) {
		for i := range n {
			xyz = append(xyz, g.End(0)*(float64(i)+0.3)/float64(n))
			if dim == 3 {
				xyz = append(xyz, y*g.End(1))
			}
			xyz = append(xyz, 0)
		}
		return xyz
	}
	s := survey.Survey{Dim: dim, Sources: line(sources, 0.3), Receivers: line(receivers, 0.6), Fixed: true}
	p := &kirchhoff.Problem{Grid: g, Positions: s.Distinct(true), NT: nt, DT: 0.004, Dynamic: dynamic, Threads: 2,
		Wavelet: survey.Wavelet{Samples: []float64{-0.2, 0.5, 1, 0.5, -0.2}, Zero: 2, DT: 0.004}, Velocity: make([]float64, g.Len())}
	for i := range p.Velocity {
		p.Velocity[i] = 1500 + float64(i%700)
	}
	var err error
	p.Times, err = traveltime.NewAnalytic(2000, g)
	must(t, err)
	return p
}

// engine makes the engine of p on a card.
func engine(t testing.TB, d *card.Device, p *kirchhoff.Problem) *Engine {
	t.Helper()
	return working(t, d, p, kirchhoff.Work{})
}

// working makes the engine of p on a card for some work.
func working(t testing.TB, d *card.Device, p *kirchhoff.Problem, w kirchhoff.Work) *Engine {
	t.Helper()
	e, err := New(t.Context(), d, p, w)
	must(t, err)
	t.Cleanup(e.Close)
	return e
}

func noise(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 6))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// upload and download are for float32 vectors, on any device.
func upload(t testing.TB, d device.Device, x []float32) device.Buf {
	t.Helper()
	b, err := d.Alloc(len(x), device.F32)
	must(t, err)
	must(t, device.Upload(b, x))
	return b
}

func download(t testing.TB, b device.Buf) []float32 {
	t.Helper()
	x := make([]float32, b.Len())
	must(t, device.Download(x, b))
	return x
}

// both applies an engine to an image and to traces.
func both(t testing.TB, d device.Device, e kirchhoff.Engine, m, x []float32) (data, image []float32) {
	t.Helper()
	return bothOf(t, d, e, 0, m, x)
}

// bothOf is both for one of several images.
func bothOf(t testing.TB, d device.Device, e kirchhoff.Engine, n int, m, x []float32) (data, image []float32) {
	t.Helper()
	to := func(n int) device.Buf {
		b, err := d.Alloc(n, e.Type())
		must(t, err)
		return b
	}
	from := func(x []float32) device.Buf {
		b := to(len(x))
		must(t, device.Upload(b, x))
		return b
	}
	traces, points := to(len(x)), to(len(m))
	must(t, e.Kernels()[n].Forward(t.Context(), traces, from(m)))
	must(t, e.Kernels()[n].Adjoint(t.Context(), points, from(x)))
	return download(t, traces), download(t, points)
}

// difference is the largest difference relative to the largest value of want.
func difference(got, want []float32) float64 {
	scale, worst := 0.0, 0.0
	for i := range want {
		scale = max(scale, math.Abs(float64(want[i])))
		d := math.Abs(float64(got[i]) - float64(want[i]))
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		worst = max(worst, d)
	}
	if scale == 0 {
		return worst
	}
	return worst / scale
}

// waveletFilter is each of the filters in turn, or none.
func (c trial) waveletFilter(seed uint64) kirchhoff.WaveletFilter {
	if !c.filter {
		return kirchhoff.NoFilter
	}
	return []kirchhoff.WaveletFilter{kirchhoff.HalfDerivatives, kirchhoff.PyLopsFilter}[seed%2]
}
