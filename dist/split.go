package dist

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// Split returns the layout of an array that is cut along axis 0: rank r of shards
// holds rows cuts[r] to cuts[r+1], and the ranks of copies hold the same. There is
// one cut more than there are ranks; the first is 0, the last shape[0]. All ranks
// give the same cuts; a rank may be left without rows.
func Split(t device.Type, shape, cuts []int, shards, copies comm.Comm) *Layout {
	n := len(cuts) - 1
	if n != shards.Size() || cuts[0] != 0 || cuts[n] != shape[0] || !slices.IsSorted(cuts) {
		panic(fmt.Sprintf("dist: cuts %v of an array of %v over %d ranks", cuts, shape, shards.Size()))
	}
	l := Local(t, shape...)
	r, row := shards.Rank(), l.row()
	l.Off, l.N = cuts[r]*row, (cuts[r+1]-cuts[r])*row
	l.Shards, l.Copies = shards, copies
	return l
}

// WithUnits returns l, split along axis 0, with units that begin at the given
// rows of the whole array, in order and the first at 0; every rank's rows must
// begin with a unit.
func (l *Layout) WithUnits(rows []int) *Layout {
	out, row := *l, l.row()
	out.Units = []int{}
	for _, r := range rows {
		if at := r*row - l.Off; at >= 0 && at < l.N {
			out.Units = append(out.Units, at)
		}
	}
	if l.N > 0 && (len(out.Units) == 0 || out.Units[0] != 0) || !slices.IsSorted(out.Units) {
		panic(fmt.Sprintf("dist: units at rows %v of %v, of which this rank holds elements %d to %d", rows, l, l.Off, l.Off+l.N))
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
