package dist

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// Dots returns the inner products ⟨x, y⟩ = Σ x·y of pairs of vectors, with one
// collective for all leaves that are split over the same ranks. Sums are in float64. With
// Layout.Units each unit is summed by itself, and the sums of the units are added without
// rounding, which gives the same bits on every partition.
func Dots(pairs ...[2]*Vector) ([]float64, error) {
	var bufs [][2]device.Buf
	var leaves []*Layout
	var of, ends []int // of each leaf: its pair, and where its stretches end in bufs
	for i, p := range pairs {
		mustEqual("dot", p[0].Layout, p[1].Layout)
		_ = p[0].pairLeaves(p[1], func(x, y *Vector) error {
			for _, s := range x.Layout.stretches(0, x.Layout.N) {
				bufs = append(bufs, [2]device.Buf{x.Buf.Slice(s[0], s[1]), y.Buf.Slice(s[0], s[1])})
			}
			leaves, of, ends = append(leaves, x.Layout), append(of, i), append(ends, len(bufs))
			return nil
		})
	}
	out := make([]float64, len(pairs))
	if len(leaves) == 0 {
		return out, nil
	}
	d := pairs[0][0].Device()
	defer d.Mark(device.MarkDots)()
	dots, err := d.Dots(bufs...) // at once, for all units of all pairs
	if err != nil {
		return nil, err
	}
	parts, from := make([][]float64, len(leaves)), 0
	for i, to := range ends {
		parts[i], from = dots[from:to], to
	}
	sums, err := sumOverShards(parts, leaves)
	if err != nil {
		return nil, err
	}
	for i, v := range sums {
		out[of[i]] += v
	}
	return out, nil
}

// Dot returns ⟨x, y⟩.
func Dot(x, y *Vector) (float64, error) {
	w := &Work{}
	return w.Dots(Pair{x, y})[0], w.Err
}

// Norm returns ‖x‖.
func Norm(x *Vector) (float64, error) {
	d, err := Dot(x, x)
	return math.Sqrt(d), err
}

// stretches returns, as offset and length, the stretches over which elements lo to hi of
// this rank's part of a leaf are summed: the units that begin there, or without Units the
// whole part.
func (l *Layout) stretches(lo, hi int) (out [][2]int) {
	if l.Units == nil {
		return [][2]int{{lo, hi - lo}}
	}
	if l.N > 0 && (len(l.Units) == 0 || l.Units[0] != 0) {
		panic("dist: the units of " + l.String() + " do not begin with its first element")
	}
	for i, at := range l.Units {
		end := l.N
		if i+1 < len(l.Units) {
			end = l.Units[i+1]
		}
		if at >= lo && at < hi {
			out = append(out, [2]int{at, min(end, hi) - at})
		}
	}
	return out
}

// sumOverShards adds up the parts of each leaf over the ranks that it is split over. It
// takes the communicators in the order of the leaves, which is the same on all ranks.
func sumOverShards(parts [][]float64, leaves []*Layout) ([]float64, error) {
	out := make([]float64, len(leaves))
	done := make([]bool, len(leaves))
	for i, l := range leaves {
		if done[i] {
			continue
		}
		var at []int
		var v []float64
		for j := i; j < len(leaves); j++ {
			if !done[j] && leaves[j].Shards == l.Shards {
				at = append(at, j)
				v = leaves[j].packSum(v, parts[j])
				done[j] = true
			}
		}
		if l.Shards.Size() > 1 {
			if err := l.Shards.Host().AllReduce(v, comm.Sum); err != nil {
				return nil, err
			}
		}
		for _, j := range at {
			out[j], v = leaves[j].unpackSum(v)
		}
	}
	return out, nil
}

// packSum appends the sum of a leaf's parts in a form that can be added over the ranks:
// one number, or with Units the words of an exact sum.
func (l *Layout) packSum(to, parts []float64) []float64 {
	if l.Units == nil {
		return append(to, parts[0])
	}
	var sum exact
	for _, p := range parts {
		sum.add(p)
	}
	return sum.pack(to)
}

// unpackSum reads what packSum wrote and returns the rest of the words.
func (l *Layout) unpackSum(v []float64) (float64, []float64) {
	if l.Units == nil {
		return v[0], v[1:]
	}
	sum := unpack(v)
	return sum.round(), v[words:]
}
