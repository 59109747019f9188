package dist

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
)

// Redistribute sets dst to src, two vectors of one shape and type that are split
// over the same Shards in different ways. In round k every rank sends what the
// k-th rank after it needs and receives from the k-th before it; each copy does so
// for itself. It is a collective over the Shards, and an error of a layout is that
// of all of them.
func Redistribute(dst, src *Vector) error {
	return dst.pairLeaves(src, redistribute)
}

func redistribute(dst, src *Vector) error {
	to, from := dst.Layout, src.Layout
	c := to.Shards
	if !sameArray(to, from) || c != from.Shards {
		panic(fmt.Sprintf("dist: redistribute: layouts %v and %v are not of one array over the same ranks", to, from))
	}
	have, err := from.byRank()
	if err != nil {
		return err
	}
	want, err := to.byRank()
	if err != nil {
		return err
	}
	n, me := c.Size(), c.Rank()
	for k := range n {
		next, last := (me+k)%n, (me+n-k)%n
		sendOff, sends := overlap(have[me], want[next])
		recvOff, recvs := overlap(want[me], have[last])
		if k == 0 {
			if err := dst.Buf.Device().Copy(dst.Buf.Slice(recvOff, recvs), src.Buf.Slice(sendOff, sends)); err != nil {
				return err
			}
			continue
		}
		out, in := src.Buf.Slice(sendOff, sends), dst.Buf.Slice(recvOff, recvs)
		if sends == 0 {
			out, next = nil, comm.None
		}
		if recvs == 0 {
			in, last = nil, comm.None
		}
		if err := c.SendRecv(out, next, in, last); err != nil {
			return err
		}
	}
	return nil
}

func sameArray(a, b *Layout) bool {
	return a.Parts == nil && b.Parts == nil && a.Type == b.Type && fmt.Sprint(a.Shape) == fmt.Sprint(b.Shape)
}

// byRank is spread in the order of the ranks.
func (l *Layout) byRank() ([]holding, error) {
	all, err := l.spread()
	if err != nil {
		return nil, err
	}
	out := make([]holding, len(all))
	for _, h := range all {
		out[h.rank] = h
	}
	return out, nil
}

// overlap is what two ranks both hold, as an offset in the first one's part and a
// length.
func overlap(mine, other holding) (off, n int) {
	lo, hi := max(mine.off, other.off), min(mine.off+mine.n, other.off+other.n)
	if hi <= lo {
		return 0, 0
	}
	return lo - mine.off, hi - lo
}
