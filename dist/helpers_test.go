package dist

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// gather brings a vector to its first rank, as GatherEach does: one host buffer
// for each leaf there, nil on all others.
func gather(v *Vector) ([]device.Buf, error) {
	var out []device.Buf
	err := v.eachLeaf(func(v *Vector) error {
		l := v.Layout
		if l.Shards.Rank() != 0 || l.Copies.Rank() != 0 {
			return GatherEach(v, 0, nil)
		}
		whole, err := device.NewHost(0).Alloc(l.Size(), l.Type)
		if err != nil {
			return err
		}
		out = append(out, whole)
		return GatherEach(v, 0, func(first int, part device.Buf) error {
			return part.Device().Copy(whole.Slice(first, part.Len()), part)
		})
	})
	return out, err
}

// scatter is the reverse: the first rank gives one host buffer for each leaf, of
// its whole length and its type.
func scatter(v *Vector, whole []device.Buf) error {
	leaf := -1
	return v.eachLeaf(func(v *Vector) error {
		leaf++
		return ScatterEach(v, 0, func(first int, part device.Buf) error {
			l := v.Layout
			if leaf >= len(whole) {
				return fmt.Errorf("dist: %d buffers for a vector with more leaves", len(whole))
			}
			if b := whole[leaf]; b.Len() != l.Size() || b.Type() != l.Type {
				return fmt.Errorf("dist: %d %v for leaf %d, which is %v", b.Len(), b.Type(), leaf, l)
			}
			return part.Device().Copy(part, whole[leaf].Slice(first, part.Len()))
		})
	})
}

// Split returns the layout of an array that is cut along axis 0: rank r of shards
// holds rows cuts[r] to cuts[r+1], and the ranks of copies hold the same.
func Split(t device.Type, shape, cuts []int, shards, copies comm.Comm) *Layout {
	l := Local(t, shape...)
	r, row := shards.Rank(), l.row()
	l.Off, l.N = cuts[r]*row, (cuts[r+1]-cuts[r])*row
	l.Shards, l.Copies = shards, copies
	return l
}

// WithUnits returns l, split along axis 0, with units that begin at the given
// rows of the whole array.
func (l *Layout) WithUnits(rows []int) *Layout {
	out, row := *l, l.row()
	out.Units = []int{}
	for _, r := range rows {
		if at := r*row - l.Off; at >= 0 && at < l.N {
			out.Units = append(out.Units, at)
		}
	}
	return &out
}

// row is the number of elements that share an index of axis 0.
func (l *Layout) row() int {
	n := 1
	for _, s := range l.Shape[1:] {
		n *= s
	}
	return n
}

// Adjoint swaps the two directions of an operator.
func Adjoint(op Operator) Operator {
	return Map("adjoint", op.Range(), op.Domain(),
		func(w *Work, dst, src *Vector) { w.ApplyAdjoint(op, dst, src) },
		func(w *Work, dst, src *Vector) { w.Apply(op, dst, src) })
}

func eachBuf(v *Vector, f func(device.Buf) error) error {
	return v.eachLeaf(func(v *Vector) error { return f(v.Buf) })
}

func pairBufs(v, w *Vector, f func(a, b device.Buf) error) error {
	return v.pairLeaves(w, func(a, b *Vector) error { return f(a.Buf, b.Buf) })
}

// leaves appends the leaf layouts of l, in order.
func (l *Layout) leaves(out []*Layout) []*Layout {
	if l.Parts == nil {
		return append(out, l)
	}
	for _, p := range l.Parts {
		out = p.leaves(out)
	}
	return out
}
