package gpu

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// remade makes tables anew within a share of those of all places.
func remade(share float64, exact bool) dealt {
	return func(p *kirchhoff.Problem, _, _ int) kirchhoff.Work {
		w := kirchhoff.Work{Remake: true, Exact: exact}
		n := Needs(p, kirchhoff.Work{}, 1)
		w.Budget = max(int64(share*float64(n.AllTables)), int64(p.LeastPlaces(exact))*n.Place)
		return w
	}
}

// TestRemade: with tables made anew, a unit's at a time, the operator is the same: its
// traces to the bit, its image and its diagonal to rounding, adjoint, and of several images
// each.
func TestRemade(t *testing.T) {
	d := open(t, driver.CUDA)
	for i, p := range gathered(t) {
		if i%3 == 2 {
			continue
		}
		m, x := noise(uint64(i), p.Grid.Len()), noise(uint64(i)+1, p.NumTraces()*p.NT)
		for _, classes := range []bool{false, true} {
			if !gputest.Long() && classes != (i%2 == 1) {
				continue
			}
			kept := resident(p, 0, 0)
			if classes {
				kept = classesOf(p)(p, 0, p.NumTraces())
			}
			whole := working(t, d, p, kept)
			for _, share := range []float64{0.2, 1} {
				w := remade(share, false)(p, 0, 0)
				w.Classes = kept.Classes
				e := working(t, d, p, w)
				name := fmt.Sprintf("problem %d, classes %v, %g of the tables", i, classes, share)
				if e.TableBytes() > w.Budget {
					t.Errorf("%s: tables of %d bytes, the budget is %d", name, e.TableBytes(), w.Budget)
				}
				if !strings.Contains(e.Info(), "recomputed in") {
					t.Errorf("%s: %s", name, e.Info())
				}
				w2 := squares(p, false)
				if got, want := diagonal(t, d, e, w2, len(m)), diagonal(t, d, whole, w2, len(m)); !(difference(got, want) <= 1e-6) {
					t.Errorf("%s: the diagonal differs by %.2e", name, difference(got, want))
				}
				for n, k := range e.kernels {
					data, image := bothOf(t, d, e, n, m, x)
					wantData, wantImage := bothOf(t, d, whole, n, m, x)
					if !slices.Equal(data, wantData) || !(difference(image, wantImage) <= 1e-6) {
						t.Errorf("%s, image %d differs by %.2e and %.2e", name, n, difference(data, wantData), difference(image, wantImage))
					}
					op := dist.Lift(k, dist.Local(e.Type(), p.Grid.Shape...), dist.Local(e.Type(), p.NumTraces(), p.NT))
					if dot, err := dist.DotTest(t.Context(), d, op, 7); err != nil || !(dot <= 1e-6) {
						t.Errorf("%s, image %d: dot test %.2e (%v)", name, n, dot, err)
					}
				}
				e.Close()
			}
			whole.Close()
		}
	}
}

// TestRemadeExact: exact sums have the bits of tables that are kept, for any budget and
// however shots and slabs are shared out.
func TestRemadeExact(t *testing.T) {
	d, tested := open(t, driver.CUDA), 0
	for i, p := range gathered(t) {
		if p.Positions.Len() < 3*p.LeastPlaces(true) {
			continue
		}
		tested++
		one := engine(t, d, p)
		exactOf(t, d, p, one, remade(0.2, true), uint64(i), [2]int{2, 1}, [2]int{3, 2})
		m, x := noise(uint64(i), p.Grid.Len()), noise(uint64(i)+1, p.NumTraces()*p.NT)
		whole, parts := split(t, d, p, resident, 1, 1, 1), split(t, d, p, remade(0.2, true), 1, 1, 1)
		for k, src := range [2][]float32{dist.Forward: m, dist.Backward: x} {
			q, _ := whole.quantum(t, dist.Direction(k), src)
			want, got := whole.apply(t, dist.Direction(k), src, q, 1), parts.apply(t, dist.Direction(k), src, q, 1)
			if !slices.Equal(got, want) {
				t.Errorf("problem %d: %v has other bits than with tables kept", i, dist.Direction(k))
			}
			if n := parts.share[0][0].engine.most.units; n < 2 {
				t.Errorf("problem %d: %d units", i, n)
			}
		}
	}
	if tested < 2 {
		t.Errorf("%d problems are large enough", tested)
	}
}

// TestRemadeNeed: an engine takes on the card what Needs says, or less.
func TestRemadeNeed(t *testing.T) {
	d := open(t, driver.CUDA)
	for i, p := range append(apertures(t), spread(t, []int{200, 130}, 10, 20, 30, 300, true)) {
		w := remade(0.3, true)(p, 0, 0)
		e := working(t, d, p, w)
		before := taken(t, e)
		k := e.kernels[0]
		most := int64(0)
		for _, u := range k.image.Units {
			o, err := k.open(t.Context(), u)
			must(t, err)
			most = max(most, o.memory.bytes)
			o.Close()
		}
		if n := Needs(p, w, d.Card().Multiprocessors); before+most > n.Tables+n.Scratch || before+most < (n.Tables+n.Scratch)/2 || e.TableBytes() != n.Tables {
			t.Errorf("problem %d takes %d bytes, foretold %d", i, before+most, n.Tables+n.Scratch)
		}
	}
}

// TestRemadeBesideWork: the tables of a unit are made, and are what they have to be, while the card
// still works for the unit before, whoever solves for their times. Times cross only from the host.
func TestRemadeBesideWork(t *testing.T) {
	d := open(t, driver.CUDA)
	m, err := d.Build(accel.Source{Name: "hold.cu", Text: `extern "C" __global__ void hold(volatile int *go) { while (!*go); }`})
	must(t, err)
	hold, err := m.Function("hold")
	must(t, err)
	flag, err := d.Context().AllocPinned(4)
	must(t, err)
	set := (*int32)(unsafe.Pointer(unsafe.SliceData(flag.Bytes)))
	straight := spread(t, []int{70, 330}, 10, 6, 40, 150, true)
	curved, host := *straight, *straight
	bent(t, &curved)
	host.Times = gaps{straight.Times}
	for name, p := range map[string]*kirchhoff.Problem{"straight rays": straight, "eikonal": &curved, "times of the host": &host} {
		e := working(t, d, p, remade(0.5, false)(p, 0, 0))
		if len(e.banks) != 2 || e.most.units < 3 {
			t.Fatalf("%s: %d units, tables of %d have memory", name, e.most.units, len(e.banks))
		}
		if (e.packer.solver == nil) != (p == &host) {
			t.Errorf("%s: the wrong one solves", name)
		}
		remake := func(unit int) error {
			q, _ := e.kernels[0].image.Part(e.kernels[0].image.Units[unit])
			return e.remake(t.Context(), q, e.geometry.newTables(e.geometry.plan.Of(q)))
		}
		must(t, remake(1))
		want := download(t, e.banks[e.turn].table)
		must(t, d.Zero(e.banks[e.turn].table))
		must(t, remake(0)) // in the other bank
		must(t, d.Sync())
		atomic.StoreInt32(set, 0)
		e.context.Launch(e.context.Main(), hold, accel.Line(1, 1), accel.Memory(uintptr(unsafe.Pointer(set))))
		made := make(chan error, 1)
		before, _ := d.Traffic()
		go func() { made <- remake(1) }()
		select {
		case err := <-made:
			must(t, err)
			if up, _ := d.Traffic(); up-before > 8*int64(p.Grid.Len()) != (p == &host) {
				t.Errorf("%s: %d bytes went to the card, the times of a place have %d", name, up-before, 8*p.Grid.Len())
			}
			got := make([]float32, len(want))
			must(t, d.Receive(e.making, card.Words(got), e.banks[e.turn].table))
			if !slices.EqualFunc(got, want, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
				t.Errorf("%s: other tables than without work beside them", name)
			}
			atomic.StoreInt32(set, 1)
		case <-time.After(5 * time.Minute):
			t.Errorf("%s: tables of the next unit wait for the card's work", name)
			atomic.StoreInt32(set, 1)
			must(t, <-made)
		}
		must(t, d.Sync())
	}
}
