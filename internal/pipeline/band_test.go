package pipeline

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"

	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// bandOf is B of a column at a place, element by element, for a Ricker wavelet of so many Hz: its spectrum over
// the largest value of it belongs to the wavelet times √π e/2 Hz.
func bandOf(g grid.Grid, slowness func(z float64) float64, hz float64) *mat.SymDense {
	n, dim := g.Shape[g.Dim()-1], g.Dim()
	t := make([]float64, n)
	for i := 1; i < n; i++ {
		h := g.Spacing[dim-1]
		z := g.Coord(dim-1, i)
		t[i] = t[i-1] + h/2*(slowness(z)+slowness(z-h))
	}
	root := func(i int) float64 { return math.Sqrt((t[min(i+1, n-1)] - t[max(i-1, 0)]) / 2) }
	b := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			a := math.Pow(math.Pi*hz*(t[i]-t[j]), 2)
			b.SetSym(i, j, root(i)*root(j)*math.Sqrt(math.Pi)*math.E/2*hz*(1-2*a)*math.Exp(-a))
		}
	}
	return b
}

// TestBandedSolve: the image with solver.band is m = B y of the y that minimises ‖A y − d‖² + λ²‖y‖², which is found
// once more by elimination, with B from its definition. Of converted waves the way up counts with its own velocity.
func TestBandedSolve(t *testing.T) {
	const hz, lambda = 25, 0.5
	for _, c := range []struct {
		name string
		make func(*testing.T) *problem
		up   float64 // m/s; 0: as down
		set  []string
	}{
		{"2-D", line, 0, nil}, {"3-D", cube, 0, nil}, {"converted", line, 1100, []string{"velocity.receiver_constant=1100"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := c.make(t)
			p.survey.Wavelet = ricker(hz, p.survey.DT)
			p.record(t, p.survey)
			g, n := p.grid, p.grid.Len()
			normal, band := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
			var migrated []float32
			j, op := p.ready(t, "reference", c.set...)
			migrated, err := j.migrate(t.Context(), op)
			must(t, err)
			at, nz := make([]float64, g.Dim()), g.Shape[g.Dim()-1]
			for i := range n {
				normal.SetCol(i, column(t, j, op.lifted, i))
				if i%nz > 0 {
					continue
				}
				g.Point(at, i)
				of := bandOf(g, func(z float64) float64 {
					down := 1 / (1700 + 2*z + 0.5*at[0])
					if c.up > 0 {
						return down + 1/c.up
					}
					return 2 * down
				}, hz)
				for k := range nz {
					for l := range nz {
						band.Set(i+k, i+l, of.At(k, l))
					}
				}
			}
			var m, full mat.Dense
			full.CloneFrom(normal)
			for i := range n {
				full.Set(i, i, full.At(i, i)+lambda*lambda)
			}
			right := mat.NewVecDense(n, nil)
			for i, v := range migrated {
				right.SetVec(i, float64(v))
			}
			var y mat.VecDense
			must(t, y.SolveVec(&full, right))
			m.Mul(band, &y)
			want := make([]float32, n)
			for i := range want {
				want[i] = float32(m.At(i, 0))
			}
			set := append([]string{"solver.band=true", fmt.Sprint("solver.damping=", lambda), "solver.iterations=300"}, c.set...)
			if e := relativeDifference(p.solve(t, "reference", set...).Image, want); !(e < 2e-3) {
				t.Errorf("the image is %.2e from that of elimination", e)
			}
			if e := relativeDifference(p.solve(t, "cpu", set...).Image, p.solve(t, "reference", set...).Image); !(e < 1e-4) {
				t.Errorf("cpu and reference are %.2e apart", e)
			}
		})
	}
}

// A start comes back as what of it lies in the band, which a start from a run with a band does as a whole.
func TestBandKeepsTheStart(t *testing.T) {
	p := wide(t)
	set := []string{"solver.band=true", "solver.iterations=3"}
	start := p.solve(t, "cpu", set...)
	must(t, h5.WriteImage(p.path("start.h5"), &h5.Image{Grid: p.grid, Data: start.Image}, h5.WriteOptions{}))
	got := p.solve(t, "cpu", "solver.band=true", "solver.iterations=0", "solver.start="+p.path("start.h5"))
	if e := relativeDifference(got.Image, start.Image); !(e < 1e-2) {
		t.Errorf("the start comes back %.2e from what it was", e)
	}
}

// Forward and adjoint with the band are adjoint, with every other factor of the operator.
func TestBandIsAdjoint(t *testing.T) {
	for _, set := range [][]string{nil, {"image.gathers=offset", "image.gather_bins=0,60,200"}, {"image.surface=survey"}, {"data.mute_offsets=0,60", "data.mute_times=0.02,0.05"}} {
		for _, engine := range tested {
			p := line(t)
			must(t, p.onEngine(1, engine, append(set, "solver.band=true"), withData(func(j *Job, _ *Operator, _ *dist.Vector) error {
				dot, err := j.op.DotTest(t.Context())
				if err != nil || !(dot <= 1e-6) {
					t.Errorf("%v, %s: dot test %.2e (%v)", set, engine, dot, err)
				}
				return nil
			})))
		}
	}
}

// Every method goes with the band: the image has the same bits on ranks over shots and image, and
// differs from that without.
func TestBandWithEveryMethod(t *testing.T) {
	p := wide(t)
	for name, set := range map[string][]string{
		"cg":       {"solver.method=cg"},
		"matching": {"solver.method=matching"},
		"dip":      {"solver.regularization=dip", "solver.regularization_weight=0.1"},
		"gathers":  {"image.gathers=offset", "image.gather_bins=0,60,200"},
	} {
		t.Run(name, func(t *testing.T) {
			set := append([]string{"solver.iterations=3"}, set...)
			if name == "matching" {
				set = set[1:]
			}
			banded := append(set, "solver.band=true")
			want := p.solveOn(t, 1, banded...)
			sameResult(t, "2 × 2 ranks", p.solveOn(t, 4, append(banded, "comm.grid=2,2")...), want)
			if e := relativeDifference(p.solveOn(t, 1, set...).Image, want.Image); !(e > 1e-3 && e < 10) {
				t.Errorf("with and without the band images are %.2e apart", e)
			}
		})
	}
}
