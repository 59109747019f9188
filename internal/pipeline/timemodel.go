package pipeline

import (
	"cmp"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// checkDomain makes sure that a model has the domain and the kind of velocities that
// image.domain needs.
func checkDomain(file string, m *h5.ModelReader, cfg *config.Config) error {
	has, want := m.Grid().Domain.String(), cfg.Image.Domain
	switch {
	case has != want:
		return status.Hint(status.Input(fmt.Errorf("%s: /velocity lies in %s, image.domain is %q", file, has, want)),
			"lsm velocity --to converts a model between depth and time")
	case m.Grid().Domain == grid.Time && m.Kind() != h5.RMS:
		return status.Hint(status.Input(fmt.Errorf("%s: /velocity@kind is %q, an image in time needs %q", file, m.Kind(), h5.RMS)),
			"lsm velocity --to rms converts it")
	}
	return nil
}

// ReadWholeModel is ReadVelocity with all that is known of the velocities: their kind, in time η, and
// in depth ε and δ. The symmetry axis must then be vertical.
func ReadWholeModel(file, unit string) (*velocity.Model, error) {
	r, err := h5.OpenModel(file, unitOf(unit))
	if err != nil {
		return nil, FileError(err)
	}
	defer r.Close()
	m := &velocity.Model{Grid: r.Grid(), Kind: velocity.Kind(r.Kind())}
	least, greatest, err := r.Range() // which compares with the digest
	if err == nil {
		err = checkPlausible(file, unit, least, greatest)
	}
	if err == nil {
		m.V, err = r.Read(0, m.Grid.Len())
	}
	if err == nil {
		err = readUpright(r, m)
	}
	return m, FileError(err)
}

// readUpright reads what makes a model anisotropic. Its symmetry axis must be vertical.
func readUpright(r *h5.ModelReader, m *velocity.Model) error {
	if err := r.OpenAnisotropy(); err != nil {
		return err
	}
	least, greatest, err := r.PropertyRange(h5.Tilt)
	if tilt := cmp.Or(least, greatest); err == nil && tilt != 0 {
		err = status.Input(fmt.Errorf("%s: /tilt is %g degrees at a point, vertical times are known for 0 alone", r.Path(), tilt))
	}
	for p, to := range map[h5.Property]*[]float64{h5.Epsilon: &m.Epsilon, h5.Delta: &m.Delta, h5.Eta: &m.Eta} {
		if err == nil {
			*to, err = r.ReadProperty(p, 0, m.Grid.Len())
		}
	}
	return err
}
