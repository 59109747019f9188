package traveltime

import (
	"iter"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Window is a rectangle of columns of a grid: the indices [Lo[a], Hi[a]) along each
// horizontal axis a, and all of z. In 2-D only the first elements are read, and the second
// ones of a window that this package returns are 0 and 1.
type Window struct{ Lo, Hi [2]int }

// Whole is the window of all columns of g.
func Whole(g grid.Grid) Window {
	w := Window{Hi: [2]int{g.Shape[0], 1}}
	if g.Dim() == 3 {
		w.Hi[1] = g.Shape[1]
	}
	return w
}

// Grid is the part of g that lies in w, which must not be empty. Its coordinates may differ
// from those of g by a rounding, because its origin is rounded.
func (w Window) Grid(g grid.Grid) grid.Grid {
	part := grid.Grid{Origin: slices.Clone(g.Origin), Spacing: g.Spacing, Shape: slices.Clone(g.Shape), Domain: g.Domain, Frame: g.Frame}
	for a := range g.Dim() - 1 {
		part.Origin[a], part.Shape[a] = g.Coord(a, w.Lo[a]), w.Hi[a]-w.Lo[a]
	}
	return part
}

// empty reports whether w has no column. In 2-D its second elements must be 0 and 1.
func (w Window) empty() bool { return w.Lo[0] >= w.Hi[0] || w.Lo[1] >= w.Hi[1] }

// count is the number of columns, under the same condition.
func (w Window) count() int { return (w.Hi[0] - w.Lo[0]) * (w.Hi[1] - w.Lo[1]) }

// inside reports whether all of w lies in o.
func (w Window) inside(o Window) bool {
	return w.Lo[0] >= o.Lo[0] && w.Lo[1] >= o.Lo[1] && w.Hi[0] <= o.Hi[0] && w.Hi[1] <= o.Hi[1]
}

// union is the smallest window that holds both.
func (w Window) union(o Window) Window {
	for a := range w.Lo {
		w.Lo[a], w.Hi[a] = min(w.Lo[a], o.Lo[a]), max(w.Hi[a], o.Hi[a])
	}
	return w
}

// columnsAlongY is the number of columns along y.
func (w Window) columnsAlongY() int { return w.Hi[1] - w.Lo[1] }

// columnsBefore is the number of columns of w that precede the column (x, y) in C order.
func (w Window) columnsBefore(x, y int) int { return (x-w.Lo[0])*w.columnsAlongY() + y - w.Lo[1] }

// Columns lists the columns in C order: for each the number of its first point on g.
func (w Window) Columns(g grid.Grid) iter.Seq[int] {
	whole, n := Whole(g), g.Shape[g.Dim()-1]
	return func(yield func(int) bool) {
		for x := w.Lo[0]; x < w.Hi[0]; x++ {
			for y := w.Lo[1]; y < w.Hi[1]; y++ {
				if !yield(whole.columnsBefore(x, y) * n) {
					return
				}
			}
		}
	}
}

// Window is the part of the image grid g that a place needs.
func (o Options) Window(g grid.Grid, place int) Window {
	w := Whole(g)
	if o.Windows != nil {
		for a := range g.Dim() - 1 {
			w.Lo[a], w.Hi[a] = o.Windows[place].Lo[a], o.Windows[place].Hi[a]
		}
	}
	return w
}

// mostColumns is the largest number of columns that one of the places needs.
func (o Options) mostColumns(g grid.Grid, places []int) (n int) {
	if o.Windows == nil {
		return Whole(g).count()
	}
	for _, place := range places {
		n = max(n, o.Window(g, place).count())
	}
	return n
}

// extent is the least room that holds a number of windows.
type extent struct {
	side    [2]int // of the widest along each axis
	columns int    // of the largest
}

func (x *extent) grow(w Window) {
	x.columns = max(x.columns, w.count())
	for a := range x.side {
		x.side[a] = max(x.side[a], w.Hi[a]-w.Lo[a])
	}
}

// share is how many times as many columns as the largest window of a batch that of all its
// places may have. More would cost memory. Fewer would leave lanes idle where places lie far
// apart: 16 places every n columns along a line share a batch if their windows are 30 n wide.
const share = 1.5

// leastRoom is the least room, in the window of all columns, for that of any batch of places
// whose own windows x holds.
func (x *extent) leastRoom(all Window) extent {
	y := extent{columns: min(int(share*float64(x.columns)), all.count())}
	for a := range y.side {
		y.side[a] = min(int(share*float64(x.side[a])), all.Hi[a]-all.Lo[a])
	}
	return y
}
