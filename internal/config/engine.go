package config

import "fmt"

// limitation is a key whose value some engines do not offer.
type limitation struct {
	key  string
	used bool   // the value is one of those
	by   string // the engines that offer it
}

// hostOnly is the one list of what engines cuda and hip do not offer.
func (c *Config) hostOnly() []limitation {
	k, both := c.Kirchhoff, "cpu and reference"
	return []limitation{
		{"image.gathers", c.Image.Gathers != "none", both},
		{tables, k.Tables == "coarse" || k.Tables == "recompute", "cpu"},
		{dipLimit, len(k.DipLimit) > 0, both},
		{openingLimit, len(k.OpeningLimit) > 0, both},
		{antialias, k.Antialias != "off", both},
		{"solver.preconditioner", c.Solver.Preconditioner == "diagonal", both},
	}
}

// engine refuses what the engine does not offer.
func (r *reader) engine() {
	const engine = "kirchhoff.engine"
	if !r.good(engine) {
		return
	}
	switch k := r.cfg.Kirchhoff; k.Engine {
	case "cuda", "hip":
		for _, l := range r.cfg.hostOnly() {
			if l.used && r.good(l.key) {
				r.clash(fmt.Sprintf("%s is not offered by kirchhoff.engine = %s, only by %s", r.cfg.Value(l.key), quote(k.Engine), l.by), l.key, engine)
			}
		}
	case "reference":
		if k.Tables != "auto" && k.Tables != "full" && r.good(tables) {
			r.note("not used by kirchhoff.engine = \"reference\", which has full tables only", tables)
		}
	}
}
