package inputs

import (
	"fmt"
	"math"
	"slices"

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
	case m.Grid().Domain == grid.Time && m.Kind() != velocity.RMS:
		return status.Hint(status.Input(fmt.Errorf("%s: /velocity@kind is %q, an image in time needs %q", file, m.Kind(), velocity.RMS)),
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

// ReadWholeModel is ReadVelocity with all that is known of the velocities.
func ReadWholeModel(file, unit string) (*velocity.Model, error) {
	m, err := h5.ReadWholeModel(file, unitOf(unit))
	if err == nil {
		err = plausible(file, unit, slices.Min(m.V), slices.Max(m.V))
	}
	return m, FileError(err)
}
