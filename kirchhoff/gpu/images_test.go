package gpu

import (
	"fmt"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// inClasses deals the traces of a problem to four classes, one of them empty. Every fourth
// trace is in none. Classes of a problem that limits the opening angle limit it in other
// windows, and two more have all traces.
func inClasses(p *kirchhoff.Problem, first, last int) (w kirchhoff.Work) {
	w.Classes = make([]kirchhoff.Class, 4)
	if p.Opening != (kirchhoff.Window{}) {
		narrow, wide := kirchhoff.Window{Fall0: 30, Fall1: 60}, kirchhoff.Window{Rise0: 30, Rise1: 60, Fall0: 180, Fall1: 180}
		w.Classes[0].Opening, w.Classes[2].Opening = narrow, wide
		w.Classes = append(w.Classes, kirchhoff.Class{All: true, Opening: narrow}, kirchhoff.Class{All: true, Opening: wide})
	}
	for i := first; i < last; i++ {
		if n := []int{0, 2, 3, -1, 2, 0, 3, 3, -1}[i%9]; n >= 0 {
			w.Classes[n].Traces = append(w.Classes[n].Traces, int32(i-first))
		}
	}
	return w
}

// byAngle deals the opening angles of a problem with a window to three images of all traces.
func byAngle(*kirchhoff.Problem, int, int) kirchhoff.Work {
	return kirchhoff.Work{Classes: []kirchhoff.Class{
		{All: true, Opening: kirchhoff.Window{Fall0: 15, Fall1: 40}},
		{All: true, Opening: kirchhoff.Window{Rise0: 15, Rise1: 40, Fall0: 40, Fall1: 70}},
		{All: true, Opening: kirchhoff.Window{Rise0: 40, Rise1: 70, Fall0: 180, Fall1: 180}},
	}}
}

// classesOf are the classes in which a problem's images are tested.
func classesOf(p *kirchhoff.Problem) dealt {
	if p.Opening != (kirchhoff.Window{}) {
		return byAngle
	}
	return inClasses
}

// gathered are problems whose traces or angles make several images.
func gathered(t testing.TB) (list []*kirchhoff.Problem) {
	for i, c := range trials() {
		if i%23 == 5 {
			list = append(list, c.problem(t, uint64(i)))
		}
	}
	list = append(list, apertures(t)[0], apertures(t)[3], spread(t, []int{140, 20}, 10, 9, 16, 120, true))
	angles := spread(t, []int{60, 24}, 6, 5, 16, 120, true)
	angles.Opening = kirchhoff.Window{Fall0: 90, Fall1: 120}
	list = append(list, angles)
	for _, p := range list {
		p.Positions = sorted(p).Positions
	}
	return list
}

// TestImages: each of several images is the cpu engine's, and adjoint; all share tables
// and scratch.
func TestImages(t *testing.T) {
	d, h := open(t, driver.CUDA), device.NewHost(2)
	for i, p := range gathered(t) {
		if !gputest.Part(i, 1, 2) {
			continue
		}
		t.Run(fmt.Sprint("problem ", i), func(t *testing.T) {
			w := classesOf(p)(p, 0, p.NumTraces())
			e := working(t, d, p, w)
			cpu, err := kirchhoff.New(t.Context(), p, w)
			must(t, err)
			defer cpu.Close()
			m, x := noise(uint64(i), p.Grid.Len()), noise(uint64(i)+1, p.NumTraces()*p.NT)
			for n, k := range e.kernels {
				data, image := bothOf(t, d, e, n, m, x)
				wantData, wantImage := bothOf(t, h, cpu, n, m, x)
				if a, b := difference(data, wantData), difference(image, wantImage); !(a <= 1e-5 && b <= 1e-5) {
					t.Errorf("image %d differs by %.2e and %.2e", n, a, b)
				}
				op := dist.Lift(k, dist.Local(e.Type(), p.Grid.Shape...), dist.Local(e.Type(), p.NumTraces(), p.NT))
				if dot, err := dist.DotTest(t.Context(), d, op, 7); err != nil || !(dot <= 1e-6) {
					t.Errorf("image %d: dot test %.2e (%v)", n, dot, err)
				}
			}
			w.Exact = true
			if took, need := taken(t, e), Needs(p, w, d.Card().Multiprocessors); took > need.Tables+need.Scratch || took < (need.Tables+need.Scratch)/2 {
				t.Errorf("takes %d bytes, foretold %d", took, need.Tables+need.Scratch)
			}
			if one := Needs(p, kirchhoff.Work{}, 1); e.TableBytes() != one.Tables {
				t.Errorf("tables of %d bytes, of one image %d", e.TableBytes(), one.Tables)
			}
		})
	}
}
