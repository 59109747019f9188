package target

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
)

// Images that CGLS finds scatter as the target says: by the noise alone, and around the truth
// where the truth is what the damping takes it for.
func TestDeviationsAreThoseOfManySolves(t *testing.T) {
	folder := line(t)
	damping := 0.0
	must(t, on(folder, 1, []string{"solver.damping=0.05", "solver.penalty_scale=relative"}, func(j *pipeline.Job) error {
		d, err := j.Data()
		if err != nil {
			return err
		}
		q, err := j.Built().Quadratic(context.Background(), d, nil)
		if err == nil {
			damping = q.Damping
		}
		return err
	}))
	const sigma, solves = 0.7, 200
	set := []string{fmt.Sprintf("solver.damping=%v", damping), "solver.iterations=60", "solver.tolerance=0"}
	must(t, on(folder, 1, set, func(j *pipeline.Job) error {
		p, err := posteriorOf(j)
		if err != nil {
			return err
		}
		byNoise, byBoth := newSpread(j.Geometry().Image.Len()), newSpread(j.Geometry().Image.Len())
		for k := range solves {
			x, truth, err := solveNoise(j, sigma, 0, uint64(k))
			if err != nil {
				return err
			}
			byNoise.add(x, truth)
			if x, truth, err = solveNoise(j, sigma, sigma/damping, uint64(solves+k)); err != nil {
				return err
			}
			byBoth.add(x, truth)
		}
		byNoise.compare(t, "noise", p.Noise, sigma)
		byBoth.compare(t, "noise and truth", p.Variance, sigma)
		return nil
	}))
}

// posteriorOf is what the Hessian of the whole image says of its points.
func posteriorOf(j *pipeline.Job) (*Posterior, error) {
	target, _, err := of(j, Options{Window: Box{First: []int{0, 0}, Count: j.Geometry().Image.Shape}})
	if err != nil {
		return nil, err
	}
	defer target.Close()
	if err := target.factorize(context.Background()); err != nil {
		return nil, err
	}
	return target.posterior(context.Background(), target.window, func(int) {})
}

// solveNoise solves for traces of a random image of a standard deviation, and noise of another.
func solveNoise(j *pipeline.Job, sigma, image float64, seed uint64) (x, truth []float32, err error) {
	w := &dist.Work{Ctx: context.Background()}
	var d, e, m *dist.Vector
	w.New(j.Device(), j.Built().Linear().Range(), &d, &e)
	w.New(j.Device(), j.Built().Linear().Domain(), &m)
	truth, samples := make([]float32, m.Layout.N), make([]float32, d.Layout.N)
	noise(truth, image, seed)
	noise(samples, sigma, 1<<32+seed)
	w.Do(func() error { return device.Upload(m.Buf, truth) })
	w.Do(func() error { return device.Upload(e.Buf, samples) })
	w.Apply(j.Built().Linear(), d, m)
	w.Axpby(1, e, 1, d)
	if w.Err != nil {
		return nil, nil, w.Err
	}
	r, err := j.Solve(context.Background(), d, false)
	if err != nil {
		return nil, nil, err
	}
	x, err = j.Whole(r.Image)
	return x, truth, err
}

// spread adds up the squares of errors.
type spread struct {
	squares []float64
	n       int
}

func newSpread(n int) *spread { return &spread{squares: make([]float64, n)} }

func (s *spread) add(x, truth []float32) {
	for i := range x {
		d := float64(x[i] - truth[i])
		s.squares[i] += d * d
	}
	s.n++
}

// compare asserts predicted standard deviations: within 10 % at the median of all points and
// 25 % at the 95th percentile.
func (s *spread) compare(t *testing.T, what string, variance []float64, sigma float64) {
	t.Helper()
	var off []float64
	for i, v := range variance {
		sampled := math.Sqrt(s.squares[i] / float64(s.n))
		off = append(off, math.Abs(sigma*math.Sqrt(v)/sampled-1))
	}
	slices.Sort(off)
	median, high := off[len(off)/2], off[len(off)*95/100]
	t.Logf("%s: predicted and sampled deviations differ by %.1f %% at the median, %.1f %% at the 95th percentile", what, 100*median, 100*high)
	if !(median <= 0.10) || !(high <= 0.25) {
		t.Errorf("%s: predicted and sampled deviations differ by %.1f %% at the median and %.1f %% at the 95th percentile, want 10 and 25", what, 100*median, 100*high)
	}
}

// The noise that an image leaves is that of its residual, given the freedom that the image took.
func TestNoiseIsThatOfTheResidual(t *testing.T) {
	folder := line(t)
	const sigma = 0.7
	must(t, on(folder, 1, []string{"solver.damping=0.02", "solver.penalty_scale=relative", "solver.iterations=60"}, func(j *pipeline.Job) error {
		p, err := posteriorOf(j)
		if err != nil {
			return err
		}
		freedom := 0.0
		for _, v := range p.Resolution {
			freedom += v
		}
		d, err := dist.NewVector(j.Device(), j.Built().Linear().Range())
		if err != nil {
			return err
		}
		samples := make([]float32, d.Layout.N)
		noise(samples, sigma, 5)
		if err := device.Upload(d.Buf, samples); err != nil {
			return err
		}
		r, err := j.Solve(context.Background(), d, false)
		if err != nil {
			return err
		}
		h := r.History.Residual
		found, err := noiseOf(h[len(h)-1], d.Layout.N, freedom)
		if err != nil {
			return err
		}
		if !(math.Abs(found/sigma-1) <= 0.05) {
			t.Errorf("noise is %g, want %g", found, sigma)
		}
		if _, err := noiseOf(1, 10, 11); err == nil {
			t.Error("noise of fewer samples than degrees of freedom")
		}
		return nil
	}))
}
