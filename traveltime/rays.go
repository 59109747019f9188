package traveltime

import "github.com/kirchhoff-lsm/lsm/survey"

// Rays turns slowness vectors of a place with the given role into vectors of any length along
// its rays, in place: slowness holds ∂T/∂x, (∂T/∂y,) ∂T/∂z in s/m, each at the points of the
// window w of m's grid in C order. In an isotropic medium rays run along slownesses, and nothing
// changes.
func Rays(m Method, role survey.Role, slowness [][]float64, w Window) {
	if r, ok := m.(interface {
		rays(role survey.Role, slowness [][]float64, w Window)
	}); ok {
		r.rays(role, slowness, w)
	}
}
