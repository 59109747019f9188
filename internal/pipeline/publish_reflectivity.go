package pipeline

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Names of the values of output.scale, which images hold as the root attribute h5.ScaleAttr.
const (
	operatorScale     = "operator"
	reflectivityScale = "reflectivity"
)

// scaling turns an image in the operator's units into reflection coefficients, see
// docs/numerics/gathers.md. The operator models a reflector of the coefficient R at one row of points from the
// image
//
//	R Δx √(v₀/8π) in 2-D,   R Δx Δy/4π in 3-D,
//
// v₀ the velocity at the sources. Its image has the pulse of the solve, which is p at its peak where
// one sample would be 1, and is 2Δz/(v dt) samples of the row: a peak of R is
//
//	m = R Δx √(v₀/8π) · 2Δz/(v dt) · p.
type scaling struct {
	plan     *Plan
	constant float64 // of R/m, without v; s/m
}

// newScaling returns the scaling of an image after the given iterations; nil for one in the operator's units.
func newScaling(p *Plan, iterations int) (*scaling, error) {
	if p.Config.Output.Scale != reflectivityScale || iterations == 0 {
		return nil, nil
	}
	h := p.Geometry.Image.Spacing
	row := h[0] * h[1] / (4 * math.Pi)
	if p.Geometry.Image.Dim() == 2 {
		v, err := surfaceVelocity(p)
		if err != nil {
			return nil, err
		}
		row = h[0] * math.Sqrt(v/(8*math.Pi))
	}
	var band []float64
	if Banded(p.Config.Solver, p.Geometry.Image) {
		band = Pulse(p.Geometry.Survey.Wavelet).Sampled(p.Wavelet.DT)
	}
	return &scaling{p, p.Geometry.Survey.DT / (2 * h[len(h)-1] * row * pulsePeak(p.Wavelet, band, iterations))}, nil
}

// surfaceVelocity is the mean velocity at the sources and receivers, m/s.
func surfaceVelocity(p *Plan) (float64, error) {
	medium := p.Times.Source
	if !medium.IsConstant() {
		var err error
		if medium, _, err = p.Inputs.ReadSlabs([2][2]int{{0, medium.Grid.Shape[0]}}); err != nil {
			return 0, err
		}
	}
	sum := 0.0
	for i := range p.Geometry.Places.Len() {
		sum += medium.At(p.Geometry.Places.At(i))
	}
	return sum / float64(p.Geometry.Places.Len()), nil
}

// apply scales image points from the given one on, in place.
func (s *scaling) apply(part []float32, first int) error {
	if s == nil {
		return nil
	}
	p := s.plan
	plane := p.Geometry.Image.Len() / p.Geometry.Image.Shape[0]
	slab := [2]int{first / plane, (first + len(part) + plane - 1) / plane}
	medium := p.Times.Source
	if !medium.IsConstant() {
		var err error
		if medium, _, err = p.Inputs.ReadSlabs([2][2]int{medium.Below(p.Geometry.Image, slab)}); err != nil {
			return err
		}
	}
	v := medium.On(p.Geometry.Image, slab)[first-slab[0]*plane:]
	for i := range part {
		part[i] *= float32(s.constant * v[i])
	}
	return nil
}

// attrs gives the attributes of an image file that hold its units and its operator's filter.
func (s *scaling) attrs(filter string) []h5.Attr {
	scale := operatorScale
	if s != nil {
		scale = reflectivityScale
	}
	return []h5.Attr{{Name: h5.ScaleAttr, Value: scale}, {Name: h5.FilterAttr, Value: filter}}
}

// pulsePeak is the sample at time zero of the image that the given iterations of conjugate gradients, from
// zero, make of the wavelet as a trace: 1 would be a whole spike. A sum along traveltime curves, with the
// filter, leaves a flat reflector this convolution along its normal. The band of solver.band, nil for none, comes last.
func pulsePeak(w survey.Wavelet, band []float64, iterations int) float64 {
	n := 4*len(w.Samples) + 1
	middle := n / 2
	apply := func(x, h []float64, zero int, adjoint bool) []float64 {
		y := make([]float64, n)
		for i := range y {
			for k, a := range h {
				l := i - k + zero
				if adjoint {
					l = i + k - zero
				}
				if l >= 0 && l < n {
					y[i] += a * x[l]
				}
			}
		}
		return y
	}
	filter := func(x []float64, adjoint bool) []float64 { return apply(x, w.Samples, w.Zero, adjoint) }
	x, spike := make([]float64, n), make([]float64, n)
	spike[middle] = 1
	r := filter(spike, false)
	g := filter(r, true)
	p, norm := slices.Clone(g), floats.Dot(g, g)
	for first := norm; iterations > 0 && norm > 1e-24*first; iterations-- {
		q := filter(p, false)
		step := norm / floats.Dot(q, q)
		floats.AddScaled(x, step, p)
		floats.AddScaled(r, -step, q)
		g = filter(r, true)
		last := norm
		norm = floats.Dot(g, g)
		floats.Scale(norm/last, p)
		floats.Add(p, g)
	}
	if band != nil {
		x = apply(x, band, len(band)/2, false)
	}
	return x[middle]
}
