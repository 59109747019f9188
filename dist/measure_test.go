package dist

import (
	"fmt"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
)

// ms are milliseconds.
func ms(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

// The faster way over both directions on the slowest ranks is chosen by all, after the
// same number of applications, and the first of them do not count.
func TestMeasuring(t *testing.T) {
	for _, c := range []struct {
		with, without [2]float64 // ms of a forward and an adjoint
		ranks         [2]bool    // directions that sum over ranks
		want          Overlapped
		hidden        float64
	}{
		{[2]float64{10, 30}, [2]float64{15, 32}, [2]bool{true, true}, Overlapped{true, ms(40), ms(47), ms(14)}, 0.5},
		{[2]float64{10, 38}, [2]float64{15, 30}, [2]bool{true, true}, Overlapped{false, ms(48), ms(45), ms(14)}, 0},
		{[2]float64{10, 38}, [2]float64{15, 30}, [2]bool{true, false}, Overlapped{true, ms(10), ms(15), ms(7)}, 5. / 7},
		{[2]float64{90, 10}, [2]float64{15, 30}, [2]bool{false, true}, Overlapped{true, ms(10), ms(30), ms(7)}, 1},
	} {
		err := commtest.Ranks(3, func(g comm.Comm) error {
			m := &measuring{sums: c.ranks}
			// Rank 1 is the slowest.
			slower := []float64{0.5, 1, 0.9}[g.Rank()]
			for n := 0; !m.complete(); n++ {
				d := Direction(n % 2)
				overlap, counts := over(len(m.of[d]))
				took := c.without[d]
				if overlap {
					took = c.with[d]
				}
				if !counts {
					took = 1e6
				}
				m.of[d] = append(m.of[d], Times{Total: ms(took * slower), Waiting: ms(7 * slower)})
				if n > 20 {
					return fmt.Errorf("nothing is chosen")
				}
			}
			got, err := m.choose(func(x []float64) error { return g.Host().AllReduce(x, comm.Max) })
			if err != nil {
				return err
			}
			if differ(got.With, c.want.With) || differ(got.Without, c.want.Without) || differ(got.Sums, c.want.Sums) || got.On != c.want.On {
				return fmt.Errorf("%+v, want %+v", got, c.want)
			}
			if h := got.Hidden(); h < c.hidden-1e-6 || h > c.hidden+1e-6 {
				return fmt.Errorf("%g is hidden, want %g", h, c.hidden)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if h := (Overlapped{With: 1, Without: 5}).Hidden(); h != 0 {
		t.Errorf("of nothing %g is hidden", h)
	}
}

func differ(a, b time.Duration) bool { return a-b > time.Microsecond || b-a > time.Microsecond }
