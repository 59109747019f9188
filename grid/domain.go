package grid

import (
	"fmt"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// Domain says what the last axis of a grid is.
type Domain int

const (
	Depth Domain = iota // z, m
	Time                // two-way vertical time, s
)

// String is the domain's name in files and configurations, "depth" or "time".
func (d Domain) String() string {
	if d == Time {
		return "time"
	}
	return "depth"
}

// ParseDomain returns the domain of that name.
func ParseDomain(name string) (Domain, error) {
	for _, d := range []Domain{Depth, Time} {
		if d.String() == name {
			return d, nil
		}
	}
	return Depth, fmt.Errorf("domain is %q, must be %q or %q", name, Depth, Time)
}

// AxisName is the name of an axis: x, y or z, or time.
func (g Grid) AxisName(axis int) string {
	if g.Domain == Time && axis == g.Dim()-1 {
		return "time"
	}
	return AxisNames(g.Dim())[axis]
}

// Unit is the unit of an axis, "m" or "s".
func (g Grid) Unit(axis int) string {
	if g.Domain == Time && axis == g.Dim()-1 {
		return "s"
	}
	return "m"
}

// Text writes a coordinate on an axis, without its unit.
func (g Grid) Text(axis int, v float64) string {
	if g.Unit(axis) == "s" {
		return readable.Time(v)
	}
	return readable.Length(v)
}

// Extent says where the grid lies, such as "x [0, 4000] × z [0, 3000] m" or
// "x [0, 4000] m × time [0, 2] s", and in which frame, if it has one.
func (g Grid) Extent() string {
	text := g.each(" × ", func(a int) string {
		return fmt.Sprintf("%s [%s, %s]", g.AxisName(a), g.Text(a, g.Origin[a]), g.Text(a, g.End(a)))
	})
	if g.Frame != nil {
		text += ", " + g.Frame.String()
	}
	return text
}

// Place writes a position on the grid, such as "(120, 40 m)" or "(120 m, 0.4 s)".
func (g Grid) Place(p []float64) string {
	return "(" + g.each(", ", func(a int) string { return g.Text(a, p[a]) }) + ")"
}

// each joins the texts of the axes. A unit follows an axis if the next axis has another.
func (g Grid) each(separator string, text func(axis int) string) string {
	parts := make([]string, g.Dim())
	for a := range parts {
		parts[a] = text(a)
		if a == g.Dim()-1 || g.Unit(a) != g.Unit(a+1) {
			parts[a] += " " + g.Unit(a)
		}
	}
	return strings.Join(parts, separator)
}
