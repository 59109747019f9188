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
	out := make([]holding, l.Shards.Size())
	all, mine := make([]float64, 2*len(out)), 2*l.Shards.Rank()
	all[mine], all[mine+1] = float64(l.Off), float64(l.N)
	if err := l.Shards.Host().AllReduce(all, comm.Sum); err != nil {
		return nil, err
	}
	for r := range out {
		out[r] = holding{r, int(all[2*r]), int(all[2*r+1])}
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
