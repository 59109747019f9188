package traveltime

import "github.com/kirchhoff-lsm/lsm/survey"

// NewUnequal returns m as a method of unequal slownesses, see Unequal. Programs with methods of
// their own need it. rays does what Rays says; nil leaves rays along slownesses.
func NewUnequal(m Method, rays func(role survey.Role, slowness [][]float64, w Window)) Method {
	return &unequalMethod{m, rays}
}

type unequalMethod struct {
	Method
	turn func(role survey.Role, slowness [][]float64, w Window)
}

func (m *unequalMethod) unequal() bool { return true }

func (m *unequalMethod) spreads() bool { return Spreads(m.Method) }

func (m *unequalMethod) rays(role survey.Role, slowness [][]float64, w Window) {
	if m.turn != nil {
		m.turn(role, slowness, w)
	}
}
