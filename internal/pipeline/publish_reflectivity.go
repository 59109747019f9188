package pipeline

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Names of the values of output.scale, which images hold as the root attribute h5.ScaleAttr.
const (
	operatorScale     = "operator"
	reflectivityScale = "reflectivity"
)

// scaling turns an image in the operator's units into reflection coefficients, see
// docs/numerics.md. The operator models a reflector of the coefficient R at one row of points from the
// image
//
//	R Δx √(v₀/8π) in 2-D,   R Δx Δy/4π in 3-D,
//
// v₀ the velocity at the sources. Its image has the pulse of the solve, which is p at its peak where
// one sample would be 1, and is 2Δz/(v dt) samples of the row: a peak of R is
//
//	m = R Δx √(v₀/8π) · 2Δz/(v dt) · p.
type scaling struct {
	job      *Job
	constant float64 // of R/m, without v; s/m
}

// newScaling is that of an image after so many iterations; nil for one in the operator's units.
func newScaling(j *Job, iterations int) (*scaling, error) {
	if j.plan.Config.Output.Scale != reflectivityScale || iterations == 0 {
		return nil, nil
	}
	h := j.plan.Geometry.Image.Spacing
	row := h[0] * h[1] / (4 * math.Pi)
	if j.plan.Geometry.Image.Dim() == 2 {
		v, err := surfaceVelocity(j)
		if err != nil {
			return nil, err
		}
		row = h[0] * math.Sqrt(v/(8*math.Pi))
	}
	return &scaling{j, j.plan.Geometry.Survey.DT / (2 * h[len(h)-1] * row * pulsePeak(j, iterations))}, nil
}

// surfaceVelocity is the mean velocity at the sources and receivers, m/s.
func surfaceVelocity(j *Job) (float64, error) {
	medium := j.plan.Times.Source
	if !medium.IsConstant() {
		var err error
		if medium, _, err = j.plan.Inputs.ReadSlabs([2][2]int{{0, medium.Grid.Shape[0]}}); err != nil {
			return 0, err
		}
	}
	sum := 0.0
	for i := range j.plan.Geometry.Places.Len() {
		sum += medium.At(j.plan.Geometry.Places.At(i))
	}
	return sum / float64(j.plan.Geometry.Places.Len()), nil
}

// apply scales image points from the given one on, in place.
func (s *scaling) apply(part []float32, first int) error {
	if s == nil {
		return nil
	}
	j := s.job
	plane := j.plan.Geometry.Image.Len() / j.plan.Geometry.Image.Shape[0]
	slab := [2]int{first / plane, (first + len(part) + plane - 1) / plane}
	medium := j.plan.Times.Source
	if !medium.IsConstant() {
		var err error
		if medium, _, err = j.plan.Inputs.ReadSlabs([2][2]int{medium.Below(j.plan.Geometry.Image, slab)}); err != nil {
			return err
		}
	}
	v := medium.On(j.plan.Geometry.Image, slab)[first-slab[0]*plane:]
	for i := range part {
		part[i] *= float32(s.constant * v[i])
	}
	return nil
}

// attrs say of an image file in which units it is and which filter its operator had.
func (s *scaling) attrs(j *Job) []h5.Attr {
	scale := operatorScale
	if s != nil {
		scale = reflectivityScale
	}
	return []h5.Attr{{Name: h5.ScaleAttr, Value: scale}, {Name: h5.FilterAttr, Value: j.plan.Config.Kirchhoff.WaveletFilter}}
}

// pulsePeak is the sample at time zero of what so many iterations of conjugate gradients, from zero,
// make of the wavelet as a trace: 1 would be a whole spike. A sum along traveltime curves, with the
// filter, leaves a flat reflector this convolution along its normal. With solver.band its pulse comes last.
func pulsePeak(j *Job, iterations int) float64 {
	w := j.plan.Wavelet
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
	if Banded(j.plan.Config.Solver, j.plan.Geometry.Image) {
		b := Pulse(j.plan.Geometry.Survey.Wavelet).Sampled(w.DT)
		x = apply(x, b, len(b)/2, false)
	}
	return x[middle]
}
