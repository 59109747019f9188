package dist

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Direction tells an operator from its adjoint.
type Direction uint8

const (
	Forward Direction = iota
	Backward
)

func (d Direction) String() string { return [...]string{"forward", "adjoint"}[d] }

// Pieced is a Kernel that computes its destination piece by piece, so that one piece is
// summed over the ranks while the next is computed, and whose sums can be made independent
// of how the work is divided.
//
// The second part works like this (Demmel & Nguyen 2015, "Parallel reproducible
// summation", pre-rounding): a kernel's smallest unit of work, whose sum has a fixed
// order, depends only on the problem, not on ranks or threads. The sum of each unit is
// rounded to a multiple of a quantum, a power of two so large that sums of all units stay
// below 2⁵³ quanta. Added up in float64 they are exact, in any order and over any number
// of ranks. The quantum is chosen again for each application from a bound on its result.
type Pieced interface {
	Kernel

	// Peak is the largest weight that this rank's operator may give a sample.
	Peak() float64
	// Bound returns one number for each smallest part of the source that ranks share out.
	// The sum of the numbers over all parts of all ranks, times the largest Peak, bounds
	// every element of the destination and every partial sum of it. The numbers depend only
	// on the source. A NaN or an infinity in the source appears in them.
	Bound(d Direction, src device.Buf) ([]float64, error)

	// Begin starts one application. Only one may be under way at a time. With quantum 0
	// the sums have the destination's type and any fixed order.
	Begin(ctx context.Context, d Direction, dst, src device.Buf, quantum float64) (Application, error)
}

// Application is one application of a Pieced kernel. Its pieces are consecutive
// stretches of the destination, the same in number on all ranks that hold copies
// of it. They are computed in order, and each is finished once.
type Application interface {
	// Pieces is the number of pieces. Ahead is how many Sums may be taken before the
	// first of them is finished.
	Pieces() int
	Ahead() int
	// Sum computes this rank's sums of piece i. The caller may add the sums of other
	// ranks to them in place. The buffer is valid until Finish(i).
	Sum(i int) (device.Buf, error)
	// Finish adds piece i to the destination.
	Finish(i int) error
}
