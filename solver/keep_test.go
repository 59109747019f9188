package solver_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// An iteration that ends in the middle, in whichever application, and is made again from
// its start leaves no trace in what follows: iterates, norms and reports keep their bits.
func TestIterationAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	whole, d, err := damp(dense[float64]{m: matrix[float64](r, 40, 25)}.operator(), vector[float64](normal[float64](r, 40)), 0.5)
	must(t, err)
	lost := errors.New("the sums are lost")
	left := -1 // applications until one is lost; negative: none is
	spoils := func(apply func(w *dist.Work, dst, src *dist.Vector)) func(w *dist.Work, dst, src *dist.Vector) {
		return func(w *dist.Work, dst, src *dist.Vector) {
			apply(w, dst, src)
			if left--; left == 0 {
				w.Axpby(3, dst, -7, dst) // worth nothing
				w.Do(func() error { return lost })
			}
		}
	}
	a := dist.Map("may be lost", whole.Domain(), whole.Range(),
		spoils(func(w *dist.Work, dst, src *dist.Vector) { w.Apply(whole, dst, src) }),
		spoils(func(w *dist.Work, dst, src *dist.Vector) { w.ApplyAdjoint(whole, dst, src) }))
	o := solver.Options{TrueResidual: 3, Orthogonalize: 4}
	for _, name := range solver.Names() {
		run := func(stop solver.Stop) *solver.Method {
			m, err := solver.New(name, o)
			must(t, err)
			must(t, m.Init(t.Context(), solver.Hold(a, d), nil))
			stop.Iterations = 9
			_, err = solver.Run(t.Context(), m, stop)
			must(t, err)
			return m
		}
		left = -1
		want := run(solver.Stop{})
		for at := range 3 {
			times := 0
			got := run(solver.Stop{Again: func(step func(bool) error) error {
				left = at // nothing is lost at 0
				err := step(false)
				left = -1
				if err != nil && !errors.Is(err, lost) {
					return err
				}
				times++
				return step(true)
			}})
			if times != 9 || !reflect.DeepEqual(got.State(), want.State()) {
				t.Errorf("%s, application %d: after %d iterations made twice %+v, want %+v", name, at, times, got.State(), want.State())
			}
			for k, v := range want.Vectors() {
				for i, row := range v.Rows() {
					if g := got.Vectors()[k].Rows()[i]; !slices.Equal(device.Slice[float64](g.Buf), device.Slice[float64](row.Buf)) {
						t.Errorf("%s, application %d: vector %s differs", name, at, k)
					}
				}
			}
		}
	}
}
