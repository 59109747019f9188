package dist_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

var (
	ctx   = context.Background()
	types = []device.Type{device.F32, device.F64}

	// Units of data and image, as uneven as shots of a survey, and empty ones.
	shots = []int{3, 1, 0, 4, 2, 2, 5, 1}
	slabs = []int{2, 2, 2, 2, 2, 2, 1}
)

const rows, columns = 18, 13

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// result is what a pair of applications gives, on the whole.
type result struct {
	forward, adjoint []float64
	dots             []float64
}

// applied applies an operator and its adjoint to given vectors.
func applied(op dist.Operator) (r result, err error) {
	x, err := Vector(op.Domain(), Random(2, 1, columns)[0])
	if err != nil {
		return r, err
	}
	y, err := Vector(op.Range(), Random(3, 1, rows)[0])
	if err != nil {
		return r, err
	}
	ax, err := y.Clone()
	if err != nil {
		return r, err
	}
	aty, err := x.Clone()
	if err != nil {
		return r, err
	}
	if err = op.Apply(ctx, ax, x); err != nil {
		return r, err
	}
	if err = op.ApplyAdjoint(ctx, aty, y); err != nil {
		return r, err
	}
	if r.dots, err = dist.Dots([2]*dist.Vector{y, ax}, [2]*dist.Vector{aty, x}, [2]*dist.Vector{ax, ax}); err != nil {
		return r, err
	}
	if r.forward, err = Whole(ax); err != nil {
		return r, err
	}
	r.adjoint, err = Whole(aty)
	return r, err
}

// settings are all ways to lift that goroutine ranks offer.
var settings = []dist.LiftOptions{{}, {Overlap: true}, {Exact: true}, {Exact: true, Overlap: true}}

// onAllGrids runs body on all grids of up to six ranks.
func onAllGrids(t *testing.T, typ device.Type, body func(p Place) error) {
	t.Helper()
	for n := 1; n <= 6; n++ {
		for _, g := range Grids(n) {
			if err := Grid(g[0], g[1], typ, shots, slabs, body); err != nil {
				t.Errorf("grid %v, %v: %v", g, typ, err)
			}
		}
	}
}

// A kernel that works in pieces is its matrix, lifted in any way on any grid,
// and so is its adjoint.
func TestPiecesAreTheirMatrix(t *testing.T) {
	for _, typ := range types {
		m := Random(1, rows, columns)
		x, y := Random(2, 1, columns)[0], Random(3, 1, rows)[0]
		ax, aty := make([]float64, rows), make([]float64, columns)
		for i := range ax {
			for j := range aty {
				ax[i] += m[i][j] * x[j]
				aty[j] += m[i][j] * y[i]
			}
		}
		tol := 1e-13
		if typ == device.F32 {
			tol = 1e-5
		}
		onAllGrids(t, typ, func(p Place) error {
			for k, o := range settings {
				op, err := dist.LiftWith(o, p.Image, p.Data, Block(m, p.Data, p.Image, 3+k, 1+k))
				if err != nil {
					return err
				}
				r, err := applied(op)
				if err != nil {
					return fmt.Errorf("%+v: %w", o, err)
				}
				for i, v := range ax {
					if !(math.Abs(r.forward[i]-v) <= tol*10) {
						return fmt.Errorf("%+v: forward %d is %v, want %v", o, i, r.forward[i], v)
					}
				}
				for j, v := range aty {
					if !(math.Abs(r.adjoint[j]-v) <= tol*10) {
						return fmt.Errorf("%+v: adjoint %d is %v, want %v", o, j, r.adjoint[j], v)
					}
				}
				if e := math.Abs(r.dots[0] - r.dots[1]); !(e <= 100*tol) {
					return fmt.Errorf("%+v: dot test %g", o, e)
				}
			}
			return nil
		})
	}
}

// With Exact every grid gives the same bits, whoever holds what, in whatever
// order it is added up, in any number of pieces.
func TestExactResultsDoNotDependOnTheGrid(t *testing.T) {
	for _, typ := range types {
		m := Random(1, rows, columns)
		var want string
		onAllGrids(t, typ, func(p Place) error {
			op, err := dist.LiftWith(dist.LiftOptions{Exact: true, Overlap: p.World.Size()%2 == 0},
				p.Image, p.Data, Block(m, p.Data, p.Image, p.World.Size(), 2))
			if err != nil {
				return err
			}
			r, err := applied(op)
			if err != nil {
				return err
			}
			if p.World.Size() == 1 {
				want = fmt.Sprintf("%x", r)
			}
			if got := fmt.Sprintf("%x", r); got != want {
				return fmt.Errorf("not the bits of one rank:\n%s\n%s", got, want)
			}
			return nil
		})
	}
}

// Sources that leave nothing to compute, and those at the limits of float64.
func TestExactEdges(t *testing.T) {
	m := Random(1, rows, columns)
	for name, c := range map[string]struct {
		bad    float64 // one element of the source
		called bool    // the kernel
		want   func(v float64) bool
	}{
		"zero":     {0, false, func(v float64) bool { return v == 0 }},
		"nan":      {math.NaN(), false, math.IsNaN},
		"infinity": {math.Inf(1), false, math.IsNaN},
		"overflow": {math.MaxFloat64, false, math.IsNaN},
		"large":    {1e300, true, func(v float64) bool { return 1e297 < math.Abs(v) && math.Abs(v) < 1e301 }},
		"tiny":     {math.SmallestNonzeroFloat64, true, func(v float64) bool { return v == 0 }}, // below the smallest quantum
	} {
		onAllGrids(t, device.F64, func(p Place) error {
			k := Block(m, p.Data, p.Image, 3, 2)
			k.Fail = func(dist.Direction, int) error {
				if c.called {
					return nil
				}
				return errors.New("the kernel is called")
			}
			op, err := dist.LiftWith(dist.LiftOptions{Exact: true}, p.Image, p.Data, k)
			if err != nil {
				return err
			}
			whole := make([]float64, columns)
			whole[4] = c.bad
			x, err := Vector(p.Image, whole)
			if err != nil {
				return err
			}
			y, err := Vector(p.Data, make([]float64, rows))
			if err != nil {
				return err
			}
			if err := op.Apply(ctx, y, x); err != nil {
				return err
			}
			for i, v := range Read(y.Buf) {
				if !c.want(v) {
					return fmt.Errorf("%s: element %d is %v", name, i, v)
				}
			}
			return nil
		})
	}
}

// A product over units with others without, in one stack, on uneven layouts.
func TestExactDotsBesideOthers(t *testing.T) {
	must(t, commtest.Ranks(3, func(c comm.Comm) error {
		l := dist.Split(device.F64, []int{5, 2}, []int{0, 3, 3, 5}, c, comm.Self())
		s := dist.Stack(l, l.WithUnits([]int{0, 1, 3, 4}), dist.Local(device.F32, 1).WithUnits([]int{0}))
		v, err := dist.NewVector(device.NewHost(1), s)
		if err != nil {
			return err
		}
		for k, part := range v.Parts {
			x := make([]float64, part.Layout.N)
			for i := range x {
				x[i] = float64(part.Layout.Off + i + 1 + k)
			}
			Write(part.Buf, x)
		}
		got, err := dist.Dots([2]*dist.Vector{v.Parts[0], v.Parts[1]}, [2]*dist.Vector{v, v})
		if err != nil {
			return err
		}
		// Σ n(n + 1) of 1 to 10, and the squares of all.
		if want := []float64{385 + 55, 385 + 505 + 9}; got[0] != want[0] || got[1] != want[1] {
			return fmt.Errorf("products %v, want %v", got, want)
		}
		return nil
	}))
}
