package inputs

import (
	"fmt"
	"math"

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

// HasEta reports whether the model of an image in time has η.
func (in *Inputs) HasEta() bool { return in.model != nil && in.model.HasEta() }

// slowestInTime lowers the least velocity to that with which waves may move sideways: far away
// they move with v sqrt(1 + 2η).
func (in *Inputs) slowestInTime(slowest *float64) error {
	least, err := in.model.LeastEta()
	*slowest *= math.Sqrt(1 + 2*min(least, 0))
	return err
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
		err = plausible(file, unit, least, greatest)
	}
	if err == nil {
		m.V, err = r.Read(0, m.Grid.Len())
	}
	if err == nil && r.HasEta() {
		m.Eta, err = r.ReadEta(0, m.Grid.Len())
	}
	if err != nil || m.Grid.Domain == grid.Time {
		return m, FileError(err)
	}
	var tilt []float64
	for _, p := range []struct {
		name  string
		least float64
		to    *[]float64
	}{{"/epsilon", -0.5, &m.Epsilon}, {"/delta", -0.5, &m.Delta}, {"/tilt", math.Inf(-1), &tilt}} {
		if *p.to, err = r.Parameter(p.name, p.least); err != nil {
			return nil, FileError(err)
		}
	}
	for _, v := range tilt {
		if v != 0 {
			return nil, status.Input(fmt.Errorf("%s: /tilt is %g degrees at a point, vertical times are known for 0 alone", file, v))
		}
	}
	return m, nil
}
