package dist

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// Layout says how a vector is spread over the ranks. A layout is either a leaf or a stack
// of other layouts (the range of VStack). A leaf is one array; this rank holds its
// elements Off to Off+N in C order.
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

// holding is a stretch of a leaf's elements and the rank that holds it.
type holding struct{ rank, off, n int }

// spread returns the holdings of all ranks of a leaf's Shards, sorted by offset. It makes
// sure that they cover every element exactly once. It is a collective over the Shards,
// and all ranks return the same error.
func (l *Layout) spread() ([]holding, error) {
	all, err := comm.GatherJSON(l.Shards.Host().AllGather, [2]int{l.Off, l.N})
	if err != nil {
		return nil, err
	}
	out := make([]holding, len(all))
	for rank, h := range all {
		out[rank] = holding{rank, h[0], h[1]}
	}
	slices.SortStableFunc(out, func(a, b holding) int { return cmp.Or(a.off-b.off, a.n-b.n) })
	at := 0
	for _, s := range out {
		if s.n > 0 && s.off != at {
			return nil, fmt.Errorf("dist: rank %d holds elements %d to %d of %v, where %d should follow", s.rank, s.off, s.off+s.n, l, at)
		}
		at += s.n
	}
	if whole := l.Size(); at != whole {
		return nil, fmt.Errorf("dist: the ranks hold %d elements of %v, which has %d", at, l, whole)
	}
	return out, nil
}
