package h5

import (
	"cmp"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
)

// VelocityKind says what the velocities of a model are.
type VelocityKind string

const (
	Interval VelocityKind = "interval" // of the rock at a point
	RMS      VelocityKind = "rms"      // root-mean-square, along the vertical from the datum to a point
)

// Parameter reads a dataset like /velocity, such as /epsilon, whose values must be finite and above
// least. It returns nil where the file has none.
func (r *ModelReader) Parameter(name string, least float64) ([]float64, error) {
	if !r.Has(name) {
		return nil, nil
	}
	d, err := r.Dataset(name)
	if err == nil {
		err = d.Want("like /velocity", r.data.shape...)
	}
	if err != nil {
		return nil, err
	}
	values, err := Read[float64](d)
	for i, v := range values {
		if !(v > least) || math.IsInf(v, 0) {
			return nil, inputError(r.path, name, "is %g at point %s, must be above %g and finite", v, pointText(r.grid, i), least)
		}
	}
	return values, err
}

// timed finds what a model in time has beside others: its kind and η.
func (r *ModelReader) timed() (err error) {
	r.kind = Interval
	if r.grid.Domain == grid.Depth {
		return nil
	}
	r.kind = RMS
	if a := r.data.Attrs(); a.Has("kind") {
		text, err := a.Text("kind")
		if err != nil {
			return err
		}
		if r.kind = VelocityKind(text); r.kind != Interval && r.kind != RMS {
			return a.fault("kind", "is %q, want %q or %q", text, RMS, Interval)
		}
	}
	if !r.Has("/eta") {
		return nil
	}
	if r.eta, err = r.Dataset("/eta"); err != nil {
		return err
	}
	if err := r.eta.Want("like /velocity", r.data.shape...); err != nil || !r.eta.Attrs().Has("origin") {
		return err
	}
	_, g, err := r.field("/eta")
	if err == nil && !g.Equal(r.grid) {
		err = inputError(r.path, r.eta.name, "lies on %s, %s; /velocity on %s, %s", g, g.Extent(), r.grid, r.grid.Extent())
	}
	return err
}

// Kind says what velocities the model holds: in depth interval velocities, in time what the attribute
// kind of /velocity says, or else root-mean-square ones.
func (r *ModelReader) Kind() VelocityKind { return r.kind }

// HasEta reports whether the file has /eta, beside velocities in time.
func (r *ModelReader) HasEta() bool { return r.eta != nil }

// ReadEta returns n values of /eta from number first on, like Read. They must be possible.
func (r *ModelReader) ReadEta(first, n int) ([]float64, error) {
	if err := checkMemory(r.path, r.eta.name, n, sizeOf[float64]()); err != nil {
		return nil, err
	}
	v := make([]float64, n)
	err := ReadAt(r.eta, v, first)
	if err == nil {
		_, err = r.checkEta(v, first)
	}
	return v, err
}

// LeastEta reads all of /eta, part by part, and returns the least value, compared with the
// digest in the same pass.
func (r *ModelReader) LeastEta() (least float64, err error) {
	least = math.Inf(1)
	var fault error
	err = eachPart(r.eta, func(first int, v []float64) {
		low, err := r.checkEta(v, first)
		fault, least = cmp.Or(fault, err), min(least, low)
	})
	return least, cmp.Or(err, fault)
}

// checkEta returns the least of values of η from number first on.
func (r *ModelReader) checkEta(v []float64, first int) (least float64, err error) {
	for i, eta := range v {
		if err := velocity.PossibleEta(eta); err != nil {
			return 0, inputError(r.path, r.eta.name, "at point %s: %w", pointText(r.grid, first+i), err)
		}
	}
	return slices.Min(v), nil
}
