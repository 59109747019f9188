package traveltime

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Rows reads given traveltime tables. It writes the table of one source or receiver row,
// in seconds and in C order of the table's grid, into dst. It is never called by two
// goroutines at once.
type Rows func(dst []float64, role survey.Role, row int) error

// Table is the method for given tables: one field per source and receiver row,
// used as it stands. The gradient is CentralGradient of the table.
type Table struct {
	placewise
	rows Rows
	mu   sync.Mutex // over rows
}

// NewTable returns the method for the tables on the grid tables, which must be
// the image grid: resampling times across their kinks is left to whoever made
// the tables.
func NewTable(rows Rows, tables, image grid.Grid) (*Table, error) {
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
	return &Table{placewise: placewise{"table", image}, rows: rows}, nil
}

// Solve implements Method. Every time must be finite and not negative.
func (m *Table) Solve(ctx context.Context, p *survey.Positions, places []int, opt Options, sink func(place int, f Field) error) error {
	return m.each(ctx, p, places, opt, func(r *room, place int) error {
		return m.fill(r.out, p.Role[place], int(p.Row[place]))
	}, sink)
}

func (m *Table) fill(f Field, role survey.Role, row int) error {
	m.mu.Lock()
	err := m.rows(f.Time, role, row)
	m.mu.Unlock()
	if err != nil {
		return fmt.Errorf("traveltime: table of %s %d: %w", role, row, err)
	}
	for i, t := range f.Time {
		if !(t >= 0) || math.IsInf(t, 0) {
			at := make([]float64, m.g.Dim())
			m.g.Point(at, i)
			return fmt.Errorf("traveltime: table of %s %d has %g s at %v m, must be finite and not negative", role, row, t, at)
		}
	}
	if f.Gradient != nil {
		CentralGradient(f.Gradient, f.Time, m.g)
	}
	return nil
}
