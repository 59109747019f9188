package kirchhoff

import (
	"context"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// folded makes several arrivals of the one of another method: as many of waves that have not turned as of
// those that have. Each is slower than the one before, is missing at some points and has turned by half
// a period at others.
type folded struct {
	traveltime.Method
	arrivals int
}

func (m folded) Turned() []bool {
	return append(make([]bool, m.arrivals), slices.Repeat([]bool{true}, m.arrivals)...)
}

func (m folded) Traced() bool { return true }

func (m folded) Solve(ctx context.Context, p *survey.Positions, places []int, opt traveltime.Options, sink func(int, traveltime.Field) error) error {
	of := opt
	of.Gradient, of.Spreading, of.Takeoff = false, traveltime.NoSpreading, false
	return m.Method.Solve(ctx, p, places, of, func(place int, f traveltime.Field) error {
		g, first := f.Window.Grid(m.Grid()), f.Branches[0]
		n := g.Len()
		gradient := make([][]float64, g.Dim())
		for a := range gradient {
			gradient[a] = make([]float64, n)
		}
		traveltime.CentralGradient(gradient, first.Time, g)
		f.Branches = nil
		number := int(p.NumberOf(int32(place)))
		for k := range m.Turned() {
			slow := 1 + 0.0437*float64(k) // times do not fall on the end of a record
			b := traveltime.Branch{Time: slices.Clone(first.Time)}
			for _, v := range gradient {
				b.Gradient = append(b.Gradient, slices.Clone(v))
			}
			b.Spreading, b.Takeoff = make([]float64, n), make([]float64, n)
			column := 0
			for at := range f.Window.Columns(m.Grid()) {
				for z := range g.Shape[g.Dim()-1] {
					i, point := column+z, at+z // in the window and in the grid
					b.Time[i] *= slow
					b.Spreading[i] = 0.05 / (1 + 0.3*float64(k) + first.Time[i])
					if (point/3+k+number)%4 == 3 {
						b.Spreading[i] *= -1
					}
					b.Takeoff[i] = 0.2 * float64(k+point%5)
					if missing := (point+2*k+number)%3 == 0 && k > 0; missing || math.IsInf(b.Time[i], 1) || math.IsNaN(b.Time[i]) {
						b.Time[i], b.Spreading[i], b.Takeoff[i] = math.Inf(1), 0, 0
					}
					for a := range b.Gradient {
						if b.Gradient[a][i] *= slow; b.Spreading[i] == 0 {
							b.Gradient[a][i] = 0
						}
					}
				}
				column += g.Shape[g.Dim()-1]
			}
			f.Branches = append(f.Branches, b)
		}
		return sink(place, f)
	})
}

// TestBranchesByHand: the traces of a problem with several arrivals are those of the formula, in loops that
// know nothing of tables, pairings and phases: each pair of arrivals adds the wavelet with the phase of both.
func TestBranchesByHand(t *testing.T) {
	c := trial{dim: 2, weights: 1, rays: true, irregular: true, filter: true, arrivals: 2}
	p := c.problem(t, 3)
	p.TakeoffLimit = nil
	p.WaveletFilter = NoFilter
	p.NT = 160
	got, _ := both(t, p, everyEngine(t, p)[0], 9)
	image, random := make([]float64, p.Grid.Len()), rand.New(rand.NewPCG(9, 2)) // those of both
	for i := range image {
		image[i] = random.NormFloat64()
	}
	fields := make([]traveltime.Field, p.Positions.Len())
	places, opt := p.TimesNeeded()
	err := p.Times.Solve(context.Background(), p.Positions, places, opt, func(place int, f traveltime.Field) error {
		fields[place] = f
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// The wavelet at any time, and turned by −H, as the sum of its frequencies over a long period.
	const period = 4096
	turn := func(quarters int) []float64 {
		spectrum := make([]complex128, period)
		for k := range spectrum {
			f := float64(min(k, period-k))
			if k > period/2 {
				f = -f
			}
			for j, v := range p.Wavelet.Samples {
				spectrum[k] += complex(v, 0) * cmplx.Exp(complex(0, -2*math.Pi*f*float64(j-p.Wavelet.Zero)/period))
			}
			switch {
			case k == 0 || k == period/2:
				spectrum[k] *= complex(float64((quarters+1)%2), 0)
			case quarters == 1 && f > 0:
				spectrum[k] *= 1i
			case quarters == 1:
				spectrum[k] *= -1i
			}
		}
		return inverse(spectrum)
	}
	pulse := [2][]float64{turn(0), turn(1)}
	turned := traveltime.Turned(p.Times)
	want := make([]float64, len(got))
	for trace, s := range p.Positions.Source {
		at := fields[s].Branches
		for j, a := range at {
			for k, b := range fields[p.Positions.Receiver[trace]].Branches {
				quarters := map[bool]int{true: 1}
				phase := quarters[turned[j]] + quarters[turned[k]]
				for i, m := range image {
					q := (a.Time[i] + b.Time[i] - p.T0) / p.DT
					if a.Spreading[i] == 0 || b.Spreading[i] == 0 || !(q > -1 && q < float64(p.NT-1)) {
						continue
					}
					cosine := math.Cos((math.Atan2(a.Gradient[0][i], a.Gradient[1][i]) - math.Atan2(b.Gradient[0][i], b.Gradient[1][i])) / 2)
					weight := 2 * cosine * a.Spreading[i] * b.Spreading[i] / p.Velocity[i] * m
					if phase == 2 {
						weight = -weight
					}
					n := int(q)
					for sample := range p.NT {
						h := func(lag int) float64 { return pulse[phase%2][(lag+period)%period] }
						w := q - float64(n)
						want[trace*p.NT+sample] += weight * ((1-w)*h(sample-n) + w*h(sample-n-1))
					}
				}
			}
		}
	}
	// Taps of the turned wavelet leave out a norm of 2e-4.
	if d := difference(got, want); !(d < 1e-3) {
		t.Errorf("traces differ from those of the formula by %.2e of their largest sample", d)
	}
}

// inverse is the real part of the inverse discrete Fourier transform.
func inverse(spectrum []complex128) []float64 {
	out := make([]float64, len(spectrum))
	for n := range out {
		for k, v := range spectrum {
			out[n] += real(v*cmplx.Exp(complex(0, 2*math.Pi*float64(k*n%len(spectrum))/float64(len(spectrum))))) / float64(len(spectrum))
		}
	}
	return out
}
