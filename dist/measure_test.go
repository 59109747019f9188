package dist

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
)

// ms are milliseconds.
func ms(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

// The fastest way over both directions on the slowest ranks is chosen by all, after the same
// applications. The first of each direction does not count, nor does the slower application
// of a way. The fastest carrier alone is measured without overlap.
func TestMeasuring(t *testing.T) {
	type took map[string][2]float64 // ms of a forward and an adjoint; without overlap by "-name"
	both := [2]bool{true, true}
	for name, c := range map[string]struct {
		took   took
		ranks  [2]bool // directions that sum over ranks
		o      LiftOptions
		want   string // ways, the one that is taken in brackets, with ms
		hidden float64
	}{
		"on":                {took{"a": {10, 30}, "-a": {15, 32}}, both, LiftOptions{}, "[a 40] -a 47/14", 0.5},
		"off":               {took{"a": {10, 38}, "-a": {15, 30}}, both, LiftOptions{}, "a 48 [-a 45/14]", 0},
		"forward alone":     {took{"a": {10, 38}, "-a": {15, 30}}, [2]bool{true, false}, LiftOptions{}, "[a 10] -a 15/7", 5. / 7},
		"adjoint alone":     {took{"a": {90, 10}, "-a": {15, 30}}, [2]bool{false, true}, LiftOptions{}, "[a 10] -a 30/7", 1},
		"carriers":          {took{"a": {10, 30}, "b": {20, 19}, "c": {12, 29}, "-b": {20, 20}}, both, LiftOptions{}, "a 40 [b 39] c 41 -b 40/14", 1. / 14},
		"carriers, off":     {took{"a": {10, 30}, "b": {40, 19}, "c": {9, 30}, "-c": {1, 2}}, both, LiftOptions{}, "a 40 b 59 c 39 [-c 3/14]", 0},
		"kept on":           {took{"a": {10, 30}, "b": {20, 19}}, both, LiftOptions{KeepOverlap: true, Overlap: true}, "a 40 [b 39]", -1},
		"kept off":          {took{"-a": {10, 30}, "-b": {10, 31}}, both, LiftOptions{KeepOverlap: true}, "[-a 40/14] -b 41/14", -1},
		"nothing to choose": {took{"a": {10, 30}}, both, LiftOptions{KeepOverlap: true, Overlap: true}, "[a 0]", -1},
	} {
		err := commtest.Ranks(3, func(g comm.Comm) error {
			var carriers []string
			for _, name := range []string{"a", "b", "c"} {
				if _, ok := c.took[name]; ok || c.took["-"+name] != [2]float64{} && !c.o.Overlap && c.o.KeepOverlap {
					carriers = append(carriers, name)
				}
			}
			m := newMeasuring(carriers, c.ranks, c.o)
			most := func(x []float64) error { return g.Host().AllReduce(x, comm.Max) }
			// Rank 1 is the slowest.
			slower := []float64{0.5, 1, 0.9}[g.Rank()]
			for n := 0; !m.done; n++ {
				if m.complete() {
					if err := m.choose(most); err != nil {
						return err
					}
					continue
				}
				d := Direction(min(n%3, 1)) // more adjoints than forwards
				way, kept := m.next(d)
				ms2 := c.took[label(way)][d]
				switch first := len(m.of[d]); {
				case first == 0:
					ms2 = 1e-3 // the warm-up
				case first%2 == 1:
					ms2 += 100 // ranks are connected
				}
				if kept {
					m.of[d] = append(m.of[d], Times{Total: ms(ms2 * slower), Waiting: ms(7 * slower)})
				}
				if n > 60 {
					return fmt.Errorf("nothing is chosen")
				}
			}
			if got := text(m.Choice); got != c.want {
				return fmt.Errorf("%s, want %s", got, c.want)
			}
			h, _, _, ok := m.Hidden()
			if !ok {
				h = -1
			}
			if h < c.hidden-1e-6 || h > c.hidden+1e-6 {
				return fmt.Errorf("%g is hidden, want %g", h, c.hidden)
			}
			if way, kept := m.next(Forward); kept || way != m.Ways[m.Taken] {
				return fmt.Errorf("after the choice: %v, %v", way, kept)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func label(w Way) string {
	if w.Overlap {
		return w.Carrier
	}
	return "-" + w.Carrier
}

func text(c Choice) string {
	var words []string
	for i, w := range c.Ways {
		word := fmt.Sprintf("%s %d", label(w), w.Took.Round(time.Microsecond).Milliseconds())
		if w.Sums > 0 {
			word += fmt.Sprintf("/%d", w.Sums.Milliseconds())
		}
		if i == c.Taken {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return fmt.Sprint(words)[1 : len(fmt.Sprint(words))-1]
}

// The ways of the applications of one direction, in their order.
func TestMeasuringVisitsCarriersInTurn(t *testing.T) {
	m := newMeasuring([]string{"a", "b"}, [2]bool{false, true}, LiftOptions{})
	var visits []string
	for !m.done {
		if m.complete() {
			if err := m.choose(func([]float64) error { return nil }); err != nil {
				t.Fatal(err)
			}
			continue
		}
		way, _ := m.next(Backward)
		visits = append(visits, label(way))
		m.of[Backward] = append(m.of[Backward], Times{Total: time.Second})
	}
	if want := []string{"a", "a", "a", "b", "b", "-a", "-a"}; !slices.Equal(visits, want) {
		t.Errorf("%v, want %v", visits, want)
	}
}
