package kirchhoff

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// trial is one combination of everything an operator can be made of.
type trial struct {
	dim, weights      int // weights: 0 none, 1 dynamic, 2 with an angle limit
	irregular, filter bool
	t0                float64 // s
	short, gaps       bool    // record ends early; unreachable points
	limits            int     // 0 none, 1 dip, 2 opening angle, 3 both
	antialias         bool
	aperture          int  // 0 none, 1 along the first axis, 2 along all with tapers, 3 without
	unequal           int  // slownesses: 0 equal, 1 of converted waves, 2 of an anisotropic medium
	rays              bool // spreading of rays, and a limit of their take-off
	arrivals          int  // of each point, at most; 0: first arrivals
}

func (c trial) String() string {
	return fmt.Sprintf("%dD/rays=%v,weights=%d,irregular=%v,filter=%v,t0=%g,short=%v,gaps=%v,limits=%d,antialias=%v,aperture=%d,unequal=%d,arrivals=%d",
		c.dim, c.rays, c.weights, c.irregular, c.filter, c.t0, c.short, c.gaps, c.limits, c.antialias, c.aperture, c.unequal, c.arrivals)
}

func trials() []trial {
	var all []trial
	for i := range 2 * 3 * 2 * 2 * 3 * 2 {
		digit := func(n int) int { d := i % n; i /= n; return d }
		c := trial{dim: 2 + digit(2), weights: digit(3), irregular: digit(2) == 1, filter: digit(2) == 1,
			t0: []float64{0, 0.0713, -0.031}[digit(3)], short: digit(2) == 1}
		c.gaps = len(all)%7 == 4
		c.rays = c.weights > 0 && !c.gaps && len(all)%3 == 2
		c.antialias = len(all)%3 == 1
		c.limits = []int{0, 3, 0, 1, 2}[(len(all)+len(all)/5)%5] // with each of the spacings, which go by len(all)%5
		c.aperture = []int{0, 0, 0, 2, 0, 1, 0, 2, 3, 0, 0}[len(all)%11]
		c.arrivals = []int{0, 1, 0, 0, 3, 0, 0, 0, 0, 2, 0, 0, 5}[len(all)%13]
		all = append(all, c)
	}
	return all
}

// problem makes a small problem with random geometry. Grid sizes run from 1 to 17
// and spacings from 4 to 60 m, so that a tile's times span from a few samples to
// more than any fast path holds.
func (c trial) problem(t testing.TB, seed uint64) *Problem {
	r := rand.New(rand.NewPCG(seed, 1))
	g := grid.Grid{}
	for range c.dim {
		g.Origin = append(g.Origin, -20+40*r.Float64())
		g.Spacing = append(g.Spacing, []float64{4, 7, 13, 30, 60}[seed%5]*(0.8+0.4*r.Float64()))
		g.Shape = append(g.Shape, 1+r.IntN(17))
	}
	if c.dim == 3 {
		g.Shape[r.IntN(3)] = 1 + r.IntN(5)
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
	s := survey.Survey{Dim: c.dim, Sources: place(1 + r.IntN(6)), Receivers: place(1 + r.IntN(9)), Fixed: true}
	if c.irregular {
		s.Fixed = false
		s.Receivers = append(s.Receivers, s.Sources...) // places that are both
		for range 1 + r.IntN(40) {
			s.SourceIndex = append(s.SourceIndex, int32(r.IntN(s.NumSources())))
			s.ReceiverIndex = append(s.ReceiverIndex, int32(r.IntN(s.NumReceivers())))
		}
	}
	p := &Problem{Grid: g, Positions: s.Distinct(true), NT: 40 + r.IntN(200), DT: 0.004, T0: c.t0,
		WaveletFilter: c.waveletFilter(seed), Dynamic: c.weights > 0, Threads: 1}
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
	if c.antialias {
		p.Antialias, p.Slowest = []float64{40, 25}[:c.dim-1], slices.Min(p.Velocity)
	}
	if c.limits&1 != 0 {
		p.DipLimit = []float64{20, 65}
	}
	if c.limits&2 != 0 {
		p.Opening = Window{2, 20, 40, 95}
	}
	if c.aperture > 0 {
		p.Aperture, p.ApertureTaper = make([]float64, c.dim-1), make([]float64, c.dim-1)
		for axis := range p.Aperture {
			if axis == 0 || c.aperture > 1 {
				p.Aperture[axis] = (0.2 + 0.4*r.Float64()) * (g.End(axis) - g.Origin[axis] + 5)
			}
		}
		if c.aperture < 3 {
			for axis, a := range p.Aperture {
				p.ApertureTaper[axis] = 0.7 * a
			}
		}
	}
	analytic, err := traveltime.NewAnalytic(2000, g)
	if err != nil {
		t.Fatal(err)
	}
	p.Times = analytic
	if c.unequal > 0 {
		media := closed{}
		if media = twoSpeeds(g); c.unequal == 2 {
			media = elliptic(g)
		}
		p.Times, p.Slowest, p.Velocity = media.method(), media.slowest(), nil
	}
	if c.gaps {
		p.Times = gaps{p.Times}
	}
	if c.arrivals > 0 {
		p.Times = folded{p.Times, c.arrivals}
	}
	if c.gaps && c.unequal > 0 {
		p.Times = traveltime.NewUnequal(p.Times, nil)
	}
	return p
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

// everyEngine makes every engine this processor runs.
func everyEngine(t testing.TB, p *Problem) []Engine {
	ref, err := NewReference(context.Background(), p, Work{})
	if err != nil {
		t.Fatal(err)
	}
	all := []Engine{ref}
	for isa := simd.Portable; isa <= simd.Best(); isa++ {
		t.Setenv("LSM_CPU_ISA", isa.String())
		cpu, err := New(context.Background(), p, Work{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cpu.Close)
		all = append(all, cpu)
	}
	if simd.Best().HasCells(simd.Static) { // with all runs in the lanes, and with none
		for _, least := range []int{1, simd.Lanes + 1} {
			all = append(all, withLanes(t, p, least))
		}
	}
	return all
}

// everyDouble makes the double engine with every set of kernels that this processor runs, if it
// offers what p needs.
func everyDouble(t testing.TB, p *Problem) (all []Engine) {
	if Refuse("double", p, Work{}) != nil {
		return nil
	}
	for isa := simd.Portable; isa <= simd.Best(); isa++ {
		t.Setenv("LSM_CPU_ISA", isa.String())
		e, err := NewDouble(context.Background(), p, Work{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		all = append(all, e)
	}
	return all
}

// only is the operator of an engine of one image.
func only(e Engine) dist.Kernel { return e.Kernels()[0] }

// newCPUEngine makes the cpu engine.
func newCPUEngine(t testing.TB, p *Problem, w Work) *cpu {
	t.Helper()
	e, err := New(context.Background(), p, w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e.(*cpu)
}

// kept are the lists of an engine of one unit.
func kept(e Engine) *lists { return e.(*cpu).kernels[0].kept }

func name(e Engine) string {
	if d, ok := e.(*double); ok {
		return "double/" + d.isa.String()
	}
	if c, ok := e.(*cpu); ok {
		for _, d := range kept(c).fwd {
			if d.cells {
				return "cpu/" + c.isa.String() + " in cells"
			}
		}
		return "cpu/" + c.isa.String()
	}
	return e.Name()
}

func operator(p *Problem, e Engine) dist.Operator {
	return dist.Lift(only(e), dist.Local(e.Type(), p.Grid.Shape...), dist.Local(e.Type(), p.NumTraces(), p.NT))
}

// both applies an engine in both directions to seeded random vectors.
func both(t testing.TB, p *Problem, e Engine, seed uint64) (data, image []float64) {
	h := device.NewHost(1)
	r := rand.New(rand.NewPCG(seed, 2))
	apply := func(f func(context.Context, device.Buf, device.Buf) error, n, from int) []float64 {
		x := make([]float64, from)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		src, err := h.Alloc(from, e.Type())
		if err == nil {
			err = device.Upload(src, x)
		}
		if err != nil {
			t.Fatal(err)
		}
		dst, err := h.Alloc(n, e.Type())
		if err == nil {
			err = f(context.Background(), dst, src)
		}
		out := make([]float64, n)
		if err == nil {
			err = device.Download(out, dst)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	nd, ni := p.NumTraces()*p.NT, p.Grid.Len()
	return apply(only(e).Forward, nd, ni), apply(only(e).Adjoint, ni, nd)
}

// largest is the largest |v[i]|.
func largest(v []float64) float64 {
	most := 0.0
	for _, x := range v {
		most = max(most, math.Abs(x))
	}
	return most
}

// difference is the largest difference relative to the largest value of want.
func difference(got, want []float64) float64 {
	scale, worst := 0.0, 0.0
	for i := range want {
		scale = max(scale, math.Abs(want[i]))
		d := math.Abs(got[i] - want[i])
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

// TestConformance: every engine is adjoint to rounding and agrees with the
// reference, whatever the operator is made of.
func TestConformance(t *testing.T) {
	empty, plain := 0, 0 // of trials without tapers, which may leave nothing
	for i, c := range trials() {
		t.Run(c.String(), func(t *testing.T) {
			if c.limits == 0 && c.aperture == 0 {
				plain++
			}
			if c.conforms(t, uint64(i)) && c.limits == 0 && c.aperture == 0 {
				empty++
			}
		})
	}
	if empty > plain/4 {
		t.Errorf("%d of %d trials have empty data and test nothing", empty, plain)
	}
}

// conforms checks every engine for a trial's problem, and reports whether its data are empty.
func (c trial) conforms(t *testing.T, seed uint64) (empty bool) {
	p := c.problem(t, seed)
	// Times are float32 relative to their tile. On a grid of 60 m those
	// of one tile lie up to 150 samples apart, and resolve 1e-5 samples.
	near := 5e-6
	if slices.Max(p.Grid.Spacing) > 40 {
		near = 2e-5
	}
	// Tapers are good to 1e-6 of the weights without them.
	var slack [2]float64 // data, image
	if c.limits > 0 || c.aperture > 0 {
		q := *p
		q.DipLimit, q.Opening, q.Aperture = nil, Window{}, nil
		ref, err := NewReference(context.Background(), &q, Work{})
		if err != nil {
			t.Fatal(err)
		}
		d, m := both(t, &q, ref, seed)
		slack = [2]float64{5e-6 * largest(d), 5e-6 * largest(m)}
	}
	var data, image []float64
	for _, e := range append(everyEngine(t, p), everyDouble(t, p)...) {
		tolerance := 1e-13
		if e.Type() == device.F32 {
			tolerance = 1e-6
		}
		d, err := dist.DotTest(context.Background(), device.NewHost(1), operator(p, e), 7)
		if err != nil {
			t.Fatal(err)
		}
		if !(d <= tolerance) {
			t.Errorf("%s: dot test %.2e, want at most %g", name(e), d, tolerance)
		}
		gotData, gotImage := both(t, p, e, seed)
		if data == nil {
			data, image = gotData, gotImage
			empty = slices.Max(data) == 0
			continue
		}
		near := near
		if e.Type() == device.F64 {
			near = 1e-12
		}
		if d := difference(gotData, data); !(d <= near || d*largest(data) <= slack[0]) {
			t.Errorf("%s: forward differs from the reference by %.2e", name(e), d)
		}
		if d := difference(gotImage, image); !(d <= near || d*largest(image) <= slack[1]) {
			t.Errorf("%s: adjoint differs from the reference by %.2e", name(e), d)
		}
	}
	return empty
}

// TestThreads: an engine's result has the same bits on any number of threads, and
// again on the same engine.
func TestThreads(t *testing.T) {
	for _, c := range []trial{{dim: 2}, {dim: 3, weights: 2, irregular: true}, {dim: 2, weights: 2, limits: 3, unequal: 2}, {dim: 2, weights: 1, arrivals: 3}} {
		p := c.problem(t, 23)
		p.Grid.Shape[0], p.Grid.Shape[c.dim-1] = 67, 41
		p.Velocity = make([]float64, p.Grid.Len())
		for i := range p.Velocity {
			p.Velocity[i] = 2000
		}
		var err error
		if p.Times, err = traveltime.NewAnalytic(2000, p.Grid); err != nil {
			t.Fatal(err)
		}
		if c.unequal > 0 {
			p.Times = elliptic(p.Grid).method()
		}
		if c.arrivals > 0 {
			p.Times = folded{p.Times, c.arrivals}
		}
		var data, image [][]float64
		for threads := 1; threads <= 3; threads++ {
			p.Threads = threads
			for i, e := range append(everyEngine(t, p), everyDouble(t, p)...) {
				for range 2 {
					d, m := both(t, p, e, 5)
					if i >= len(data) {
						data, image = append(data, d), append(image, m)
					}
					if !slices.Equal(d, data[i]) || !slices.Equal(m, image[i]) {
						t.Errorf("%v: %s: %d threads give other bits than 1", c, name(e), threads)
					}
				}
			}
		}
	}
}

// waveletFilter is each of the filters in turn, or none.
func (c trial) waveletFilter(seed uint64) WaveletFilter {
	if !c.filter {
		return NoFilter
	}
	return []WaveletFilter{HalfDerivatives, PyLopsFilter}[seed%2]
}
