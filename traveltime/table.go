package traveltime

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Rows reads given traveltime tables. Row writes the table of one source or
// receiver row, in seconds and in C order of the table's grid, into dst. Row is
// never called by two goroutines at once.
type Rows interface {
	Row(dst []float64, role survey.Role, row int) error
}

// Table is the method for given tables: one field per source and receiver row,
// used as it stands. The gradient is CentralGradient of the table.
type Table struct {
	rows Rows
	g    grid.Grid
	mu   sync.Mutex // over rows
}

// NewTable returns the method for the tables on the grid tables, which must be
// the image grid: resampling times across their kinks is left to whoever made
// the tables.
func NewTable(rows Rows, tables, image grid.Grid) (*Table, error) {
	if rows == nil {
		panic("traveltime: no tables given")
	}
	for _, g := range []struct {
		name string
		g    grid.Grid
	}{{"tables", tables}, {"image", image}} {
		if err := g.g.Validate(); err != nil {
			return nil, fmt.Errorf("traveltime: %s: %w", g.name, err)
		}
	}
	if !tables.Equal(image) {
		return nil, fmt.Errorf("traveltime: tables are given at %v from %v m, the image has %v from %v m: must be the same grid",
			tables, tables.Origin, image, image.Origin)
	}
	return &Table{rows: rows, g: image}, nil
}

// Name implements Method.
func (m *Table) Name() string { return "table" }

// Grid implements Method.
func (m *Table) Grid() grid.Grid { return m.g }

// Domain implements Method: positions may lie anywhere, only their rows count.
func (m *Table) Domain() *grid.Grid { return nil }

// ScratchBytes implements Method.
func (m *Table) ScratchBytes(gradient bool) int64 { return fieldBytes(m.g, gradient) }

// Solve implements Method. Every time must be finite and not negative.
func (m *Table) Solve(ctx context.Context, p *survey.Positions, places []int, opt Options, sink func(place int, f Field) error) error {
	return eachPlace(ctx, m.g, p, places, opt, func(r *room, place int) error {
		return m.fill(r.out, p.Role[place], int(p.Row[place]))
	}, sink)
}

func (m *Table) fill(f Field, role survey.Role, row int) error {
	m.mu.Lock()
	err := m.rows.Row(f.Time, role, row)
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
