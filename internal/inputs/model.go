package inputs

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// readVelocity opens the velocity model. Rank 0 finds for all ranks what they need to know
// of the whole.
func (in *Inputs) readVelocity(r Ranks, cfg *config.Config) (err error) {
	in.Slowest = in.Velocity.Constant
	if !cfg.Velocity.File.IsSet() {
		return nil
	}
	file := cfg.Velocity.File.File
	in.model, err = h5.OpenModel(file, unitOf(cfg.Velocity.Units))
	if err == nil {
		if g := in.model.Grid(); g.Dim() != in.Survey.Dim {
			err = status.Input(fmt.Errorf("%s: velocity has %d axes, the survey's positions have %d columns", file, g.Dim(), in.Survey.Dim))
		}
	}
	if err == nil {
		err = checkDomain(file, in.model, cfg)
	}
	if err := r.Together(err); err != nil {
		return err
	}
	type speeds struct{ Least, Greatest, Slowest float64 }
	found, err := First(&r, func() (s speeds, err error) {
		if s.Least, s.Greatest, err = in.model.Range(); err == nil {
			err = plausible(file, cfg.Velocity.Units, s.Least, s.Greatest)
		}
		if err == nil {
			s.Slowest, err = in.slowest(cfg, s.Least)
		}
		if err == nil && in.model.HasEta() {
			err = in.slowestInTime(&s.Slowest)
		}
		return s, err
	})
	if err != nil {
		return err
	}
	in.model.Trust()
	all, err := comm.GatherJSON(r.World.Host().AllGather, found)
	if err != nil {
		return err
	}
	in.Velocity.Grid, in.Velocity.Least, in.Velocity.Greatest, in.Slowest = in.model.Grid(), all[0].Least, all[0].Greatest, all[0].Slowest
	return nil
}

// slabBytes is about how much of the model is read at a time to find the slowest point.
const slabBytes = 1 << 20

// slowest is the least velocity at the image's points, where least is that of the model. It
// is least for an image on the model's grid, or where nothing needs to be known.
func (in *Inputs) slowest(cfg *config.Config, least float64) (float64, error) {
	m := traveltime.Medium{Grid: in.model.Grid()}
	g := cfg.Image.Grid()
	if cfg.Kirchhoff.Antialias == "off" || !cfg.Image.IsSet() || !g.Inside(m.Grid) || g.Equal(m.Grid) {
		return least, nil
	}
	var all []float64
	n := g.Shape[0]
	step := max(1, n*slabBytes/(8*max(g.Len(), m.Grid.Len())))
	for lo := 0; lo < n; lo += step {
		slab := [2]int{lo, min(lo+step, n)}
		m, err := in.readSlab(m, m.Below(g, slab))
		if err != nil {
			return 0, err
		}
		all = append(all, slices.Min(m.On(g, slab)))
	}
	return slices.Min(all), nil
}

// ReadSlab returns Velocity with the values at the indices [slab[0], slab[1]) along the
// model's first axis, read from its file. It returns a constant as it is.
func (in *Inputs) ReadSlab(slab [2]int) (traveltime.Medium, error) {
	if in.Velocity.IsConstant() {
		return in.Velocity, nil
	}
	return in.readSlab(in.Velocity, slab)
}

func (in *Inputs) readSlab(m traveltime.Medium, slab [2]int) (traveltime.Medium, error) {
	v, err := in.model.Read(slab[0]*m.Plane(), (slab[1]-slab[0])*m.Plane())
	m.Slab, m.Values = slab, v
	if err == nil && in.model.HasEta() {
		m.Eta, err = in.model.ReadEta(slab[0]*m.Plane(), (slab[1]-slab[0])*m.Plane())
	}
	return m, FileError(err)
}

// ReadVelocity reads a velocity model and returns it in m/s. unit is as in
// velocity.units. With "auto" it is an error if the velocities do not look like m/s.
func ReadVelocity(file, unit string) (grid.Grid, []float64, error) {
	g, v, err := h5.ReadModelIn(file, unitOf(unit))
	if err == nil {
		err = plausible(file, unit, slices.Min(v), slices.Max(v))
	}
	return g, v, FileError(err)
}

// unitOf is the unit that velocity.units gives; "" leaves it to the file.
func unitOf(units string) string {
	if units == "auto" {
		return ""
	}
	return units
}

// plausible is an error if velocities in m/s, in a file without a given unit, do not look
// like them.
func plausible(file, units string, least, greatest float64) error {
	if unitOf(units) != "" {
		return nil
	}
	if err := velocity.Plausible(least, greatest); err != nil {
		return status.Hint(status.Input(fmt.Errorf("%s: /velocity: %w", file, err)), config.UnitsHint)
	}
	return nil
}
