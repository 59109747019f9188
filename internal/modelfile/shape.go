package modelfile

import (
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/synth"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// mostPoints keeps a slip in the spacing from filling the disk.
const mostPoints = 1 << 31

// shape smooths and interpolates the model as the options say.
func (m *Model) shape(opt Options) error {
	if opt.Smooth > 0 {
		for a := range m.Grid.Shape {
			if extent := float64(m.Grid.Shape[a]) * m.Grid.Spacing[a]; m.Grid.Unit(a) == "m" && opt.Smooth > extent {
				return status.Usage(m.fault("radius of smoothing is %g m, the model has %g m along %s", opt.Smooth, extent, m.Grid.AxisName(a)))
			}
		}
		m.smooth(opt)
	}
	if opt.Resample != nil {
		g, err := m.resampled(opt.Resample, opt.Smooth > 0)
		if err != nil {
			return err
		}
		if err := m.interpolate(opt, g); err != nil {
			return err
		}
	}
	if opt.Onto != nil && !m.Grid.Equal(*opt.Onto) {
		if !opt.Onto.Frame.Equal(m.Grid.Frame) {
			return status.Input(m.fault("lies in the frame %s, the model in %s", m.Grid.Frame, opt.Onto.Frame))
		}
		if !opt.Onto.Inside(m.Grid) {
			return status.Input(m.fault("lies on %s, which does not hold the model's %s", m.Grid.Extent(), opt.Onto.Extent()))
		}
		m.note("values are interpolated onto the model's grid, %s", opt.Onto)
		return m.interpolate(opt, *opt.Onto)
	}
	return nil
}

// smooth convolves slownesses, or values of a property, with a Gaussian. In time it does so
// along x and y alone.
func (m *Model) smooth(opt Options) {
	g, values := m.Grid, m.Values
	if g.Domain == grid.Time {
		last := g.Dim() - 1
		g.Spacing = slices.Clone(g.Spacing)
		g.Spacing[last] = 1e6 * opt.Smooth // farther apart than the Gaussian reaches
		m.note("smoothed along %s alone: the radius is a length", map[int]string{1: "x", 2: "x and y"}[last])
	}
	if opt.velocity() {
		m.Values = synth.Smooth(g, values, opt.Smooth)
		return
	}
	m.Values = m.mean(opt, func(v []float64) []float64 {
		v = slices.Clone(v)
		synth.Blur(g, v, opt.Smooth)
		return v
	})
}

// apart is the note for angles of axes in 3-D that move to other points.
const apart = "tilts and azimuths are averaged apart: where tilts of one model have both signs, give it its points before the import"

// mean applies a mean to the values; angles are averaged as those of axes.
func (m *Model) mean(opt Options, of func(v []float64) []float64) []float64 {
	p, err := opt.property()
	if err == nil && p.Unit() != "" && m.Grid.Dim() == 3 && !slices.Contains(m.Notes, apart) {
		m.note(apart)
	}
	switch {
	case err == nil && p == h5.Tilt:
		tilts, _ := synth.MeanAxes(m.Values, nil, nil, of)
		return tilts
	case err == nil && p == h5.Azimuth:
		return synth.MeanDirections(m.Values, of)
	}
	return of(m.Values)
}

// resampled is the grid of another spacing that lies inside that of the model.
func (m *Model) resampled(spacing []float64, smooth bool) (grid.Grid, error) {
	g := grid.Grid{Origin: slices.Clone(m.Grid.Origin), Spacing: slices.Clone(spacing), Domain: m.Grid.Domain, Frame: m.Grid.Frame}
	points := 1.0
	for a, h := range spacing {
		n := math.Floor((m.Grid.End(a)-g.Origin[a])/h+1e-6) + 1
		if points *= n; !(points <= mostPoints) {
			return g, status.Usage(m.fault("a spacing of %g %s makes more than %d points", h, m.Grid.Unit(a), mostPoints))
		}
		if g.Shape = append(g.Shape, int(n)); n < 2 {
			return g, status.Usage(m.fault("a spacing of %g %s leaves one point along %s, the model is %s", h, m.Grid.Unit(a), m.Grid.AxisName(a), m.Grid.Extent()))
		}
		if h > m.Grid.Spacing[a]*(1+irregular) && !smooth {
			m.guess("the new grid is coarser along %s, and the model not smoothed: points between are passed over", m.Grid.AxisName(a))
		}
	}
	return g, g.Validate()
}

// interpolate gives the model another grid inside its own. Values are linear between points.
func (m *Model) interpolate(opt Options, g grid.Grid) error {
	arrays := 1.0
	if !opt.velocity() {
		arrays = 6 // angles are averaged as tensors
	}
	if err := counts.Fit(m.Path, 8*arrays*float64(g.Len())); err != nil {
		return err
	}
	m.Values = m.mean(opt, func(v []float64) []float64 {
		out := make([]float64, g.Len())
		m.Grid.Interpolate(out, v, g)
		return out
	})
	m.Grid = g
	return nil
}
