package kirchhoff

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// randomRays are some vectors that lie close together or far apart, in 2-D with a second
// component of 0, and a cone that holds them. Of equal slownesses they are unit vectors.
func randomRays(r *rand.Rand, dim int, unequal bool) (all [][3]float64, c cone) {
	lists, wide, size := noRays(), math.Pow(10, -4*r.Float64()), 0.2+0.8*r.Float64()
	middle := [3]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
	for range 12 {
		p, norm := middle, 0.0
		for a := range p {
			p[a] += wide * r.NormFloat64()
			if dim == 2 && a == 1 {
				p[a] = 0
			}
			norm += p[a] * p[a]
		}
		long := 1.0
		if unequal {
			long = size * (1 + 0.3*wide*r.Float64())
		}
		for a := range p {
			p[a] *= long / math.Sqrt(norm)
			if dim == 3 || unequal {
				lists.add(a, p[a])
			}
		}
		if dim == 2 && !unequal {
			lists.add(0, math.Atan2(p[0], p[2]))
		}
		all = append(all, p)
	}
	return all, lists.cone(dim == 2 && !unequal)
}

// TestCones: where cones say that a pair is cut off, the windows are 0 for all rays in
// them, and most pairs that are cut off are found.
func TestCones(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	angles := func() Window {
		x := []float64{180 * r.Float64(), 180 * r.Float64(), 180 * r.Float64(), 180 * r.Float64()}
		slices.Sort(x)
		return Window{x[0], x[1], x[2], x[3]}
	}
	for kind := range 4 {
		dim, zero, found := 2+kind%2, 0, 0
		for range 20000 {
			op := simd.Operator{Unequal: kind > 1}
			dip, opening := angles(), angles()
			switch r.IntN(3) {
			case 0:
				op.Opening = opening.kernel()
			case 1:
				op.Dip = Window{Fall0: dip.Rise0, Fall1: dip.Rise1}.kernel()
			default:
				op.Dip, op.Opening = Window{Fall0: dip.Rise0, Fall1: dip.Rise1}.kernel(), opening.kernel()
			}
			s, sources := randomRays(r, dim, op.Unequal)
			q, receivers := randomRays(r, dim, op.Unequal)
			none := true
			for _, a := range s {
				for _, b := range q {
					dip, opening := angles3(a, b)
					none = none && at(op.Dip, dip)*at(op.Opening, opening) == 0
				}
			}
			z := zerosOf(&op)
			cut := z.apart(&sources, &receivers)
			if cut && !none {
				t.Fatalf("%+v cuts off rays in %+v and %+v that count", op, sources, receivers)
			}
			if none {
				zero++
			}
			if cut {
				found++
			}
		}
		if found < 3*zero/4 || zero < 1000 {
			t.Errorf("%d-D, unequal %v: of %d pairs of cones that are cut off %d are found", dim, kind > 1, zero, found)
		}
	}
}

// listed counts the pairs of a trace and a box that the adjoint of an image visits.
func listed(o *lists) (n int) {
	for box := range o.kernel.cpu.plan.Boxes {
		for block := range o.backward.len() {
			if op := o.pick(0, &o.op, o.backward, block, box, pairing{}, 1); op != nil {
				n += len(op.Pairs)
			}
		}
	}
	return n
}

// results are what an engine makes of noise: traces, images and the diagonal of the first.
func results(t *testing.T, p *Problem, e Engine, exact bool) (all []float64) {
	t.Helper()
	op, h := besides(t, p, e, dist.LiftOptions{Exact: exact}), device.NewHost(1)
	image, err := dist.NewVector(h, op.Domain())
	if err != nil {
		t.Fatal(err)
	}
	data := vectorOf(t, h, op.Range(), noise(4, p.NumTraces()*p.NT))
	if err := op.ApplyAdjoint(context.Background(), image, data); err != nil {
		t.Fatal(err)
	}
	for i, part := range image.Parts {
		all = append(all, numbers(t, part)...)
		upload(t, part, noise(uint64(i), p.ImageLen()))
	}
	if err := op.Apply(context.Background(), data, image); err != nil {
		t.Fatal(err)
	}
	all = append(all, numbers(t, data)...)
	if p.Antialias == nil {
		w2 := vectorOf(t, h, op.Range(), noise(4, p.NumTraces()*p.NT))
		if err := e.Squared()[0].Adjoint(context.Background(), image.Parts[0].Buf, w2.Buf); err != nil {
			t.Fatal(err)
		}
		all = append(all, numbers(t, image.Parts[0])...)
	}
	return all
}

// held checks that the cones of a table hold all its rays.
func held(t *testing.T, tables *tables) {
	t.Helper()
	var op simd.Operator
	for box, b := range tables.plan.Boxes {
		tables.selectBox(&op, box)
		for row := range op.Span {
			if op.Span[row].Width < 0 {
				continue
			}
			tile, place := row/op.Places, row%op.Places
			size := tables.op.Mode.Row()
			c, fields := tables.conesOf(box)[place][tile/stretch], tables.rows.S[(tables.boxes[box].rows+row)*size:][simd.TileSize:size]
			value := func(f, i int) float64 { return float64(fields[f*simd.TileSize+i]) }
			for i := range simd.TileSize {
				p := [3]float64{math.Sin(value(1, i)), 0, math.Cos(value(1, i))}
				if !angular(&tables.plan.Problem) {
					p = [3]float64{value(1, i), value(2, i), value(3, i)}
				}
				far := 0.0
				for a, x := range p {
					far += (x - float64(c.axis[a])) * (x - float64(c.axis[a]))
				}
				if value(0, i) != 0 && math.Sqrt(far) > float64(c.spread)-rounding/2 {
					t.Fatalf("tile %d, place %d: the ray %v lies outside of %v", b.First+tile, place, p, c)
				}
			}
		}
	}
}

// TestCutOff: results have the same bits whether or not pairs that limits of angles cut off
// in a whole box are visited, and a good share is not.
func TestCutOff(t *testing.T) {
	classes := Work{Classes: []Class{{All: true}, {All: true, Opening: Window{20, 40, 40, 80}}, {All: true, Opening: Window{40, 80, 180, 180}}}}
	for _, c := range []struct {
		name string
		most [2]float64 // share of all pairs that are visited, in 2-D and 3-D
		set  func(p *Problem)
		Work
	}{
		{"dip", [2]float64{0.55, 0.55}, func(p *Problem) { p.DipLimit = []float64{20, 30} }, Work{}},
		{"opening", [2]float64{0.72, 0.72}, func(p *Problem) { p.Opening = Window{Fall0: 10, Fall1: 25} }, Work{}},
		{"both", [2]float64{0.5, 0.6}, func(p *Problem) {
			p.DipLimit, p.Opening = []float64{20, 30}, Window{5, 20, 40, 60}
			p.Dynamic, p.AngleLimit = true, []float64{50, 60}
		}, Work{}},
		{"antialias", [2]float64{0.55, 0.55}, func(p *Problem) {
			p.DipLimit = []float64{20, 30}
			p.Antialias, p.Slowest = []float64{60, 60}[:p.Grid.Dim()-1], 2000
		}, Work{}},
		{"aperture", [2]float64{0.87, 0.6}, func(p *Problem) {
			p.DipLimit = []float64{10, 15}
			p.Aperture, p.ApertureTaper = []float64{700, 500}[:p.Grid.Dim()-1], []float64{90, 60}[:p.Grid.Dim()-1]
		}, Work{}},
		{"gaps", [2]float64{1, 1}, func(p *Problem) { p.DipLimit, p.Times = []float64{20, 30}, gaps{p.Times} }, Work{}},
		{"unequal", [2]float64{0.45, 0.55}, func(p *Problem) {
			p.DipLimit, p.Opening = []float64{20, 30}, Window{5, 20, 40, 60}
			p.Dynamic, p.Times, p.Slowest = true, twoSpeeds(p.Grid).method(), 1150
		}, Work{}},
		{"classes", [2]float64{0.75, 0.85}, func(p *Problem) { p.Opening = Window{Fall0: 20, Fall1: 40} }, classes},
	} {
		for _, shape := range [][]int{{405, 90}, {101, 18, 37}} {
			p := fixedSpread(t, shape, 12.5, [2]int{3, 1}, [2]int{10, 1}, 700, false)
			if p.Grid.Dim() == 3 {
				p = fixedSpread(t, shape, 25, [2]int{3, 1}, [2]int{6, 2}, 400, false)
			}
			p.Threads = 1
			c.set(p)
			t.Run(fmt.Sprintf("%s/%v", c.name, shape), func(t *testing.T) {
				for isa := simd.Portable; isa <= simd.Best(); isa++ {
					t.Setenv("LSM_CPU_ISA", isa.String())
					sameBits(t, p, newCPUEngine(t, p, c.Work), c.most[p.Grid.Dim()-2])
				}
			})
		}
	}
}

// sameBits applies an engine, whose cones hold their rays, as it is and with cones of all
// directions. The first
// visits at most the given share of what the second does.
func sameBits(t *testing.T, p *Problem, e *cpu, most float64) {
	t.Helper()
	visited := func() (n int) {
		for _, k := range e.kernels {
			n += listed(k.kept)
		}
		return n
	}
	held(t, e.tables)
	few, got := visited(), [][]float64{results(t, p, e, false), results(t, p, e, true)}
	for i := range e.tables.cones.S {
		for part := range e.tables.cones.S[i] {
			e.tables.cones.S[i][part].spread = 4
		}
	}
	if all := visited(); float64(few) > most*float64(all) {
		t.Errorf("%d of %d pairs are visited, want %g of them at most", few, all, most)
	}
	for i, exact := range []bool{false, true} {
		if !slices.Equal(got[i], results(t, p, e, exact)) {
			t.Errorf("%v, exact %v: pairs that are cut off count", e.isa, exact)
		}
	}
}
