package kirchhoff

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// Cut into any number of stretches the operator is the same: its traces to the
// bit, its image to rounding, and adjoint in itself.
func TestRecomputeIsTheSameOperator(t *testing.T) {
	ctx := context.Background()
	for i := range 4 {
		dynamic := i%2 == 1
		p := fixedSpread(t, []int{37, 29}, 10, [2]int{5, 1}, [2]int{7, 1}, 180, dynamic)
		if i >= 2 {
			p.Times = folded{p.Times, 2}
		}
		whole := newCPUEngine(t, p, Work{})
		place := Needs(p, Work{}).Place
		if got, want := int64(p.Positions.Len())*place, whole.TableBytes(); got != want {
			t.Errorf("estimated tables of %d bytes, made %d", got, want)
		}
		h := device.NewHost(1)
		n := p.NumTraces() * p.NT
		m, d := make([]float32, p.Grid.Len()), make([]float32, n)
		for i := range m {
			m[i] = float32(math.Sin(float64(3 * i)))
		}
		for i := range d {
			d[i] = float32(math.Cos(float64(5 * i)))
		}
		apply := func(e Engine) (traces, image []float32) {
			traces, image = make([]float32, n), make([]float32, len(m))
			if err := only(e).Forward(ctx, device.Wrap(h, traces), device.Wrap(h, m)); err != nil {
				t.Fatal(err)
			}
			if err := only(e).Adjoint(ctx, device.Wrap(h, image), device.Wrap(h, d)); err != nil {
				t.Fatal(err)
			}
			return traces, image
		}
		traces, image := apply(whole)
		for _, places := range []int64{2, 3, 5, 12} {
			r := newCPUEngine(t, p, Work{Remake: true, Budget: places * place})
			stretches := len(r.kernels[0].image.Units)
			if r.TableBytes() > places*place || places == 12 && stretches != 1 || places < 12 && stretches < 2 {
				t.Errorf("%d places: %d stretches, tables of %d bytes", places, stretches, r.TableBytes())
			}
			u, v := apply(r)
			if !slices.Equal(u, traces) {
				t.Errorf("dynamic %v, %d places: traces differ", dynamic, places)
			}
			worst, largest := 0.0, 0.0
			for i := range v {
				worst = math.Max(worst, math.Abs(float64(v[i]-image[i])))
				largest = math.Max(largest, math.Abs(float64(image[i])))
			}
			if worst > 1e-6*largest {
				t.Errorf("dynamic %v, %d places: images differ by %g of the largest value", dynamic, places, worst/largest)
			}
			op := dist.Lift(only(r), dist.Local(device.F32, p.Grid.Shape...), dist.Local(device.F32, p.NumTraces(), p.NT))
			if e, err := dist.DotTest(ctx, h, op, 3); err != nil || e > 1e-6 {
				t.Errorf("dynamic %v, %d places: dot test %g, %v", dynamic, places, e, err)
			}
		}
		if _, err := New(ctx, p, Work{Remake: true, Budget: 2*place - 1}); err == nil {
			t.Error("a budget below the tables of one trace was accepted")
		}
	}
}
