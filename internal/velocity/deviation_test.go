package velocity

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Variances are the diagonal of the inverse of the column's matrix.
func TestVariancesAreThoseOfTheInverse(t *testing.T) {
	for _, first := range []float64{0, 0.3} {
		const n = 40
		m := &Model{Grid: grid.Grid{Origin: []float64{0, first}, Spacing: []float64{100, 0.05}, Shape: []int{1, n}, Domain: grid.Time}, Kind: RMS}
		for k := range n {
			m.V = append(m.V, 1600+40*float64(k))
		}
		f := newDixFit(m, DefaultDamping)
		h, x, y := mat.NewSymDense(n, nil), make([]float64, n), make([]float64, n)
		for k := range n {
			clear(x)
			x[k] = 1
			f.normal(y, x)
			for i := range k + 1 {
				h.SetSym(i, k, y[i])
			}
		}
		var factor mat.Cholesky
		var inverse mat.SymDense
		if !factor.Factorize(h) || factor.InverseTo(&inverse) != nil {
			t.Fatal("the matrix has no inverse")
		}
		for k, v := range f.variances(0) {
			if want := inverse.At(k, k); math.Abs(v/want-1) > 1e-3 {
				t.Errorf("from %g s: variance %d is %g, want %g", first, k, v, want)
			}
		}
	}
}

// Damped velocities are off the truth by as much as they are said to, whatever the step in time: of grounds whose squared velocity
// wanders by half its mean over 0.2 s, from RMS velocities with an error of 1 % that is another one every 0.2 s, or white with the same
// mean over 0.2 s.
func TestDampedVelocitiesDeviate(t *testing.T) {
	for _, c := range []struct {
		step  float64
		white bool
	}{{0.01, false}, {0.01, true}, {0.04, false}, {0.04, true}} {
		g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{1e6, c.step}, Shape: []int{60, int(math.Round(2.4/c.step)) + 1}, Domain: grid.Time}
		r := rand.New(rand.NewPCG(11, 12))
		const mean = 1.15 // of u from 0.3 to 2, about
		n, u := g.Shape[1], 0.0
		rms, want := rmsOf(t, g, func(_, time float64) float64 {
			if time == 0 {
				u = 0.5 + 1.2*r.Float64()
			} else if u += 0.5 * mean * math.Sqrt(c.step/0.2) * r.NormFloat64(); u < 0.3 {
				u = 0.6 - u
			} else if u > 2 {
				u = 4 - u
			}
			return 2500 * math.Sqrt(u)
		})
		e := 0.0
		for i := range rms.V {
			if every := int(math.Round(0.2 / c.step)); c.white {
				e = 0.01 * math.Sqrt(0.2/c.step) * r.NormFloat64()
			} else if i%n%every == 0 {
				e = 0.01 * r.NormFloat64()
			}
			rms.V[i] *= 1 + e
		}
		got, _, err := rms.Damp(t.Context(), DefaultDamping)
		if err != nil {
			t.Fatal(err)
		}
		var off, said [3]float64 // of thirds of the time
		for i, v := range got.V {
			third := i % n * 3 / n
			off[third] += math.Pow((v-want[i])/got.Deviation[i], 2) / float64(len(want)/3)
			said[third] += got.Deviation[i] / float64(len(want)/3)
		}
		for i := range off {
			off[i] = math.Sqrt(off[i])
		}
		t.Logf("step %g s, white %v: deviations of %.0f m/s in thirds of the time; velocities are off by %.2f of them", c.step, c.white, said, off)
		all := math.Sqrt((off[0]*off[0] + off[1]*off[1] + off[2]*off[2]) / 3)
		if math.Abs(all-1) > 0.15 {
			t.Errorf("step %g s, white %v: velocities are off by %.2f of what they are said to", c.step, c.white, all)
		}
	}
}

// In depth deviations are those of the two-way time of a point.
func TestDeviationsMoveWithTime(t *testing.T) {
	m := &Model{Grid: grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{100, 0.1}, Shape: []int{2, 21}, Domain: grid.Time}, Kind: Interval}
	for i := range m.Grid.Len() {
		m.V = append(m.V, float64(2000+1000*(i/21)))
		m.Deviation = append(m.Deviation, float64(i%21))
	}
	out, err := m.Convert(t.Context(), Target{Domain: grid.Depth, Kind: Interval, Spacing: 50})
	if err != nil {
		t.Fatal(err)
	}
	n := out.Grid.Shape[1]
	for i, got := range out.Deviation {
		if want := min(20, out.Grid.Coord(1, i%n)/float64(1000+500*(i/n))/0.1); math.Abs(got-want) > 1e-9 {
			t.Fatalf("point %d: deviation %g, want %g", i, got, want)
		}
	}
}

// Picks whose velocities fall too fast become velocities within the bounds whose root-mean-square ones are near the picks; those of
// picks that Dix's formula suits are nearer.
func TestDampPicks(t *testing.T) {
	for _, c := range []struct {
		picks  []Pick
		unreal int
		off    float64 // of RMS velocities
	}{
		{[]Pick{{0, 1500}, {0.8, 2600}, {1, 2200}, {2, 2600}}, 1, 0.1},
		{[]Pick{{0.5, 1600}, {1, 1800}, {1.5, 2000}}, 0, 0.02},
	} {
		unreal, layers, err := CountUnrealPicks(c.picks, DefaultDamping.Bounds)
		if err != nil || unreal != c.unreal || layers != 3 {
			t.Errorf("%v: %d of %d layers have no velocity, %v", c.picks, unreal, layers, err)
		}
		p, told, err := DampPicks(t.Context(), c.picks, DefaultDamping)
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for _, k := range c.picks {
			if k.At == 0 {
				continue
			}
			// By sums in depth of thin layers, until the pick's time.
			time, energy, z := 0.0, 0.0, 0.0
			for dz := 0.5; time < k.At; z += dz {
				v := p.At(z + dz/2)
				time, energy = time+2*dz/v, energy+2*dz*v
			}
			worst = max(worst, math.Abs(math.Sqrt(energy/time)/k.Velocity-1))
		}
		t.Logf("%v: RMS velocities change by %.4f at most, told %.4f", c.picks, worst, told.Worst)
		if worst > c.off || math.Abs(worst-told.Worst) > 0.003 {
			t.Errorf("%v: RMS velocities change by %g at most, told %g; want up to %g", c.picks, worst, told.Worst, c.off)
		}
		for _, k := range p {
			if k.Velocity < 300 || k.Velocity > 8000 {
				t.Errorf("%g m/s at %g m", k.Velocity, k.At)
			}
		}
	}
}
