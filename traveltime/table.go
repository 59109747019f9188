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
// unchanged, with CentralGradient for the gradient. Their grid, tables, must be the image
// grid: resampling times across their kinks is left to whoever made the tables. Every time
// must be finite and not negative.
func NewTable(rows Rows, tables, image grid.Grid) (Method, error) {
	if rows == nil {
		panic("traveltime: no tables given")
	}
	if err := checkTablesGrid(tables, image); err != nil {
		return nil, err
	}
	var mu sync.Mutex // over rows
	fill := func(b *Branch, w Window, r *room, place int) error {
		role, row := r.p.Role[place], int(r.p.Row[place])
		mu.Lock()
		err := rows(b.Time, role, row)
		mu.Unlock()
		if err != nil {
			return fmt.Errorf("traveltime: table of %s %d: %w", role, row, err)
		}
		for i, t := range b.Time {
			if !(t >= 0) || math.IsInf(t, 0) {
				at := make([]float64, image.Dim())
				image.Point(at, i)
				return fmt.Errorf("traveltime: table of %s %d has %g s at %v m, must be finite and not negative", role, row, t, at)
			}
		}
		if b.Gradient != nil {
			CentralGradient(b.Gradient, b.Time, image)
		}
		*b = b.each(func(v []float64) []float64 { return w.crop(v, image) })
		return nil
	}
	return &placewise{name: "table", g: image, whole: true, fill: fill}, nil
}

// checkTablesGrid returns an error if tables are not given on the image's grid.
func checkTablesGrid(tables, image grid.Grid) error {
	if err := image.Validate(); err != nil {
		return fmt.Errorf("traveltime: image: %w", err)
	}
	if !tables.Equal(image) {
		return fmt.Errorf("traveltime: tables are given at %v from %v m, the image has %v from %v m: must be the same grid",
			tables, tables.Origin, image, image.Origin)
	}
	return nil
}

// crop moves the values of all of g that lie in w to the front of v.
func (w Window) crop(v []float64, g grid.Grid) []float64 {
	row, n := 0, g.Shape[g.Dim()-1]
	for first := range w.Columns(g) {
		row += copy(v[row:row+n], v[first:first+n])
	}
	return v[:row]
}

// CentralGradient writes the gradient of the field t on the grid g into dst, one slice of
// g.Len() values per axis, in units of t per metre. It uses second-order central
// differences inside and first-order one-sided differences at both ends of an axis, all
// with the true spacing. This is numpy.gradient's default, which the Kirchhoff weights of
// given tables are defined by. Along an axis of one point the derivative is zero.
//
// It panics if a slice has the wrong length; dst must not overlap t.
func CentralGradient(dst [][]float64, t []float64, g grid.Grid) {
	if len(t) != g.Len() || len(dst) != g.Dim() {
		panic(fmt.Sprintf("traveltime: field of %d values with %d derivatives on a grid of %v", len(t), len(dst), g))
	}
	stride := g.Strides()
	for a, n := range g.Shape {
		if len(dst[a]) != len(t) {
			panic(fmt.Sprintf("traveltime: gradient part %d has %d values, the grid %d points", a, len(dst[a]), len(t)))
		}
		differences(dst[a], t, n, stride[a], g.Spacing[a])
	}
}

// differences takes the derivative along one axis of n points that lie inner
// elements apart. It reads t about twice and writes dst once.
func differences(dst, t []float64, n, inner int, h float64) {
	if n == 1 {
		clear(dst)
		return
	}
	block := n * inner
	for at := 0; at < len(t); at += block {
		src, out := t[at:at+block], dst[at:at+block]
		last := block - inner
		for j := range inner {
			out[j] = (src[inner+j] - src[j]) / h
			out[last+j] = (src[last+j] - src[last-inner+j]) / h
		}
		for j := inner; j < last; j++ {
			out[j] = (src[j+inner] - src[j-inner]) / (2 * h)
		}
	}
}
