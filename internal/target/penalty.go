package target

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// penalty is B = λ² + ρ²RᵀR at the points of a box of the image, by rows. It is symmetric, and
// the same on all ranks. The image is zero outside the box.
type penalty struct {
	Columns [][]int32
	Values  [][]float64
}

// reach is how many points along an axis RᵀR may reach. Points farther apart than twice that
// do not meet.
const reach = 2

// newPenalty finds B in a box, given λ and ρR, nil for none. It applies RᵀR to images of ones
// that lie so far apart that each point sees one of them at most. whole brings an image to
// rank 0. It is collective.
func newPenalty(ctx context.Context, world comm.Comm, damping float64, r dist.Operator, box Box, like *dist.Vector, whole func(*dist.Vector) ([]float32, error)) (*penalty, error) {
	n := box.Len()
	b := &penalty{make([][]int32, n), make([][]float64, n)}
	for i := range n {
		b.add(i, i, damping*damping)
	}
	if r == nil {
		return b, nil
	}
	w := &dist.Work{Ctx: ctx}
	var x, y, rows *dist.Vector
	w.New(like.Device(), like.Layout, &x)
	w.New(like.Device(), like.Layout, &y)
	w.New(like.Device(), r.Range(), &rows)
	if w.Err != nil {
		return nil, w.Err
	}
	shape := x.Layout.Shape
	colours := Box{make([]int, len(shape)), make([]int, len(shape))}
	for a := range shape {
		colours.Count[a] = 2*reach + 1
	}
	for c := range colours.Len() {
		colour := colours.index(c)
		var image []float32
		w.Do(func() error { return device.Upload(x.Buf, ones(x.Layout, colour)) })
		w.Apply(r, rows, x)
		w.ApplyAdjoint(r, y, rows)
		w.Do(func() (err error) {
			image, err = whole(y)
			return err
		})
		if w.Err == nil && image != nil {
			b.take(box, shape, colour, image)
		}
	}
	if w.Err != nil {
		return nil, w.Err
	}
	x.Free()
	y.Free()
	rows.Free()
	all, err := comm.GatherJSON(world.Host().AllGather, b)
	if err != nil {
		return nil, err
	}
	return all[0].symmetric(), nil
}

// ones is this rank's part of an image of ones at the points of a colour.
func ones(l *dist.Layout, colour []int) []float32 {
	x := make([]float32, l.N)
	for i := range x {
		x[i] = 1
		at := l.Off + i
		for a := len(l.Shape) - 1; a >= 0; a-- {
			if at%l.Shape[a]%(2*reach+1) != colour[a] {
				x[i] = 0
			}
			at /= l.Shape[a]
		}
	}
	return x
}

// take adds what RᵀR makes of the ones of a colour.
func (b *penalty) take(box Box, shape, colour []int, image []float32) {
	for i, point := range box.Points(shape) {
		if image[point] == 0 {
			continue
		}
		if j := box.near(box.index(i), colour); j >= 0 {
			b.add(i, j, float64(image[point]))
		}
	}
}

// near is the number in the box of the one point of a colour that is at most reach away from
// a point of the box, −1 for none.
func (b Box) near(index, colour []int) int {
	j := 0
	for a, i := range index {
		step := 2*reach + 1
		d := ((colour[a]-(b.First[a]+i))%step + step) % step
		if d > reach {
			d -= step
		}
		if i += d; i < 0 || i >= b.Count[a] {
			return -1
		}
		j = j*b.Count[a] + i
	}
	return j
}

func (b *penalty) add(i, j int, v float64) {
	b.Columns[i], b.Values[i] = append(b.Columns[i], int32(j)), append(b.Values[i], v)
}

// at is element (i, j).
func (b *penalty) at(i, j int) (sum float64) {
	for k, c := range b.Columns[i] {
		if int(c) == j {
			sum += b.Values[i][k]
		}
	}
	return sum
}

// symmetric is (B + Bᵀ)/2: single precision may tell the two apart.
func (b *penalty) symmetric() *penalty {
	out := &penalty{make([][]int32, len(b.Columns)), make([][]float64, len(b.Columns))}
	for i, columns := range b.Columns {
		seen := map[int32]bool{}
		for _, j := range columns {
			if !seen[j] {
				seen[j] = true
				out.add(i, int(j), (b.at(i, int(j))+b.at(int(j), i))/2)
			}
		}
	}
	return out
}

// rows is B for rows of H, given the point of the box that each is.
func (b *penalty) rows(at []int) *penalty {
	n := len(at)
	row := make([]int32, n)
	for i, point := range at {
		row[point] = int32(i)
	}
	out := &penalty{make([][]int32, n), make([][]float64, n)}
	for i, point := range at {
		for k, j := range b.Columns[point] {
			out.add(i, int(row[j]), b.Values[point][k])
		}
	}
	return out
}

// form is xᵀBx.
func (b *penalty) form(x []float64) (sum float64) {
	for i, columns := range b.Columns {
		row := 0.0
		for k, j := range columns {
			row += b.Values[i][k] * x[j]
		}
		sum += x[i] * row
	}
	return sum
}

// diagonal reports whether B is a multiple of the identity, and of what.
func (b *penalty) diagonal() (factor float64, ok bool) {
	for i, columns := range b.Columns {
		if len(columns) != 1 || b.Values[i][0] != b.Values[0][0] {
			return 0, false
		}
	}
	return b.Values[0][0], true
}
