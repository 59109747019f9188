package dist

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// Layout says how a vector is spread over the ranks. A layout is either a leaf,
// one array of which this rank holds elements Off to Off+N in C order, or a
// stack of other layouts (the range of VStack).
type Layout struct {
	Shape  []int       // global shape
	Off, N int         // this rank's elements
	Type   device.Type // element type

	// Units are the local offsets at which the smallest parts begin that ranks share out,
	// such as shots or slabs of the image. The first is 0. With Units, sums over the
	// vector have the same bits on every partition; nil means that they need not. On a
	// rank without elements Units is empty but not nil, so that all ranks do the same.
	Units []int

	Shards comm.Comm // the vector is split over these ranks
	Copies comm.Comm // and replicated over these

	Parts []*Layout // rows of a stack; nil for a leaf
}

// Local returns the layout of a vector that this rank holds as a whole.
func Local(t device.Type, shape ...int) *Layout {
	return &Layout{Shape: slices.Clone(shape), N: product(shape), Type: t, Shards: comm.Self(), Copies: comm.Self()}
}

// product is the number of elements of an array.
func product(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}

// Size is the number of elements of a leaf over all ranks.
func (l *Layout) Size() int { return product(l.Shape) }

// Stack returns the layout of vectors laid one below the other.
func Stack(parts ...*Layout) *Layout {
	if len(parts) == 0 {
		panic("dist: a stack of no layouts")
	}
	return &Layout{Parts: slices.Clone(parts)}
}

// Equal reports whether vectors of the two layouts can be added. Layouts made
// by the same call are equal; otherwise shape, share and type must agree.
func (l *Layout) Equal(o *Layout) bool {
	if l == o {
		return true
	}
	if l.Parts != nil || o.Parts != nil {
		return slices.EqualFunc(l.Parts, o.Parts, (*Layout).Equal)
	}
	return slices.Equal(l.Shape, o.Shape) && l.Off == o.Off && l.N == o.N && l.Type == o.Type &&
		sameGroup(l.Shards, o.Shards) && sameGroup(l.Copies, o.Copies)
}

func sameGroup(a, b comm.Comm) bool { return a.Size() == b.Size() && a.Rank() == b.Rank() }

func (l *Layout) String() string {
	if l.Parts != nil {
		return fmt.Sprintf("stack%v", l.Parts)
	}
	return fmt.Sprintf("%v%v", l.Type, l.Shape)
}

func mustEqual(op string, a, b *Layout) {
	if !a.Equal(b) {
		panic(fmt.Sprintf("dist: %s: layouts %v and %v differ", op, a, b))
	}
}
