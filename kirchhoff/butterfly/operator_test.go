package butterfly

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// carpet is a survey of n × n sources and receivers, spaced by h, over a small image at a depth.
func carpet(t testing.TB, n int, h, depth float64, shape []int) *kirchhoff.Problem {
	r := rand.New(rand.NewPCG(1, 2))
	g := grid.Grid{Shape: shape, Origin: []float64{0, 0, depth}, Spacing: []float64{10, 10, 10}}
	s := survey.Survey{Dim: 3, Fixed: true}
	for i := range n {
		for j := range n {
			x, y := h*float64(i)+2*r.Float64(), h*float64(j)+2*r.Float64()
			s.Sources = append(s.Sources, x, y, 0)
			s.Receivers = append(s.Receivers, x+0.4*h+20, y-0.4*h-30, 0)
		}
	}
	p := &kirchhoff.Problem{Grid: g, Positions: s.Distinct(true), NT: 600, DT: 0.004, Threads: 2, Slowest: 2000}
	a := func(i int) float64 { x := math.Pi * 20 * 0.004 * float64(i-40); return (1 - 2*x*x) * math.Exp(-x*x) }
	for i := range 81 {
		p.Wavelet.Samples = append(p.Wavelet.Samples, a(i))
	}
	p.Wavelet.Zero, p.Wavelet.DT = 40, 0.004
	var err error
	if p.Times, err = traveltime.NewAnalytic(2000, g); err != nil {
		t.Fatal(err)
	}
	return p
}

// exact evaluates the adjoint with band-limited interpolation in time.
func exact(t testing.TB, p *kirchhoff.Problem, e []float32) []float64 {
	const fine = 32
	out := make([]float64, p.ImageLen())
	long := p.NT + 200
	in, back := fourier.NewFFT(long), fourier.NewFFT(long*fine)
	rows := make([][]float64, p.NumTraces())
	for i := range rows {
		x := make([]float64, long)
		for k, v := range e[i*p.NT : (i+1)*p.NT] {
			x[k] = float64(v) / float64(long)
		}
		c := make([]complex128, long*fine/2+1)
		copy(c, in.Coefficients(nil, x))
		rows[i] = back.Sequence(nil, c)
	}
	times := make([][]float64, p.Positions.Len())
	var places []int
	for i := range times {
		places = append(places, i)
	}
	err := p.Times.Solve(t.Context(), p.Positions, places, traveltime.Options{Threads: 2}, func(place int, f traveltime.Field) error {
		times[place] = append([]float64(nil), f.Time...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range p.Positions.Source {
		ts, tr := times[s], times[p.Positions.Receiver[i]]
		for x := range out {
			q := (ts[x] + tr[x] - p.T0) / p.DT * fine
			k := int(q)
			w := q - float64(k)
			out[x] += (1-w)*rows[i][k] + w*rows[i][k+1]
		}
	}
	return out
}

func correlated(p *kirchhoff.Problem, r *rand.Rand) []float32 {
	h := p.Taps()
	e := make([]float32, p.NumTraces()*p.NT)
	for i := range p.NumTraces() {
		d := make([]float64, p.NT)
		for k := 60; k < p.NT-60; k++ {
			d[k] = r.NormFloat64()
		}
		for n := range d {
			sum := 0.0
			for j, v := range h.Samples {
				if k := n + j - h.Zero; k >= 0 && k < len(d) {
					sum += v * d[k]
				}
			}
			e[i*p.NT+n] = float32(sum)
		}
	}
	return e
}

// TestOperator: parts that cover everything are within the tolerance of band-limited interpolation at
// exact times, and the directions are adjoint.
func TestOperator(t *testing.T) {
	p := carpet(t, 8, 25, 1000, []int{48, 32, 32})
	l, err := kirchhoff.NewPlan(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	e := correlated(p, rand.New(rand.NewPCG(3, 4)))
	want := exact(t, p, e)
	for _, tolerance := range []float64{3e-2, 1e-2, 1e-3} {
		o, err := New(t.Context(), p, tolerance)
		if err != nil {
			t.Fatal(err)
		}
		if all := int64(p.NumTraces() * p.ImageLen()); o.Triples() != all {
			t.Errorf("tolerance %g: %d triples of %d are factorised", tolerance, o.Triples(), all)
		}
		sums, m, u := make([]float64, len(l.Points)), make([]float32, len(l.Points)), make([]float32, len(e))
		err = o.Adjoint(t.Context(), sums, 0, func(_, trace int, to []float32) { copy(to, e[trace*p.NT:]) })
		if err != nil {
			t.Fatal(err)
		}
		r, diff, norm := rand.New(rand.NewPCG(5, 6)), 0.0, 0.0
		for i, point := range l.Points {
			if point >= 0 {
				m[i] = float32(r.NormFloat64())
				diff += (sums[i] - want[point]) * (sums[i] - want[point])
				norm += want[point] * want[point]
			}
		}
		off := math.Sqrt(diff / norm)
		err = o.Forward(t.Context(), m, func(_, trace int, x []float32) { copy(u[trace*p.NT:], x) })
		if err != nil {
			t.Fatal(err)
		}
		dot := apart(u, e, sums, m)
		t.Logf("tolerance %g: off by %.1e, dot test %.1e", tolerance, off, dot)
		if !(off <= tolerance) || !(dot <= 1e-6) {
			t.Errorf("tolerance %g: off by %.2e, dot test %.2e", tolerance, off, dot)
		}
	}
}
