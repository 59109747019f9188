package config

import "github.com/kirchhoff-lsm/lsm/internal/velocity"

// velocity wants exactly one model, in units that fit it.
func (r *reader) velocity() {
	if !r.good("velocity.file", "velocity.constant") {
		return
	}
	v := &r.cfg.Velocity
	switch {
	case v.File.IsSet() && v.Constant > 0:
		r.clash("given beside velocity.file, want exactly one of the two", "velocity.constant", "velocity.file")
	case !v.File.IsSet() && v.Constant == 0:
		r.clash("missing, want exactly one of velocity.file (a path) and velocity.constant (a number above 0, in m/s)",
			"velocity.file", "velocity.constant")
	case v.Constant > 0 && r.good("velocity.units"):
		r.constant(v)
	}
}

// constant turns one velocity into m/s.
func (r *reader) constant(v *Velocity) {
	const key = "velocity.constant"
	si := v.Constant * velocity.Factor(v.Units)
	if err := velocity.Possible(si, si); err != nil {
		r.clash(err.Error(), key)
		return
	}
	if v.Units == "auto" {
		if err := velocity.Plausible(si, si); err != nil {
			r.clash(err.Error(), key)
			r.problems[len(r.problems)-1].Hint = UnitsHint
			return
		}
	}
	if v.Units != "auto" {
		v.Constant, v.Units = si, "m/s"
	}
}

// UnitsHint is what to do about velocities that do not look like m/s.
const UnitsHint = `velocity.units = "km/s" or "ft/s" converts, "m/s" takes them as they stand`
