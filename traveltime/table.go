package traveltime

import (
	"fmt"
	"math"
	"sync"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Rows writes the given table of one source or receiver row, in seconds and in C order of
// the table's grid, into dst. It is never called by two goroutines at once.
type Rows func(dst []float64, role survey.Role, row int) error

// NewTable returns the method for given tables: one field per source and receiver row, used
// as it stands, with CentralGradient for the gradient. Their grid, tables, must be the
// image grid: resampling times across their kinks is left to whoever made the tables. Every
// time must be finite and not negative.
func NewTable(rows Rows, tables, image grid.Grid) (Method, error) {
	if rows == nil {
		panic("traveltime: no tables given")
	}
	if err := image.Validate(); err != nil {
		return nil, fmt.Errorf("traveltime: image: %w", err)
	}
	if !tables.Equal(image) {
		return nil, fmt.Errorf("traveltime: tables are given at %v from %v m, the image has %v from %v m: must be the same grid",
			tables, tables.Origin, image, image.Origin)
	}
	var mu sync.Mutex // over rows
	fill := func(f *Field, _ *room, p *survey.Positions, place int) error {
		role, row := p.Role[place], int(p.Row[place])
		mu.Lock()
		err := rows(f.Time, role, row)
		mu.Unlock()
		if err != nil {
			return fmt.Errorf("traveltime: table of %s %d: %w", role, row, err)
		}
		for i, t := range f.Time {
			if !(t >= 0) || math.IsInf(t, 0) {
				at := make([]float64, image.Dim())
				image.Point(at, i)
				return fmt.Errorf("traveltime: table of %s %d has %g s at %v m, must be finite and not negative", role, row, t, at)
			}
		}
		if f.Gradient != nil {
			CentralGradient(f.Gradient, f.Time, image)
		}
		f.crop(image)
		return nil
	}
	return &placewise{name: "table", g: image, whole: true, fill: fill}, nil
}

// crop moves a field of all of g to the front of its memory, on its window alone.
func (f *Field) crop(g grid.Grid) {
	n := g.Shape[g.Dim()-1]
	for a := range 1 + len(f.Gradient) {
		part := &f.Time
		if a > 0 {
			part = &f.Gradient[a-1]
		}
		row := 0
		for first := range f.Window.columns(g) {
			copy((*part)[row:row+n], (*part)[first:first+n])
			row += n
		}
		*part = (*part)[:row]
	}
}
