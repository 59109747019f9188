package dist

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"pgregory.net/rapid"
)

// A random vector is the same on every partition, so that a dot test of a run
// on many ranks is the one of a run on one.
func TestRandomDoesNotDependOnThePartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		ranks := rapid.IntRange(1, 5).Draw(t, "ranks")
		seed := rapid.Uint64().Draw(t, "seed")
		typ := rapid.SampledFrom(types).Draw(t, "type")
		one, err := random(host, Local(typ, n), seed)
		if err != nil {
			t.Fatal(err)
		}
		want := read(one.Buf)
		err = onGrid(ranks, 1, typ, func(p place) error {
			v, err := random(host, p.rows(n), seed)
			if err != nil {
				return err
			}
			for i, x := range read(v.Buf) {
				if x != want[v.Layout.Off+i] {
					return fmt.Errorf("element %d is %v, want %v", v.Layout.Off+i, x, want[v.Layout.Off+i])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// Random numbers are standard normal, and different in every part of a stack.
func TestRandomIsNormal(t *testing.T) {
	const n = 20000
	v, err := random(host, Stack(Local(device.F64, n), Local(device.F64, n)), 12)
	must(t, err)
	a, b := read(v.Parts[0].Buf), read(v.Parts[1].Buf)
	var mean, square, cross float64
	for i := range a {
		mean += a[i] / n
		square += a[i] * a[i] / n
		cross += a[i] * b[i] / n
	}
	// Each within five standard deviations: 1/√n, √2/√n and 1/√n.
	if math.Abs(mean) > 0.035 || math.Abs(square-1) > 0.05 || math.Abs(cross) > 0.035 {
		t.Errorf("mean %v, mean square %v, mean product of parts %v", mean, square, cross)
	}
}

// Inner products and norms are those of the whole vector, on any partition.
func TestDotsOnAnyPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(t, "n")
		m := rapid.IntRange(0, 30).Draw(t, "m")
		shots := rapid.IntRange(1, 3).Draw(t, "shots")
		blocks := rapid.IntRange(1, 3).Draw(t, "blocks")
		typ := rapid.SampledFrom(types).Draw(t, "type")
		err := onGrid(shots, blocks, typ, func(p place) error {
			l := Stack(p.rows(n), Stack(p.columns(m), p.rows(n)))
			x, err := random(host, l, 1)
			if err != nil {
				return err
			}
			y, err := random(host, l, 2)
			if err != nil {
				return err
			}
			wx, err := whole(x)
			if err != nil {
				return err
			}
			wy, err := whole(y)
			if err != nil {
				return err
			}
			var xy, xx float64
			rows := make([]float64, 3)
			for i := range wx {
				xy += wx[i] * wy[i]
				row := 0
				if i >= n {
					row = 1
				}
				if i >= n+m {
					row = 2
				}
				rows[row] += wx[i] * wx[i]
				xx += wx[i] * wx[i]
			}
			dots, err := Dots([2]*Vector{x, y}, [2]*Vector{y, x}, [2]*Vector{x.Parts[0], x.Parts[0]})
			if err != nil {
				return err
			}
			norm, err := Norm(x)
			if err != nil {
				return err
			}
			tol := 1e-13 * (1 + xx)
			if math.Abs(dots[0]-xy) > tol || math.Abs(dots[1]-xy) > tol || math.Abs(dots[2]-rows[0]) > tol {
				return fmt.Errorf("dots %v, want twice %v, and %v", dots, xy, rows[0])
			}
			if math.Abs(norm*norm-xx) > tol {
				return fmt.Errorf("norm %v, want %v", norm, math.Sqrt(xx))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// counted counts the host all-reduces of a communicator.
type counted struct {
	comm.Comm
	n *int
}

type countedHost struct {
	comm.Host
	n *int
}

func (c counted) Host() comm.Host { return countedHost{c.Comm.Host(), c.n} }
func (h countedHost) AllReduce(x []float64, op comm.Op) error {
	*h.n++
	return h.Host.AllReduce(x, op)
}

// All leaves of all pairs that share their shards share one collective.
func TestDotsTakeOneCollective(t *testing.T) {
	must(t, commtest.Ranks(2, func(world comm.Comm) error {
		n := 0
		c := counted{world, &n}
		l := &Layout{Shape: []int{4}, Off: 2 * world.Rank(), N: 2, Type: device.F32, Shards: c, Copies: comm.Self()}
		x, err := random(host, Stack(l, Stack(l, l), Local(device.F32, 3)), 1)
		if err != nil {
			return err
		}
		if _, err := Dots([2]*Vector{x, x}, [2]*Vector{x.Parts[0], x.Parts[0]}, [2]*Vector{x, x}); err != nil {
			return err
		}
		if n != 1 {
			return fmt.Errorf("%d collectives for three products of seven leaves, want 1", n)
		}
		return nil
	}))
}

func TestNoDots(t *testing.T) {
	if d, err := Dots(); err != nil || len(d) != 0 {
		t.Errorf("%v, %v", d, err)
	}
}

// A NaN on one rank shows on all.
func TestDotsCarryNaNToAllRanks(t *testing.T) {
	must(t, onGrid(3, 2, device.F32, func(p place) error {
		x, err := random(host, p.rows(20), 3)
		if err != nil {
			return err
		}
		if p.i == 1 {
			device.Slice[float32](x.Buf)[0] = float32(math.NaN())
		}
		n, err := Norm(x)
		if err == nil && !math.IsNaN(n) {
			err = fmt.Errorf("norm is %g", n)
		}
		return err
	}))
}

func TestVectorArithmetic(t *testing.T) {
	onGrids(t, func(p place) error {
		l := Stack(p.rows(9), p.columns(5))
		x, err := random(host, l, 1)
		if err != nil {
			return err
		}
		y, err := random(host, l, 2)
		if err != nil {
			return err
		}
		wx, err := whole(x)
		if err != nil {
			return err
		}
		wy, err := whole(y)
		if err != nil {
			return err
		}
		check := func(what string, v *Vector, want func(x, y float64) float64) error {
			got, err := whole(v)
			if err != nil {
				return err
			}
			for i := range got {
				if w := want(wx[i], wy[i]); math.Abs(got[i]-w) > 30*tolerance(p.t) {
					return fmt.Errorf("%s: element %d is %v, want %v", what, i, got[i], w)
				}
			}
			return nil
		}
		z, err := y.Clone()
		if err != nil {
			return err
		}
		for _, step := range []struct {
			what string
			do   func() error
			want func(x, y float64) float64
		}{
			{"clone is zero", func() error { return nil }, func(_, _ float64) float64 { return 0 }},
			{"copy", func() error { return Copy(z, y) }, func(_, y float64) float64 { return y }},
			{"axpby", func() error { return Axpby(2, x, -3, z) }, func(x, y float64) float64 { return 2*x - 3*y }},
			{"multiply", func() error { return Multiply(z, x) }, func(x, y float64) float64 { return (2*x - 3*y) * x }},
			{"copy again", func() error { return Copy(z, x) }, func(x, _ float64) float64 { return x }},
			{"zero", func() error { return z.Zero() }, func(_, _ float64) float64 { return 0 }},
		} {
			if err := step.do(); err != nil {
				return err
			}
			if err := check(step.what, z, step.want); err != nil {
				return err
			}
		}
		return nil
	})
}

// failing is a kernel that cannot.
type failing struct{ err error }

func (f failing) Forward(context.Context, device.Buf, device.Buf) error { return f.err }
func (f failing) Adjoint(context.Context, device.Buf, device.Buf) error { return f.err }

// A kernel's error comes through every composition, both ways.
func TestErrorsComeThrough(t *testing.T) {
	fault := fmt.Errorf("lost the device")
	l := Local(device.F64, 3)
	a, id := Lift(failing{fault}, l, l), Identity(l)
	for name, op := range map[string]Operator{
		"vstack first": VStack(a, id), "vstack second": VStack(id, a),
		"chain first": Chain(a, id), "chain second": Chain(id, a), "scale": Scale(2, a), "adjoint": Adjoint(a), "block first": BlockDiag(a, id), "block second": BlockDiag(id, a),
	} {
		x, err := NewVector(host, op.Domain())
		must(t, err)
		y, err := NewVector(host, op.Range())
		must(t, err)
		if err := op.Apply(context.Background(), y, x); err != fault {
			t.Errorf("%s, forward: %v", name, err)
		}
		if err := op.ApplyAdjoint(context.Background(), x, y); err != fault {
			t.Errorf("%s, adjoint: %v", name, err)
		}
		if _, err := DotTest(context.Background(), host, op, 1); err != fault {
			t.Errorf("%s, dot test: %v", name, err)
		}
	}
}
