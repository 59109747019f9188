package dist

import (
	"encoding/binary"
	"fmt"
	"sort"
)

// holding is a stretch of a leaf's elements and the rank that holds it.
type holding struct{ rank, off, n int }

// spread returns the holdings of all ranks of a leaf's Shards, sorted by offset. It makes sure that they cover every
// element exactly once. It is a collective over the Shards, and all ranks return the same error.
func (l *Layout) spread() ([]holding, error) {
	mine := binary.LittleEndian.AppendUint64(nil, uint64(l.Off))
	mine = binary.LittleEndian.AppendUint64(mine, uint64(l.N))
	all, err := l.Shards.Host().AllGather(mine)
	if err != nil {
		return nil, err
	}
	out := make([]holding, len(all))
	for r, b := range all {
		out[r] = holding{r, int(binary.LittleEndian.Uint64(b)), int(binary.LittleEndian.Uint64(b[8:]))}
	}
	sort.SliceStable(out, func(i, j int) bool {
		return out[i].off < out[j].off || out[i].off == out[j].off && out[i].n < out[j].n
	})
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
