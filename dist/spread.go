package dist

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
)

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
