package butterfly

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// landing is where the sums of parts are added up to an image: in float64, in any order, or exactly
// (dist.Pieced), with a quantum. The unit of exact sums is then a part.
type landing struct {
	sums  []float64 // [tile][64]
	round float64   // adding and subtracting it rounds; 0 without a quantum
	most  []float64 // of each block, how large its sums may be
	peak  float64   // of the weights
}

func (o *Operator) newLanding(sums []float64, quantum float64) *landing {
	return &landing{sums: sums, round: simd.Rounding(quantum), most: make([]float64, len(o.blocks)), peak: o.peak}
}

// expect counts a trace of a block.
func (l *landing) expect(block int, isa simd.ISA, trace []float32) {
	if l.round != 0 {
		l.most[block] += kirchhoff.MostElsewhere * l.peak * isa.Largest(trace)
	}
}

// parted reports whether the sums of p land before those of the next part, with a quantum or of other
// rows.
func (l *landing) parted(p, next *open) bool { return l.round != 0 || next.of[rows] != p.of[rows] }

// add adds the sums of parts, the last of the given block, at the points in slots.
func (l *landing) add(block int, slots []int32, sum []float32) error {
	if l.round == 0 {
		for k, slot := range slots {
			l.sums[slot] += float64(sum[k])
		}
		return nil
	}
	most := l.most[block]
	for k, slot := range slots {
		v := float64(sum[k])
		if v > most || v < -most {
			return status.Numerical(fmt.Errorf("kirchhoff: a factorised sum is %g, more than %g times its largest samples, %g: sums over ranks would not be exact", v, kirchhoff.MostElsewhere*l.peak, most))
		}
		l.sums[slot] += (v + l.round) - l.round
	}
	return nil
}
