package dist

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/device"
)

// Vector is this rank's share of a distributed vector: one buffer for a leaf
// layout, one part for each row of a stack.
type Vector struct {
	Layout *Layout
	Buf    device.Buf // nil for a stack
	Parts  []*Vector  // nil for a leaf
}

// NewVector allocates a zero vector on device d.
func NewVector(d device.Device, l *Layout) (*Vector, error) {
	v := &Vector{Layout: l}
	for _, p := range l.Parts {
		part, err := NewVector(d, p)
		if err != nil {
			return nil, err
		}
		v.Parts = append(v.Parts, part)
	}
	if l.Parts != nil {
		return v, nil
	}
	var err error
	v.Buf, err = d.Alloc(l.N, l.Type)
	return v, err
}

// Clone allocates a zero vector of the same layout on the same device.
func (v *Vector) Clone() (*Vector, error) { return NewVector(v.device(), v.Layout) }

func (v *Vector) device() device.Device {
	for v.Parts != nil {
		v = v.Parts[0]
	}
	return v.Buf.Device()
}

// each calls f for every buffer of v.
func (v *Vector) each(f func(device.Buf) error) error {
	if v.Parts == nil {
		return f(v.Buf)
	}
	for _, p := range v.Parts {
		if err := p.each(f); err != nil {
			return err
		}
	}
	return nil
}

// pair calls f for every pair of matching buffers of v and w.
func (v *Vector) pair(w *Vector, f func(a, b device.Buf) error) error {
	if v.Parts == nil {
		return f(v.Buf, w.Buf)
	}
	for i, p := range v.Parts {
		if err := p.pair(w.Parts[i], f); err != nil {
			return err
		}
	}
	return nil
}

// Zero sets v to zero.
func (v *Vector) Zero() error {
	return v.each(func(b device.Buf) error { return b.Device().Zero(b) })
}

// Copy sets dst to src.
func Copy(dst, src *Vector) error {
	mustEqual("copy", dst.Layout, src.Layout)
	return dst.pair(src, func(d, s device.Buf) error { return d.Device().Copy(d, s) })
}

// Axpby sets y = a·x + b·y.
func Axpby(a float64, x *Vector, b float64, y *Vector) error {
	return AxpbyComplex(complex(a, 0), x, complex(b, 0), y)
}

// AxpbyComplex sets y = a·x + b·y; for real vectors the factors must be real.
func AxpbyComplex(a complex128, x *Vector, b complex128, y *Vector) error {
	mustEqual("axpby", x.Layout, y.Layout)
	return x.pair(y, func(x, y device.Buf) error {
		return y.Device().Axpby(a, x, b, y)
	})
}

// Multiply sets dst = dst·x, element by element.
func Multiply(dst, x *Vector) error {
	mustEqual("multiply", dst.Layout, x.Layout)
	return dst.pair(x, func(d, x device.Buf) error { return d.Device().Multiply(d, x) })
}

// SoftThreshold shrinks every element of x towards zero by t.
func SoftThreshold(x *Vector, t float64) error {
	return x.each(func(b device.Buf) error { return b.Device().SoftThreshold(b, t) })
}

// Dots returns the inner products ⟨x, y⟩ = Σ conj(x)·y of pairs of vectors,
// with one collective for all leaves that are split over the same ranks. Sums
// are in float64.
func Dots(pairs ...[2]*Vector) ([]complex128, error) {
	byLeaf, err := leafDots(pairs)
	if err != nil {
		return nil, err
	}
	out := make([]complex128, len(pairs))
	next := 0
	for i, p := range pairs {
		for range p[0].Layout.leaves(nil) {
			out[i] += byLeaf[next]
			next++
		}
	}
	return out, nil
}

// Dot returns ⟨x, y⟩.
func Dot(x, y *Vector) (complex128, error) {
	d, err := Dots([2]*Vector{x, y})
	if err != nil {
		return 0, err
	}
	return d[0], nil
}

// Norm returns ‖x‖.
func Norm(x *Vector) (float64, error) {
	d, err := Dot(x, x)
	return math.Sqrt(real(d)), err
}

// Norms returns the norm of each leaf of a stack, in order (one value for a
// leaf): for the residual of a regularised problem, the data misfit first.
func Norms(x *Vector) ([]float64, error) {
	d, err := leafDots([][2]*Vector{{x, x}})
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(d))
	for i, v := range d {
		out[i] = math.Sqrt(real(v))
	}
	return out, nil
}

// leafDots returns one inner product per leaf of every pair, in order, summed
// over each leaf's Shards.
func leafDots(pairs [][2]*Vector) ([]complex128, error) {
	var bufs [][2]device.Buf
	var leaves []*Layout
	for _, p := range pairs {
		mustEqual("dot", p[0].Layout, p[1].Layout)
		leaves = p[0].Layout.leaves(leaves)
		err := p[0].pair(p[1], func(a, b device.Buf) error {
			bufs = append(bufs, [2]device.Buf{a, b})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(bufs) == 0 {
		return nil, nil
	}
	dots, err := bufs[0][0].Device().Dots(bufs...)
	if err != nil {
		return nil, err
	}
	return dots, sumOverShards(dots, leaves)
}

// sumOverShards adds up each leaf's value over the ranks it is split over. The
// communicators are taken in the order of the leaves, which is the same on all
// ranks.
func sumOverShards(dots []complex128, leaves []*Layout) error {
	done := make([]bool, len(leaves))
	for i, l := range leaves {
		if done[i] || l.Shards.Size() == 1 {
			continue
		}
		var at []int
		var v []float64
		for j := i; j < len(leaves); j++ {
			if !done[j] && leaves[j].Shards == l.Shards {
				at = append(at, j)
				v = append(v, real(dots[j]), imag(dots[j]))
				done[j] = true
			}
		}
		if err := l.Shards.Host().AllReduce(v, comm.Sum); err != nil {
			return err
		}
		for k, j := range at {
			dots[j] = complex(v[2*k], v[2*k+1])
		}
	}
	return nil
}
