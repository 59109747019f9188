package modelfile

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Write writes a model of velocities: float64 if the file's type needs it, otherwise float32. In
// the time domain they are of a kind.
func (m *Model) Write(path string, kind h5.VelocityKind, opt h5.WriteOptions) error {
	if err := counts.Fit(m.Path, 4*float64(len(m.Values))); err != nil {
		return err
	}
	if m.Wide {
		return writeModel(path, m.Grid, kind, m.Values, nil, opt)
	}
	return writeModel(path, m.Grid, kind, single(m.Values), nil, opt)
}

func writeModel[T float32 | float64](path string, g grid.Grid, kind h5.VelocityKind, v []T, beside []h5.Beside, opt h5.WriteOptions) error {
	if g.Domain == grid.Time {
		return h5.WriteTimeModel(path, g, kind, v, opt, beside...)
	}
	return h5.WriteModel(path, g, v, opt, beside...)
}

// single are values as float32.
func single(v []float64) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return out
}

// GridOf is the grid of a model file. It is an error if such a model cannot have the property.
func GridOf(path string, p h5.Property) (grid.Grid, error) {
	r, err := h5.OpenModel(path, "")
	if err != nil {
		return grid.Grid{}, err
	}
	defer r.Close()
	for _, may := range r.Properties() {
		if may == p {
			return r.Grid(), nil
		}
	}
	return r.Grid(), status.Input(fmt.Errorf("%s: a model in %s has no %v", path, r.Grid().Domain, p))
}

// WriteBeside writes the model file into, as it is, with a property that this model holds on
// the same grid. A property that is there already is replaced.
func (m *Model) WriteBeside(path, into string, p h5.Property, opt h5.WriteOptions) error {
	r, err := h5.OpenModel(into, "")
	if err != nil {
		return err
	}
	defer r.Close()
	g, n := r.Grid(), r.Grid().Len()
	if !g.Equal(m.Grid) {
		return m.fault("%v lies on %s, the model on %s", p, m.Grid, g)
	}
	if err := r.OpenAnisotropy(); err != nil {
		return err
	}
	held := []h5.Property{}
	for _, other := range r.Properties() {
		if other != p && r.Holds(other) {
			held = append(held, other)
		}
	}
	if err := counts.Fit(into, 8*float64(n)*float64(2+len(held))); err != nil {
		return err
	}
	beside := []h5.Beside{{Property: p, Values: m.Values}}
	for _, other := range held {
		v, err := r.ReadProperty(other, 0, n)
		if err != nil {
			return err
		}
		beside = append(beside, h5.Beside{Property: other, Values: v})
	}
	v, err := r.Read(0, n)
	if err != nil {
		return err
	}
	set, err := r.Dataset("/velocity")
	if err != nil {
		return err
	}
	if set.Type() == "float64" {
		return writeModel(path, g, r.Kind(), v, beside, opt)
	}
	return writeModel(path, g, r.Kind(), single(v), beside, opt)
}
