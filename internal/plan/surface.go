package plan

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Surface is the topography. The image is m = S x with S a diagonal: 0 above the
// topography, rising to 1 below it. The solver finds x, migration gives S Aᵀ d and
// modelling A S m.
type Surface struct {
	Z     []float64 // m, at the image's columns
	Cell  float64   // m, the image's spacing along z
	image grid.Grid
	taper float64 // m
}

// Weight is the element of S at an image point.
func (s *Surface) Weight(point int) float64 {
	axis := s.image.Dim() - 1
	nz := s.image.Shape[axis]
	return rise(s.image.Coord(axis, point%nz)-s.Z[point/nz], s.taper, 1e-6*s.Cell)
}

// At is the topography's z at the horizontal position of p, linear between columns and
// constant beyond them; inside reports whether p lies above or below the image.
func (s *Surface) At(p []float64) (z float64, inside bool) {
	columns := columns(s.image)
	n := columns.Dim()
	at := grid.Grid{Origin: p[:n], Spacing: columns.Spacing, Shape: slices.Repeat([]int{1}, n)}
	var v [1]float64
	columns.Interpolate(v[:], s.Z, at)
	return v[0], columns.Contains(p)
}

// columns is the grid of an image's columns.
func columns(g grid.Grid) grid.Grid {
	n := g.Dim() - 1
	return grid.Grid{Origin: g.Origin[:n], Spacing: g.Spacing[:n], Shape: g.Shape[:n]}
}

// findSurface finds the topography at the image's columns.
func (p *Plan) findSurface() error {
	c, axis := p.Config.Image, p.Image.Dim()-1
	s := &Surface{image: p.Image, taper: c.SurfaceTaper, Cell: p.Image.Spacing[axis]}
	switch c.Surface {
	case "none":
		return nil
	case "survey":
		s.Z = topography(p.Places, columns(p.Image), s.Cell)
	case "file":
		var err error
		if s.Z, err = p.givenSurface(); err != nil {
			return err
		}
	}
	top, bottom := p.Image.Origin[axis], p.Image.End(axis)
	if high := slices.Min(s.Z); high > bottom {
		return status.Input(fmt.Errorf("image.surface: its highest point, z = %s m, lies below the image, which ends at %s m: nothing would be left", readable.Length(high), readable.Length(bottom)))
	}
	p.Surface = s
	if slices.Max(s.Z)+c.SurfaceTaper <= top {
		p.Surface = nil // all above the image
	}
	return nil
}

// givenSurface is the surface of a file at the image's columns.
func (p *Plan) givenSurface() ([]float64, error) {
	g, to := p.Relief.Grid, columns(p.Image)
	for a, name := range grid.AxisNames(p.Image.Dim())[:to.Dim()] {
		slack := 1e-6 * g.Spacing[a]
		if to.Origin[a] < g.Origin[a]-slack || to.End(a) > g.End(a)+slack {
			return nil, status.Input(fmt.Errorf("%s: /surface covers %s %s to %s m, the image needs %s to %s m",
				p.Config.Image.SurfaceFile.File, name, readable.Length(g.Origin[a]), readable.Length(g.End(a)), readable.Length(to.Origin[a]), readable.Length(to.End(a))))
		}
	}
	z := make([]float64, to.Len())
	g.Interpolate(z, p.Relief.Z, to)
	return z, nil
}
