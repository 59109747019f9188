package dist_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// What a survey's shots and an image's slabs are to a run: uneven units, more than
// there are ranks.
var (
	shotUnits = []int{5, 3, 7, 4, 6, 2, 8, 5, 1}
	slabUnits = []int{3, 3, 3, 3, 3, 3, 2}
)

const shotRows, slabColumns = 41, 20

// regularised is the operator of a rank, with what is said about it in the name.
func regularised(name string, a dist.Operator) (dist.Operator, error) {
	image := a.Domain()
	switch name {
	case "damped":
		return dist.VStack(a, dist.Scale(0.7, dist.Identity(image))), nil
	case "smooth":
		d, err := dist.Difference(image, 0)
		return dist.VStack(a, dist.Scale(0.4, d)), err
	}
	return a, nil
}

// dataFor puts zeros below the data.
func dataFor(a dist.Operator, d *dist.Vector) (*dist.Vector, error) {
	if a.Range().Parts == nil {
		return d, nil
	}
	v, err := dist.NewVector(device.NewHost(2), a.Range())
	if err != nil {
		return nil, err
	}
	return v, dist.Copy(v.Parts[0], d)
}

// outcome is all there is to a solve, as text that shows every bit.
func outcome(p Place, method, operator string, o solver.Options) (string, error) {
	ctx := context.Background()
	k := Block(Random(4, shotRows, slabColumns), p.Data, p.Image, 5, 2)
	a, err := dist.LiftWith(dist.LiftOptions{Exact: true, Overlap: true}, p.Image, p.Data, k)
	if err != nil {
		return "", err
	}
	if a, err = regularised(operator, a); err != nil {
		return "", err
	}
	d, err := Vector(p.Data, Random(5, 1, shotRows)[0])
	if err != nil {
		return "", err
	}
	if d, err = dataFor(a, d); err != nil {
		return "", err
	}
	m, err := solver.New(method, o)
	if err != nil {
		return "", err
	}
	if err := m.Init(ctx, solver.Hold(a, d), nil); err != nil {
		return "", err
	}
	reason, err := solver.Run(ctx, m, solver.Stop{Iterations: 12, Comm: p.World})
	if err != nil {
		return "", err
	}
	x, err := Whole(m.X())
	if err != nil {
		return "", err
	}
	st := m.State()
	return fmt.Sprintf("%v %d\n%x\n%x\n%x\n%x", reason, st.Iteration, x, st.History, st.Scalars, []float64{st.AdjointError, st.Drift, st.DataNorm}), nil
}

// Every method gives the same image, histories and scalars to the last bit on one
// to seven ranks and on every grid of them, whoever holds which shot and slab.
func TestSolvesDoNotDependOnTheGrid(t *testing.T) {
	for _, c := range []struct {
		operator string
		typ      device.Type
		options  solver.Options
	}{
		{"plain", device.F32, solver.Options{TrueResidual: 5}},
		{"damped", device.F32, solver.Options{Orthogonalize: 4}},
		{"smooth", device.F64, solver.Options{TrueResidual: 5}},
		{"plain", device.F64, solver.Options{Orthogonalize: 12}},
	} {
		for _, method := range solver.Names() {
			t.Run(fmt.Sprintf("%s/%s/%v", method, c.operator, c.typ), func(t *testing.T) {
				want := ""
				for ranks := 1; ranks <= 7; ranks++ {
					for _, g := range Grids(ranks) {
						err := Grid(g[0], g[1], c.typ, shotUnits, slabUnits, func(p Place) error {
							got, err := outcome(p, method, c.operator, c.options)
							if err != nil {
								return err
							}
							if ranks == 1 {
								want = got
							}
							if got != want {
								return fmt.Errorf("not what one rank gives:\n%s\n%s", got, want)
							}
							return nil
						})
						if err != nil {
							t.Fatalf("grid %v: %v", g, err)
						}
					}
				}
			})
		}
	}
}

// With shots alone split over the ranks an iteration of CGLS takes one sum of an
// image and two of a few numbers; sums that do not depend on the ranks take the
// bound of the adjoint's result more.
func TestCollectivesOfAnIteration(t *testing.T) {
	for _, exact := range []bool{false, true} {
		must(t, Grid(4, 1, device.F32, shotUnits, slabUnits, func(p Place) error {
			var n counts
			if !exact {
				p.Data.Units, p.Image.Units = nil, nil
			}
			k := Block(Random(4, shotRows, slabColumns), p.Data, p.Image, 1, 1)
			if !exact {
				k.RowUnits, k.ColumnUnits = []int{0}, []int{0}
			}
			p.Data.Shards, p.Image.Copies = counted{p.Data.Shards, &n}, counted{p.Image.Copies, &n}
			a, err := dist.LiftWith(dist.LiftOptions{Exact: exact}, p.Image, p.Data, k)
			if err != nil {
				return err
			}
			d, err := Vector(p.Data, Random(5, 1, shotRows)[0])
			if err != nil {
				return err
			}
			m, err := solver.New("cgls", solver.Options{Orthogonalize: 3})
			if err != nil {
				return err
			}
			if err := m.Init(context.Background(), solver.Hold(a, d), nil); err != nil {
				return err
			}
			host := 2
			if exact {
				host++
			}
			for it := range 4 {
				n = counts{}
				if err := m.Step(context.Background()); err != nil {
					return err
				}
				if n.device != 1 || n.host != host {
					return fmt.Errorf("iteration %d takes %+v, want 1 sum of an image and %d of numbers", it+1, n, host)
				}
			}
			return nil
		}))
	}
}
