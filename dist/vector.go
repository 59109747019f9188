package dist

import "github.com/kirchhoff-lsm/lsm/device"

// Vector is this rank's share of a distributed vector: one buffer for a leaf layout, or
// one part for each row of a stack.
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

// Free gives v's memory back to its device. v must not be used after it.
func (v *Vector) Free() {
	_ = v.eachLeaf(func(v *Vector) error {
		v.Buf.Device().Free(v.Buf)
		return nil
	})
}

// Clone allocates a zero vector of the same layout on the same device.
func (v *Vector) Clone() (*Vector, error) { return NewVector(v.Device(), v.Layout) }

// Rows returns the parts of a stack, or v itself for a leaf.
func (v *Vector) Rows() []*Vector {
	if v.Parts != nil {
		return v.Parts
	}
	return []*Vector{v}
}

// Device is where v is.
func (v *Vector) Device() device.Device {
	for v.Parts != nil {
		v = v.Parts[0]
	}
	return v.Buf.Device()
}

// eachLeaf calls f for every leaf of v.
func (v *Vector) eachLeaf(f func(*Vector) error) error {
	return v.pairLeaves(v, func(leaf, _ *Vector) error { return f(leaf) })
}

// pairLeaves calls f for every pair of matching leaves of v and w.
func (v *Vector) pairLeaves(w *Vector, f func(a, b *Vector) error) error {
	if v.Parts == nil {
		return f(v, w)
	}
	for i, p := range v.Parts {
		if err := p.pairLeaves(w.Parts[i], f); err != nil {
			return err
		}
	}
	return nil
}

// Zero sets v to zero.
func (v *Vector) Zero() error {
	return v.eachLeaf(func(v *Vector) error { return v.Buf.Device().Zero(v.Buf) })
}

// Copy sets dst to src.
func Copy(dst, src *Vector) error {
	mustEqual("copy", dst.Layout, src.Layout)
	return dst.pairLeaves(src, func(d, s *Vector) error { return d.Buf.Device().Copy(d.Buf, s.Buf) })
}

// Axpby sets y = a·x + b·y.
func Axpby(a float64, x *Vector, b float64, y *Vector) error {
	w := &Work{}
	w.Axpby(a, x, b, y)
	return w.Err
}

// Multiply sets dst = dst·x, element by element.
func Multiply(dst, x *Vector) error {
	mustEqual("multiply", dst.Layout, x.Layout)
	return dst.pairLeaves(x, func(d, x *Vector) error { return d.Buf.Device().Multiply(d.Buf, x.Buf) })
}
