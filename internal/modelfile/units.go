package modelfile

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// valueUnits are the units of velocities, slownesses and squared slownesses: a velocity in m/s
// is factor · value^power.
var valueUnits = []struct {
	name   string
	factor float64
	power  float64
}{
	{"m/s", 1, 1}, {"km/s", 1000, 1}, {"ft/s", 0.3048, 1},
	{"s/m", 1, -1}, {"s/km", 1000, -1}, {"s2/m2", 1, -0.5}, {"s2/km2", 1000, -0.5},
}

// perLength are the spellings of slownesses and their squares.
var perLength = regexp.MustCompile(`^s(?:ec)?(\^2|\*\*2|2|²)?/(k?m)(\^2|\*\*2|2|²)?$`)

// ValueUnit is the unit of velocities that a text means: one of m/s, km/s, ft/s, s/m, s/km,
// s2/m2 and s2/km2; "" for any other.
func ValueUnit(text string) string {
	if unit := velocity.Unit(text); unit != "" {
		return unit
	}
	text = strings.ToLower(strings.Join(strings.Fields(text), ""))
	m := perLength.FindStringSubmatch(text)
	switch {
	case m == nil || (m[1] == "") != (m[3] == ""):
		return ""
	case m[1] == "":
		return "s/" + m[2]
	}
	return "s2/" + m[2] + "2"
}

// inMetres is the velocity in m/s that a value in a unit stands for.
func inMetres(unit string, v float64) float64 {
	for _, u := range valueUnits {
		if u.name != unit {
			continue
		}
		switch u.power {
		case 1:
			return u.factor * v
		case -1:
			return u.factor / v
		}
		return u.factor / math.Sqrt(v)
	}
	return math.NaN()
}

// inUnit is the value in a unit that stands for a velocity in m/s.
func inUnit(unit string, v float64) float64 {
	for _, u := range valueUnits {
		if u.name == unit {
			switch u.power {
			case 1:
				return v / u.factor
			case -1:
				return u.factor / v
			}
			return u.factor / v * (u.factor / v)
		}
	}
	return math.NaN()
}

// unitNames lists the units of velocities.
func unitNames() (names []string) {
	for _, u := range valueUnits {
		names = append(names, u.name)
	}
	return names
}

// propertyUnits are the units of properties and their factors.
func propertyUnits(p h5.Property) map[string]float64 {
	if p.Unit() != "" {
		return map[string]float64{"degrees": 1, "degree": 1, "deg": 1, "radians": 180 / math.Pi, "radian": 180 / math.Pi, "rad": 180 / math.Pi}
	}
	return map[string]float64{"1": 1, "fraction": 1, "%": 0.01, "percent": 0.01}
}

// checkUnits refuses a unit that the values cannot have.
func (o *Options) checkUnits() error {
	switch {
	case o.Units == "" || o.Units == "auto":
		return nil
	case o.velocity():
		if !slices.Contains(unitNames(), o.Units) {
			return fmt.Errorf("unit of velocities is %q, want one of %s", o.Units, strings.Join(unitNames(), ", "))
		}
		return nil
	}
	p, err := o.property()
	if err == nil && propertyUnits(p)[o.Units] == 0 {
		err = fmt.Errorf("unit of %v is %q, want %s", p, o.Units, map[bool]string{true: "degrees or radians", false: "1 or %"}[p.Unit() != ""])
	}
	return err
}

// Velocities of rock, m/s: those of a model lie between the first two, and its greatest is
// at least the third.
const (
	slowRock   = 250.0
	fastRock   = 10000.0
	leastModel = 1400.0

	fastest = 30000.0 // above: no velocity in any unit
	slowest = 20.0    // below: not m/s or ft/s
)

// guessUnit finds the unit of velocities from least to greatest. lengths is the unit of the
// coordinates, "" where it is not known.
func guessUnit(least, greatest float64, lengths string) (string, error) {
	feet := lengths == "ft" || lengths == "kft" || lengths == "us-ft"
	switch {
	case greatest > fastest:
		return "", fmt.Errorf("values of %.6g to %.6g are not velocities of rock in any unit", least, greatest)
	case greatest >= slowest && least < slowest:
		return "", fmt.Errorf("values of %.6g and %.6g side by side cannot both be velocities of rock in one unit", least, greatest)
	case greatest > fastRock:
		return "ft/s", nil
	case greatest >= slowest && feet:
		return "", fmt.Errorf("values of %.6g to %.6g with coordinates in feet may be ft/s or m/s", least, greatest)
	case greatest >= slowest:
		return "m/s", nil
	}
	var fit []string
	for _, u := range valueUnits {
		a, b := inMetres(u.name, least), inMetres(u.name, greatest)
		if lo, hi := min(a, b), max(a, b); lo >= slowRock && hi <= fastRock && hi >= leastModel {
			fit = append(fit, u.name)
		}
	}
	switch len(fit) {
	case 0:
		return "", fmt.Errorf("values of %.6g to %.6g are not velocities of rock in any of %s", least, greatest, strings.Join(unitNames(), ", "))
	case 1:
		return fit[0], nil
	}
	return "", fmt.Errorf("values of %.6g to %.6g may be %s", least, greatest, strings.Join(fit, " or "))
}

// convert makes m/s of velocities, or fractions and degrees of properties.
func (m *Model) convert(opt Options, stated, lengths string) error {
	for i, v := range m.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) || opt.velocity() && !(v > 0) {
			want := map[bool]string{true: "positive and finite", false: "finite"}[opt.velocity()]
			return m.fault("is %g at %s, must be %s: --crop leaves parts out", v, m.place(i), want)
		}
	}
	m.Least, m.Greatest = slices.Min(m.Values), slices.Max(m.Values)
	if !opt.velocity() {
		return m.convertProperty(opt, stated)
	}
	has := ValueUnit(stated)
	switch wanted := strings.TrimPrefix(opt.Units, "auto"); {
	case wanted != "" && has != "" && wanted != has:
		said, err := opt.against(m.Path, "the file says that values are in %s, but %s is requested", has, wanted)
		if err != nil {
			return err
		}
		m.Guesses = append(m.Guesses, said)
		m.Unit = wanted
	case wanted != "":
		m.Unit = wanted
	case has != "":
		m.Unit = has
		m.note("values are in %s, as the file says", has)
	default:
		if stated != "" {
			m.guess("unit of the values is %q, which says nothing here", stated)
		}
		unit, err := guessUnit(m.Least, m.Greatest, lengths)
		if err != nil {
			return status.Hint(m.fault("%w", err), "--units gives their unit")
		}
		m.Unit = unit
		m.guess("values of %.6g to %.6g are taken for %s", m.Least, m.Greatest, unit)
	}
	for i, v := range m.Values {
		m.Values[i] = inMetres(m.Unit, v)
		if err := velocity.Possible(m.Values[i]); err != nil {
			return m.fault("at %s: %w", m.place(i), err)
		}
	}
	m.plausible()
	return nil
}

// plausible warns of velocities that look like those of another unit.
func (m *Model) plausible() {
	a, b := inMetres(m.Unit, m.Least), inMetres(m.Unit, m.Greatest)
	if err := velocity.Plausible(min(a, b), max(a, b)); err != nil {
		m.guess("as %s, %v", m.Unit, err)
	}
}

func (m *Model) convertProperty(opt Options, stated string) error {
	p, err := opt.property()
	if err != nil {
		return status.Usage(err)
	}
	all := propertyUnits(p)
	unit := strings.ToLower(stated)
	if has := ValueUnit(stated); has != "" {
		return m.fault("the file says that values are in %s, which is no unit of %v", has, p)
	}
	if opt.Units != "" && opt.Units != "auto" {
		if all[unit] != 0 && all[unit] != all[opt.Units] {
			said, err := opt.against(m.Path, "the file says that values are in %s, but %s is requested", unit, opt.Units)
			if err != nil {
				return err
			}
			m.Guesses = append(m.Guesses, said)
		}
		unit = opt.Units
	}
	if m.Unit = unit; all[unit] == 0 {
		if m.Unit, err = m.guessProperty(p); err != nil {
			return status.Hint(m.fault("%w", err), "--units gives their unit")
		}
	}
	if f := all[m.Unit]; f != 1 {
		for i := range m.Values {
			m.Values[i] *= f
		}
	}
	if err := p.Admit(m.Grid, m.Values); err != nil {
		err = m.fault("%v %w", p, err)
		if all[unit] == 0 && p.Unit() == "" {
			err = status.Hint(err, "--units % makes fractions of per cent")
		}
		return err
	}
	return nil
}

// Values of properties in the other unit lie on the other side of these limits.
const (
	mostTilt     = math.Pi * (1 + 1e-6)     // above: no tilt in radians
	mostAzimuth  = 2 * math.Pi * (1 + 1e-6) // above: no azimuth in radians
	leastPercent = 1.0                      // below: no anisotropy worth a model, in per cent
)

// guessProperty finds the unit of a property, if the values can have one alone, or the file's layout has
// one by convention.
func (m *Model) guessProperty(p h5.Property) (string, error) {
	size := max(math.Abs(m.Least), math.Abs(m.Greatest))
	unit, other := "1", "%"
	both := size >= leastPercent
	if p.Unit() != "" {
		unit, other = "degrees", "radians"
		both = size > 0 && size <= map[h5.Property]float64{h5.Tilt: mostTilt, h5.Azimuth: mostAzimuth}[p]
	}
	if p.Admit(m.Grid, []float64{m.Least, m.Greatest}) != nil {
		both = false // and the values are refused
	}
	name := map[string]string{"1": "fractions", "%": "per cent"}
	switch {
	case both && m.usual == other:
		m.note("values are in %s, as such files have them", other)
		return other, nil
	case both:
		return "", fmt.Errorf("values of %.6g to %.6g may be %s or %s", m.Least, m.Greatest, cmp.Or(name[unit], unit), cmp.Or(name[other], other))
	}
	m.guess("values of %.6g to %.6g are taken for %s", m.Least, m.Greatest, cmp.Or(name[unit], unit))
	return unit, nil
}

// guessLength finds the unit of lengths of an extent, beside velocities of a unit ("" where it
// is not known yet): a model of rock is some 100 m to 1000 km large.
func guessLength(extent float64, values string) (string, error) {
	kilometres := values == "km/s" || values == "s/km" || values == "s2/km2"
	switch {
	case extent >= 1000:
		return "m", nil
	case extent >= 100 && !kilometres:
		return "m", nil
	case extent < 100 && kilometres:
		return "km", nil
	}
	return "", fmt.Errorf("coordinates reach over %.6g, which may be m or km", extent)
}
