package pipeline

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// probed opens the problem on one rank and hands its operator to f.
func (p *problem) probed(t *testing.T, engine string, set []string, f func(j *Job, op *Operator)) {
	t.Helper()
	must(t, p.onEngine(1, engine, set, func(j *Job) error {
		op, err := j.Build(context.Background())
		if err != nil {
			return err
		}
		defer op.engine.Close()
		f(j, op)
		return nil
	}))
}

// column is AᵀA e_i.
func column(t *testing.T, j *Job, a dist.Operator, i int) []float64 {
	t.Helper()
	e, err := dist.NewVector(j.process.Device, a.Domain())
	must(t, err)
	d, err := dist.NewVector(j.process.Device, a.Range())
	must(t, err)
	x := make([]float64, e.Layout.N)
	x[i] = 1
	must(t, device.Upload(e.Buf, x))
	must(t, a.Apply(t.Context(), d, e))
	must(t, a.ApplyAdjoint(t.Context(), e, d))
	must(t, device.Download(x, e.Buf))
	return x
}

func relativeDifference(a, b []float32) float64 {
	diff, norm := 0.0, 0.0
	for i, v := range b {
		diff += math.Pow(float64(a[i]-v), 2)
		norm += math.Pow(float64(v), 2)
	}
	return math.Sqrt(diff / norm)
}

// Point-spread functions are columns of AᵀA where they do not overlap, and have its
// diagonal at their points.
func TestPSF(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		p := line(t)
		p.probed(t, engine, []string{"output.psf=psf.h5", "output.psf_spacing=13,11"}, func(j *Job, op *Operator) {
			r, err := j.whole(j.op.PSF(t.Context()))
			must(t, err)
			got := r.Image
			at := 6*11 + 5
			want := column(t, j, op.lifted, at)
			for i, v := range want {
				if math.Abs(float64(got[i])-v) > 1e-6*want[at] {
					t.Fatalf("point %d: %g, want %g", i, got[i], v)
				}
			}
			s, err := j.op.setting(nil)
			must(t, err)
			d, err := s.Light(t.Context())
			must(t, err)
			diagonal := make([]float64, d.Layout.N)
			must(t, device.Download(diagonal, d.Buf))
			if math.Abs(float64(got[at])-diagonal[at]) > 1e-5*diagonal[at] {
				t.Errorf("at the point: %g, the diagonal is %g", got[at], diagonal[at])
			}
		})
	})
	p := wide(t)
	var want []float32
	for i, grid := range []string{"1,1", "2,2", "1,3"} {
		must(t, p.on([]int{1, 4, 3}[i], []string{"comm.grid=" + grid}, func(j *Job) error {
			op, err := j.Build(context.Background())
			if err != nil {
				return err
			}
			defer op.engine.Close()
			r, err := j.whole(j.op.PSF(context.Background()))
			if err == nil && j.Ranks.Root() {
				got := r.Image
				if i == 0 {
					want = got
				}
				if slices.Max(got) <= 0 || !slices.Equal(got, want) {
					t.Errorf("%s: other bits", grid)
				}
			}
			return err
		}))
	}
}
