package traveltime

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Spec names a method and what it works on.
type Spec struct {
	Method string // "analytic", "eikonal" or "table"

	Image grid.Grid // where the fields are wanted

	// The velocity: a model, or where that is nil one constant.
	Velocity []float64 // m/s, C order on Model
	Model    grid.Grid
	Constant float64 // m/s

	Tables     Rows // for "table"
	TablesGrid grid.Grid
}

// New returns the method of a specification. A constant velocity, given as such
// to the eikonal method, has straight rays: it is then solved as "analytic" is,
// and positions may lie anywhere.
func New(s Spec) (Method, error) {
	switch s.Method {
	case "table":
		if s.Tables == nil {
			return nil, fmt.Errorf("traveltime: method %q needs a table file", s.Method)
		}
		return NewTable(s.Tables, s.TablesGrid, s.Image)
	case "analytic":
		if s.Velocity == nil {
			return NewAnalytic(s.Constant, s.Image)
		}
		v := s.Velocity[0]
		for _, w := range s.Velocity {
			if w != v {
				return nil, fmt.Errorf("traveltime: method %q needs a constant velocity, the model has %g and %g m/s\nhint: use method = \"eikonal\"", s.Method, v, w)
			}
		}
		return NewAnalytic(v, s.Image)
	case "eikonal":
		if s.Velocity == nil {
			return NewAnalytic(s.Constant, s.Image)
		}
		return NewEikonal(s.Velocity, s.Model, s.Image)
	}
	return nil, fmt.Errorf("traveltime: method is %q, must be \"analytic\", \"eikonal\" or \"table\"", s.Method)
}
