package job

import (
	"context"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// The image is m = S x with S a diagonal: 0 above the topography, rising to 1 below
// it. The solver finds x, migration gives S Aᵀ d and modelling A S m.

// horizontal is the grid of the image's columns.
func (j *Job) horizontal() grid.Grid {
	n := j.Image.Dim() - 1
	return grid.Grid{Origin: j.Image.Origin[:n], Spacing: j.Image.Spacing[:n], Shape: j.Image.Shape[:n]}
}

// loadSurface finds the topography's z at the image's columns.
func (j *Job) loadSurface() error {
	c := j.Config.Image
	switch c.Surface {
	case "none":
		return nil
	case "survey":
		defer j.report.Time("surface")()
		j.surface = topography(j.Places, j.horizontal(), j.cell())
	case "file":
		if err := j.readSurface(); err != nil {
			return err
		}
	}
	z := j.Image.Dim() - 1
	top, bottom := j.Image.Origin[z], j.Image.End(z)
	if high := slices.Min(j.surface); high > bottom {
		return status.Input(fmt.Errorf("image.surface: its highest point, z = %s m, lies below the image, which ends at %s m: nothing would be left", readable.Length(high), readable.Length(bottom)))
	}
	if slices.Max(j.surface)+c.SurfaceTaper <= top {
		j.surface = nil // all above the image
	}
	return nil
}

func (j *Job) readSurface() error {
	path := j.Config.Image.SurfaceFile
	g, z, err := h5.ReadSurface(path.File, j.Image.Dim())
	if err != nil {
		return err
	}
	h := j.horizontal()
	for a, name := range grid.AxisNames(j.Image.Dim())[:h.Dim()] {
		slack := 1e-6 * g.Spacing[a]
		if h.Origin[a] < g.Origin[a]-slack || h.End(a) > g.End(a)+slack {
			return status.Input(fmt.Errorf("%s: /surface covers %s %s to %s m, the image needs %s to %s m",
				path.File, name, readable.Length(g.Origin[a]), readable.Length(g.End(a)), readable.Length(h.Origin[a]), readable.Length(h.End(a))))
		}
	}
	j.surface = make([]float64, h.Len())
	g.Interpolate(j.surface, z, h)
	return nil
}

// cell is the image's spacing along z.
func (j *Job) cell() float64 { return j.Image.Spacing[j.Image.Dim()-1] }

// surfaceAt is the topography's z at the horizontal position of p, linear between
// columns and constant beyond them.
func (j *Job) surfaceAt(p []float64) float64 {
	n := j.Image.Dim() - 1
	at := grid.Grid{Origin: p[:n], Spacing: j.Image.Spacing[:n], Shape: slices.Repeat([]int{1}, n)}
	var z [1]float64
	j.horizontal().Interpolate(z[:], j.surface, at)
	return z[0]
}

// aboveSurface counts the positions, at columns of the image, more than a cell above
// the topography, and gives the number and height, m, of the highest above it.
func (j *Job) aboveSurface() (count, highest int, height float64) {
	z := j.Image.Dim() - 1
	for i := range j.Places.Len() {
		p := j.Places.At(i)
		if !j.horizontal().Contains(p) {
			continue
		}
		h := j.surfaceAt(p) - p[z]
		if h > 1.001*j.cell() {
			count++
		}
		if h > height {
			highest, height = i, h
		}
	}
	return count, highest, height
}

// below is the diagonal of S, nil where it is the identity.
func (j *Job) below(l *dist.Layout) (*dist.Vector, error) {
	if j.surface == nil || j.s != nil {
		return j.s, nil
	}
	v, err := j.columns(l, func(z, surface float64) float64 {
		return rise(z-surface, j.Config.Image.SurfaceTaper, 1e-6*j.cell())
	})
	j.s = v
	return v, err
}

// columns is an image vector of the values of f at every point's z and the z of the
// topography there, the same for each class.
func (j *Job) columns(l *dist.Layout, f func(z, surface float64) float64) (*dist.Vector, error) {
	if l.Parts != nil {
		one, err := j.columns(l.Parts[0], f)
		return &dist.Vector{Layout: l, Parts: slices.Repeat([]*dist.Vector{one}, len(l.Parts))}, err
	}
	v, err := dist.NewVector(j.Device, l)
	if err != nil {
		return nil, err
	}
	axis := j.Image.Dim() - 1
	nz := j.Image.Shape[axis]
	w := make([]float32, l.N)
	for n := range w {
		at := l.Off + n
		w[n] = float32(f(j.Image.Coord(axis, at%nz), j.surface[at/nz]))
	}
	return v, device.Upload(v.Buf, w)
}

// leastStart is the least weight of S at which the start model is not left at zero.
const leastStart = 1e-3

// keepBelow changes variables to x, the image being S x.
func (j *Job) keepBelow(_ context.Context, f *formulation) error {
	s, err := j.below(f.problem.Domain())
	if err != nil || s == nil {
		return err
	}
	if f.start != nil {
		inverse, err := j.columns(s.Layout, func(z, surface float64) float64 {
			if w := rise(z-surface, j.Config.Image.SurfaceTaper, 1e-6*j.cell()); w >= leastStart {
				return 1 / w
			}
			return 0
		})
		if err != nil {
			return err
		}
		defer inverse.Free()
		if err := dist.Multiply(f.start, inverse); err != nil {
			return err
		}
	}
	return f.change(s)
}

// cutAbove multiplies an image by S, in place.
func (j *Job) cutAbove(m *dist.Vector) error {
	s, err := j.below(m.Layout)
	if err != nil || s == nil {
		return err
	}
	return dist.Multiply(m, s)
}
