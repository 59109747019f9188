package solver_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// A run that was saved after any iteration and resumed in a new method goes on
// to the last bit: iterates, norms and reports.
func testResume[T device.Number](t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(6, 6))
	a, d, err := damp(dense[T]{m: matrix[T](r, 40, 25)}.operator(), vector[T](normal[T](r, 40)), 0.5)
	must(t, err)
	x0 := vector[T](normal[T](r, 25))
	o := solver.Options{TrueResidual: 5, Orthogonalize: 6}
	const n = 14
	for _, name := range solver.Names() {
		whole, err := solver.New(name, o)
		must(t, err)
		solve(t, whole, a, d, x0, n)
		for _, at := range []int{0, 1, 4, 5, 9} {
			before, err := solver.New(name, o)
			must(t, err)
			solve(t, before, a, d, x0, at)
			saved, err := json.Marshal(before.State())
			must(t, err)

			after, err := solver.New(name, o)
			must(t, err)
			var st solver.State
			must(t, json.Unmarshal(saved, &st))
			must(t, after.Resume(solver.Hold(a, d), &st))
			from, to := before.Vectors(), after.Vectors()
			if len(from) != len(to) || to["x"] == nil {
				t.Fatalf("%s: saved %d vectors, resumed %d", name, len(from), len(to))
			}
			for k, v := range from {
				must(t, dist.Copy(to[k], v))
			}
			_, err = solver.Run(ctx, after, solver.Stop{Iterations: n})
			must(t, err)
			if !slices.Equal(device.Slice[T](after.X().Buf), device.Slice[T](whole.X().Buf)) {
				t.Errorf("%s resumed after %d: x differs", name, at)
			}
			if !reflect.DeepEqual(after.State(), whole.State()) {
				t.Errorf("%s resumed after %d: state\n%+v\nwant\n%+v", name, at, after.State(), whole.State())
			}
		}
	}
}

func TestResume(t *testing.T) {
	t.Run("float32", testResume[float32])
	t.Run("float64", testResume[float64])
}

// A method can be used again: Init starts it afresh, to the last bit.
func TestInitStartsAfresh(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 7))
	a := dense[float32]{m: matrix[float32](r, 30, 15)}.operator()
	other := dense[float32]{m: matrix[float32](r, 30, 15)}.operator()
	d := vector[float32](normal[float32](r, 30))
	for _, name := range solver.Names() {
		for _, n := range []int{1, 7} {
			o := solver.Options{TrueResidual: 3}
			fresh, err := solver.New(name, o)
			must(t, err)
			used, err := solver.New(name, o)
			must(t, err)
			solve(t, used, other, vector[float32](normal[float32](r, 30)), vector[float32](normal[float32](r, 15)), 5)
			for _, m := range []*solver.Method{fresh, used} {
				solve(t, m, a, d, nil, n)
			}
			if !slices.Equal(device.Slice[float32](used.X().Buf), device.Slice[float32](fresh.X().Buf)) ||
				!reflect.DeepEqual(used.State(), fresh.State()) {
				t.Errorf("%s: a second run is not like a first\n%+v\n%+v", name, used.State(), fresh.State())
			}
		}
	}
}

// What CGLS carries as numbers is what its vectors say: ‖s‖², ‖p‖², ⟨p, s⟩.
func TestCarriedNumbersMatchTheVectors(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(6, 8))
	m := matrix[float64](r, 30, 20)
	c := method("cgls", solver.Options{})
	must(t, c.Init(ctx, solver.Hold(dense[float64]{m: m}.operator(), vector[float64](normal[float64](r, 30))), nil))
	for k := range 12 {
		v, n := c.Vectors(), c.State().Scalars
		s, p := transposeTimes(m, values[float64](v["r"])), values[float64](v["p"])
		ps := 0.0
		for i := range p {
			ps += p[i] * s[i]
		}
		scale := norm(p) * norm(p)
		for _, q := range []struct {
			name      string
			got, want float64
		}{
			{"‖s‖²", n["gamma"], norm(s) * norm(s)}, {"‖p‖²", n["pp"], norm(p) * norm(p)},
			{"⟨p, s⟩", n["ps"], ps},
		} {
			if e := q.got - q.want; !(e < 1e-11*scale && e > -1e-11*scale) {
				t.Errorf("after %d iterations %s is carried as %g, the vectors have %g", k, q.name, q.got, q.want)
			}
		}
		must(t, c.Step(ctx))
	}
}

func TestResumeRefusesWhatDoesNotFit(t *testing.T) {
	m := started(t)
	a, d := small(1)
	must(t, m.Step(context.Background()))
	good := *m.State()
	for want, spoil := range map[string]func(s *solver.State){
		`"cg"`:      func(s *solver.State) { s.Method = "cg" },
		"histories": func(s *solver.State) { s.Iteration = 7 },
		`"gamma"`:   func(s *solver.State) { s.Scalars = map[string]float64{"pp": 1} },
	} {
		s := good
		spoil(&s)
		err := method("cgls", solver.Options{}).Resume(solver.Hold(a, d), &s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error that names %s, got %v", want, err)
		}
	}
}
