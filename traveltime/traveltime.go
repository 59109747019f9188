package traveltime

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Field is the traveltime field of one position on a grid, in C order.
type Field struct {
	Time []float64 // [grid.Len()], s

	// Gradient holds ∂T/∂x, (∂T/∂y,) ∂T/∂z, s/m, each [grid.Len()]; nil unless asked for.
	Gradient [][]float64
}

// Options steer one call of Solve.
type Options struct {
	Gradient bool
	Threads  int    // workers; 0 means all processors
	Progress func() // called after each position, maybe from several goroutines at once; may be nil
}

// Method computes traveltime fields.
type Method interface {
	// Name is the method's name in the configuration.
	Name() string

	// Grid is the grid on which the fields are given.
	Grid() grid.Grid

	// Domain is the grid that every position must lie inside of; nil: anywhere.
	Domain() *grid.Grid

	// ScratchBytes estimates the memory, in bytes, that one worker of Solve holds.
	ScratchBytes(gradient bool) int64

	// Solve computes the fields of the chosen places and hands each to sink
	// with its number within p. The sink may be called from several goroutines
	// at once, in any order, each place exactly once; the field is valid only
	// during the call. Solve stops at the first error of the sink or of ctx.
	Solve(ctx context.Context, p *survey.Positions, places []int, opt Options, sink func(place int, f Field) error) error
}
