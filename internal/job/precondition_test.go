package job

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/formulation"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// probed opens the problem on one rank and hands the operator of its formulation, and
// the diagonal that the preconditioner was made from, to f.
func (p *problem) probed(t *testing.T, engine string, set []string, f func(j *Job, op *operator.Operator)) {
	t.Helper()
	must(t, p.onEngine(1, engine, set, func(j *Job) error {
		op, err := built(context.Background(), j)
		if err != nil {
			return err
		}
		defer op.Engine.Close()
		f(j, op)
		return nil
	}))
}

// column is AᵀA e_i.
func column(t *testing.T, j *Job, a dist.Operator, i int) []float64 {
	t.Helper()
	e, err := dist.NewVector(j.Device, a.Domain())
	must(t, err)
	d, err := dist.NewVector(j.Device, a.Range())
	must(t, err)
	x := make([]float64, e.Layout.N)
	x[i] = 1
	must(t, device.Upload(e.Buf, x))
	must(t, a.Apply(t.Context(), d, e))
	must(t, a.ApplyAdjoint(t.Context(), e, d))
	must(t, device.Download(x, e.Buf))
	return x
}

// The preconditioned operator has a diagonal of its largest value where the image is
// well lit: with weights, a mute, damping and rows of the gradient away from the edges.
func TestPreconditionedDiagonal(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		set := []string{"solver.preconditioner=diagonal", "solver.damping=0.4", "data.weights=rms",
			"data.mute_offsets=0,60", "data.mute_times=0.02,0.05"}
		line(t).probed(t, engine, set, func(j *Job, op *operator.Operator) {
			d, err := j.Data()
			must(t, err)
			f, err := j.formulate(t.Context(), d)
			must(t, err)
			plain, err := j.setting(d)
			must(t, err)
			plain.Config.Preconditioner = "none"
			g, err := formulation.New(t.Context(), plain)
			must(t, err)
			var before, after []float64
			for i := range j.Image.Len() {
				before = append(before, column(t, j, g.Problem.(*solver.Held).A, i)[i])
				after = append(after, column(t, j, f.Problem.(*solver.Held).A, i)[i])
			}
			top := slices.Max(before)
			for i, v := range before {
				want := v * (1 + 0.01) * top / (v + 0.01*top)
				if math.Abs(after[i]-want) > 1e-5*top {
					t.Fatalf("point %d: diagonal %g, want %g of %g at most", i, after[i], want, top)
				}
			}
		})
	})
}

// A preconditioned solve comes to the plain one's image, starts from the start model,
// goes on from a checkpoint and has the same bits on any ranks.
func TestPreconditionedSolve(t *testing.T) {
	p := line(t)
	set := []string{"solver.damping=1", "solver.iterations=60"}
	for _, method := range []string{"cg", "cgls"} {
		set := append(slices.Clone(set), "solver.method="+method)
		plain := p.solve(t, "reference", set...)
		got := p.solve(t, "reference", append(set, "solver.preconditioner=diagonal")...)
		if diff := relativeDifference(got.Image, plain.Image); !(diff < 1e-5) {
			t.Errorf("%s: images differ by %.2e", method, diff)
		}
	}

	by := append([]string{"image.gathers=offset", "image.gather_bins=0,40,150"}, set...)
	images := func(set ...string) (all []float32) {
		must(t, p.onEngine(1, "reference", append(by, set...), withData(func(j *Job, _ *operator.Operator, d *dist.Vector) error {
			r, err := j.Solve(t.Context(), d, false)
			if err != nil {
				return err
			}
			for _, class := range r.Classes.Rows() {
				one, err := j.Whole(class)
				if err != nil {
					return err
				}
				all = append(all, one...)
			}
			return nil
		})))
		return all
	}
	if diff := relativeDifference(images("solver.preconditioner=diagonal"), images()); !(diff < 1e-5) {
		t.Errorf("images by class differ by %.2e", diff)
	}

	start := p.solve(t, "cpu", "solver.iterations=2")
	must(t, h5.WriteImage(p.path("start.h5"), &h5.Image{Grid: p.grid, Data: start.Image}, h5.WriteOptions{}))
	got := p.solve(t, "cpu", "solver.iterations=0", "solver.preconditioner=diagonal", "solver.start="+p.path("start.h5"))
	if diff := relativeDifference(got.Image, start.Image); !(diff < 1e-6) {
		t.Errorf("the start model comes back with a difference of %.2e", diff)
	}
}

func relativeDifference(a, b []float32) float64 {
	diff, norm := 0.0, 0.0
	for i, v := range b {
		diff += math.Pow(float64(a[i]-v), 2)
		norm += math.Pow(float64(v), 2)
	}
	return math.Sqrt(diff / norm)
}

func TestPreconditionedOnRanks(t *testing.T) {
	p := wide(t)
	set := []string{"solver.iterations=3", "solver.preconditioner=diagonal", "kirchhoff.dynamic=true", "data.weights=rms", "solver.damping=0.1"}
	want := p.solveOn(t, 1, append(slices.Clone(set), "machine.threads=1")...)
	for _, grid := range []string{"3,1", "1,3", "2,2"} {
		ranks := map[string]int{"3,1": 3, "1,3": 3, "2,2": 4}[grid]
		sameResult(t, grid, p.solveOn(t, ranks, append(slices.Clone(set), "comm.grid="+grid, "machine.threads=2")...), want)
	}
	sameResult(t, "recomputed", p.solveOn(t, 2, append(slices.Clone(set), "kirchhoff.tables=recompute")...), want)
}

// Point-spread functions are columns of AᵀA where they do not overlap, and have its
// diagonal at their points.
func TestPSF(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		p := line(t)
		p.probed(t, engine, []string{"output.psf=psf.h5", "output.psf_spacing=13,11"}, func(j *Job, op *operator.Operator) {
			r, err := j.whole(j.PSF(t.Context()))
			must(t, err)
			got := r.Image
			at := 6*11 + 5
			want := column(t, j, op, at)
			for i, v := range want {
				if math.Abs(float64(got[i])-v) > 1e-6*want[at] {
					t.Fatalf("point %d: %g, want %g", i, got[i], v)
				}
			}
			s, err := j.setting(nil)
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
			op, err := built(context.Background(), j)
			if err != nil {
				return err
			}
			defer op.Engine.Close()
			r, err := j.whole(j.PSF(context.Background()))
			if err == nil && j.Root() {
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

func TestPreconditionerRefused(t *testing.T) {
	p := line(t)
	for set, want := range map[string]string{
		"solver.method=matching": "has no use for it",
	} {
		err := p.on(1, []string{"solver.preconditioner=diagonal", set}, func(*Job) error { return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", set, err, want)
		}
	}
}
