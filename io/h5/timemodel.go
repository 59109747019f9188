package h5

import "github.com/kirchhoff-lsm/lsm/grid"

// VelocityKind says what the velocities of a model are.
type VelocityKind string

const (
	Interval VelocityKind = "interval" // of the rock at a point
	RMS      VelocityKind = "rms"      // root-mean-square, along the vertical from the datum to a point
)

// Kind says what velocities the model holds: in depth interval velocities, in time what the attribute
// kind of /velocity says, or else root-mean-square ones.
func (r *ModelReader) Kind() VelocityKind { return r.kind }

func (r *ModelReader) findKind() error {
	r.kind = Interval
	if r.grid.Domain == grid.Depth {
		return nil
	}
	r.kind = RMS
	a := r.data.Attrs()
	if !a.Has("kind") {
		return nil
	}
	text, err := a.Text("kind")
	if r.kind = VelocityKind(text); err == nil && r.kind != Interval && r.kind != RMS {
		err = a.fault("kind", "is %q, want %q or %q", text, RMS, Interval)
	}
	return err
}
