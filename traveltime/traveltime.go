package traveltime

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Field describes the waves of one position on a window of a grid.
type Field struct {
	Window   Window
	Branches []Branch // as many as Turned(method) has
}

// Branch is one arrival of the waves of a position, in C order of the points of its field's window.
// At a point without such an arrival, Time is +Inf and all other values are 0. Any further value of
// an arrival belongs here: takeBranch makes it, and each does with it what is done with all.
type Branch struct {
	Time []float64 // [points of the window], s

	// Gradient holds ∂T/∂x, (∂T/∂y,) ∂T/∂z, s/m, each like Time; nil unless requested.
	Gradient [][]float64

	// Spreading is the geometrical spreading b, like Time, at most MostSpreading times that of a
	// homogeneous medium; nil unless requested. Takeoff is the angle, in radians, between the
	// vertical and the ray as it leaves the position. A negative Spreading says that the wave has
	// turned by half a period more than Turned says.
	Spreading, Takeoff []float64

	home *home // T = R g τ; nil: T = R τ
}

// Options steer one call of Solve.
type Options struct {
	Gradient bool
	// Spreading and Takeoff ask for those of the fields. It is an error to ask where Spreads says
	// that the method does not have them.
	Spreading Spreading
	Takeoff   bool

	Threads  int    // workers; 0 means all processors
	Progress func() // called after each position, maybe from several goroutines at once; may be nil

	// Windows holds the needed part of Grid for each position, by its number; nil stands for
	// the whole grid everywhere. The window of a place that is solved must have at least one
	// column and lie inside the grid. Times cover only the window. A caller who takes
	// central differences of them needs one more column on each side.
	Windows []Window
	// Margin is the least distance, in m, between a place's window and the end of that part
	// of a velocity model in which its rays may run. It may be infinite: rays then run
	// anywhere in the model, as they do for a window of the whole grid. It needs Windows.
	Margin float64
}

// Method computes traveltime fields.
type Method interface {
	// Name is the method's name in the configuration.
	Name() string

	// Grid is the grid on which the fields are given.
	Grid() grid.Grid

	// Domain is the grid that every position must lie inside of; nil: anywhere.
	Domain() *grid.Grid

	// ScratchBytes is the memory, in bytes, that one worker of such a Solve holds.
	// Without Windows it depends only on opt.
	ScratchBytes(p *survey.Positions, places []int, opt Options) int64

	// Solve computes the fields of the chosen places and hands each to sink with its number
	// within p. Several goroutines may call the sink at once, in any order, each place
	// exactly once. The field is valid only during the call. Solve stops at the first error
	// of the sink or of ctx. It panics if a window is empty or reaches outside the grid.
	Solve(ctx context.Context, p *survey.Positions, places []int, opt Options, sink func(place int, f Field) error) error
}

// Solver is a method that finds times in a part of a velocity model for each place.
type Solver interface {
	Method
	// Region is the part of the model, Domain, that it reads for a place.
	Region(p *survey.Positions, place int, opt Options) Window
}

// Turned lists the branches of m's fields. For each it tells whether its waves have turned by a
// quarter of a period, as they do at each caustic that they pass. With H the Hilbert transform, H cos
// = sin, a pulse f arrives as −H f. Most methods have one branch, of waves that have not turned.
func Turned(m Method) []bool {
	if b, ok := m.(interface{ Turned() []bool }); ok {
		return b.Turned()
	}
	return []bool{false}
}

// Traced reports whether the fields of m are those of traced rays. They may end anywhere, and gradients
// are theirs alone: differences of times do not give them.
func Traced(m Method) bool {
	t, ok := m.(interface{ Traced() bool })
	return ok && t.Traced()
}

// Unequal reports whether the slownesses |∇T| of m at a point differ with the place that the
// waves come from: with their direction in an anisotropic medium, with the place's role for
// converted waves.
func Unequal(m Method) bool {
	u, ok := m.(interface{ unequal() bool })
	return ok && u.unequal()
}
