package velocity

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// factors are m/s in one of each unit that velocities may be given in.
var factors = map[string]float64{"m/s": 1, "km/s": 1000, "ft/s": 0.3048}

// Factor is m/s in one of a unit, "m/s", "km/s" or "ft/s"; any other, such as "auto",
// counts as m/s.
func Factor(unit string) float64 {
	if f, ok := factors[unit]; ok {
		return f
	}
	return 1
}

// Unit is the unit that a text of an attribute means, "" for one that is not known.
func Unit(text string) string {
	text = strings.Join(strings.Fields(strings.ToLower(text)), " ")
	for _, u := range []struct{ length, unit string }{{"m|meter|meters|metre|metres", "m/s"}, {"km|kilometer|kilometers|kilometre|kilometres", "km/s"}, {"ft|foot|feet", "ft/s"}} {
		for _, l := range strings.Split(u.length, "|") {
			if rest, ok := strings.CutPrefix(text, l); ok && slices.Contains(perSecond, strings.TrimSpace(rest)) {
				return u.unit
			}
		}
	}
	return ""
}

var perSecond = []string{"/s", "/sec", "/second", "/ s", "s-1", "s^-1", "s**-1", ".s-1", "*s-1", "*s^-1", "per second"}

// Least and Most bound the velocities, m/s, with which anything is computed: times in
// them stay far from the ends of the numbers.
const (
	Least = 1e-6
	Most  = 1e9
)

// Velocities of rock in these units lie on the other side of these limits.
const (
	slowMetre     = 0.01  // below: slowness in s/m
	slowKilometre = 1.0   // below: slowness in s/km
	kilometres    = 20.0  // below: km/s
	feet          = 10000 // above: ft/s
	faster        = 30000 // above: not ft/s either
)

// Possible is an error for velocities, m/s, with which nothing can be computed.
func Possible(lo, hi float64) error {
	for _, v := range []float64{lo, hi} {
		if !(v >= Least && v <= Most) || math.IsNaN(v) {
			return fmt.Errorf("velocity is %.6g m/s, must be from %g to %g m/s", v, Least, Most)
		}
	}
	return nil
}

// Plausible is an error for velocities from lo to hi that are no rock's in m/s: it says
// what they look like.
func Plausible(lo, hi float64) error {
	like := ""
	switch {
	case hi < slowMetre:
		like = "slowness in s/m"
	case hi < slowKilometre:
		like = "slowness in s/km"
	case hi < kilometres:
		like = "km/s"
	case hi > faster:
		like = "no velocity of rock in any unit"
	case hi > feet:
		like = "ft/s"
	default:
		return nil
	}
	if lo == hi {
		return fmt.Errorf("%.6g m/s looks like %s", lo, like)
	}
	return fmt.Errorf("%.6g to %.6g m/s look like %s", lo, hi, like)
}
