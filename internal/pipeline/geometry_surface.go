package pipeline

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
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
	return cosineRise(s.image.Coord(axis, point%nz)-s.Z[point/nz], s.taper, 1e-6*s.Cell)
}

// At is the topography's z at the horizontal position of p, linear between columns and
// constant beyond them; inside reports whether p lies above or below the image.
func (s *Surface) At(p []float64) (z float64, inside bool) {
	columns := columnsOf(s.image)
	return columns.At(p[:columns.Dim()], func(n int) float64 { return s.Z[n] }), columns.Contains(p)
}

// columnsOf returns the grid of an image's columns.
func columnsOf(g grid.Grid) grid.Grid {
	n := g.Dim() - 1
	return grid.Grid{Origin: g.Origin[:n], Spacing: g.Spacing[:n], Shape: g.Shape[:n]}
}

// findSurface finds the topography at the image's columns.
func findSurface(c config.Image, image grid.Grid, in *Inputs) (*Surface, error) {
	axis := image.Dim() - 1
	s := &Surface{image: image, taper: c.SurfaceTaper, Cell: image.Spacing[axis]}
	switch c.Surface {
	case "none":
		return nil, nil
	case "survey":
		s.Z = topography(in.Places, columnsOf(image), s.Cell)
	case "file":
		var err error
		if s.Z, err = givenSurface(c.SurfaceFile.File, in.Relief, image); err != nil {
			return nil, err
		}
	}
	top, bottom := image.Origin[axis], image.End(axis)
	if high := slices.Min(s.Z); high > bottom {
		return nil, status.Input(fmt.Errorf("image.surface: its highest point, z = %s m, lies below the image, which ends at %s m: nothing would be left", readable.Length(high), readable.Length(bottom)))
	}
	if slices.Max(s.Z)+c.SurfaceTaper <= top {
		return nil, nil // all above the image
	}
	return s, nil
}

// givenSurface is the surface of a file at the image's columns.
func givenSurface(file string, r Relief, image grid.Grid) ([]float64, error) {
	g, to := r.Grid, columnsOf(image)
	for a, name := range grid.AxisNames(image.Dim())[:to.Dim()] {
		slack := 1e-6 * g.Spacing[a]
		if to.Origin[a] < g.Origin[a]-slack || to.End(a) > g.End(a)+slack {
			return nil, status.Input(fmt.Errorf("%s: /surface covers %s %s to %s m, the image needs %s to %s m",
				file, name, readable.Length(g.Origin[a]), readable.Length(g.End(a)), readable.Length(to.Origin[a]), readable.Length(to.End(a))))
		}
	}
	z := make([]float64, to.Len())
	g.Interpolate(z, r.Z, to)
	return z, nil
}

// Mute is the mute of [data]: it gives zero weight to samples before a time that depends
// only on the offset.
type Mute struct {
	corners polyline // times, s, by offset, m; none: no mute
	taper   float64  // s
	t0, dt  float64  // of the traces, s
}

func newMute(d config.Data, s *survey.Survey) Mute {
	return Mute{polyline{d.MuteOffsets, d.MuteTimes}, d.MuteTaper, s.T0, s.DT}
}

// On reports whether there is one.
func (m Mute) On() bool { return len(m.corners.x) > 0 }

// Fill sets w to weight times those of a trace's samples: 0 before the mute's time,
// then rising as a cosine over the taper.
func (m Mute) Fill(w []float32, offset, weight float64) {
	if !m.On() {
		for n := range w {
			w[n] = float32(weight)
		}
		return
	}
	start := m.corners.value(offset)
	for n := range w {
		w[n] = float32(weight * cosineRise(m.t0+float64(n)*m.dt-start, m.taper, 1e-6*m.dt))
	}
}

// Silent returns how many of nt samples at an offset have zero weight.
func (m Mute) Silent(offset float64, nt int) int {
	if !m.On() {
		return 0
	}
	start := m.corners.value(offset)
	return sort.Search(nt, func(n int) bool { return cosineRise(m.t0+float64(n)*m.dt-start, m.taper, 1e-6*m.dt) > 0 })
}

// cosineRise is 0 below x = 0 and 1 from x = taper on, ½(1 − cos(πx/taper)) between. It
// takes an x within slack of 0 for 0.
func cosineRise(x, taper, slack float64) float64 {
	switch {
	case x < -slack:
		return 0
	case x >= taper-slack:
		return 1
	case x <= 0:
		return 0
	}
	return 0.5 - 0.5*math.Cos(math.Pi*x/taper)
}
