package imaging

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/interp"
	"gonum.org/v1/gonum/mat"
)

// Reflector is how the amplitude of a reflector changes with the angle of reflection θ.
type Reflector struct {
	Depth      float64   // of its largest energy, in grid steps from the first depth
	Amplitudes []float64 // by class
	Explained  float64   // share of the energy that one waveform explains
}

// PickReflector measures the reflector that lies near a depth of an image gather
// [classes, nz] of reflection angles in degrees. The depth is where the energy of all classes
// is largest, at most reach from near, both in grid steps.
//
// The image of a wavelet has wavenumbers up to 2 ω cos θ / v: with the angle it becomes
// longer along z by 1/cos θ, and lower as its integral stays. Traces are therefore compared
// at distances u / cos θ from the reflector, |u| ≤ reach, and divided by cos θ. The first
// singular vectors of that panel are the amplitudes and the waveform that they share, which
// is 1 where its magnitude is largest. weights say how much the energy of each class counts for
// depth and waveform, nil: equally. It is an error if the traces do not reach as far, or
// are zero.
func PickReflector(gather []float32, angles, weights []float64, near, reach float64) (*Reflector, error) {
	nz := len(gather) / len(angles)
	room, last := ReflectorRoom(angles, reach), float64(nz-1)
	if nz < leastDepths || !(near-room >= 0 && near+room <= last) {
		return nil, fmt.Errorf("imaging: a reflector at %.4g of depths 0 to %g, %.4g of which are needed on either side", near, last, room)
	}
	traces, err := splines(gather, nz)
	if err != nil {
		return nil, err
	}
	if weights == nil {
		weights = slices.Repeat([]float64{1}, len(angles))
	}
	r := &Reflector{Depth: strongest(traces, weights, near, reach)}
	half := int(reach)
	panel, weighted := mat.NewDense(len(traces), 2*half+1, nil), mat.NewDense(len(traces), 2*half+1, nil)
	for i, a := range angles {
		for j := range 2*half + 1 {
			x := traces[i].Predict(r.Depth+float64(j-half)/cosine(a)) / cosine(a)
			panel.Set(i, j, x)
			weighted.Set(i, j, math.Sqrt(weights[i])*x)
		}
	}
	var svd mat.SVD
	if !svd.Factorize(weighted, mat.SVDThin) || svd.Values(nil)[0] == 0 {
		return nil, fmt.Errorf("imaging: no reflector near %.4g of depths 0 to %d: the gather is zero there", near, nz-1)
	}
	var v mat.Dense
	svd.VTo(&v)
	peak := 0.0
	for j := range 2*half + 1 {
		if x := v.At(j, 0); math.Abs(x) > math.Abs(peak) {
			peak = x
		}
	}
	values := svd.Values(nil)
	r.Explained = values[0] * values[0] / floats.Dot(values, values)
	for i := range angles {
		r.Amplitudes = append(r.Amplitudes, mat.Dot(panel.RowView(i), v.ColView(0))*peak)
	}
	return r, nil
}

// ReflectorRoom is how many grid steps on either side of near PickReflector needs.
func ReflectorRoom(angles []float64, reach float64) float64 {
	return reach + reach/cosine(slices.Max(angles))
}

// leastDepths is the number of points that a spline needs.
const leastDepths = 4

// splines interpolate the traces of a gather between its depths.
func splines(gather []float32, nz int) ([]interp.NotAKnotCubic, error) {
	at := floats.Span(make([]float64, nz), 0, float64(nz-1))
	out := make([]interp.NotAKnotCubic, len(gather)/nz)
	for i := range out {
		trace := make([]float64, nz)
		for k, v := range gather[i*nz : (i+1)*nz] {
			trace[k] = float64(v)
		}
		if err := out[i].Fit(at, trace); err != nil {
			return nil, fmt.Errorf("imaging: a gather of %d depths: %w", nz, err)
		}
	}
	return out, nil
}

// cosine is that of an angle in degrees.
func cosine(degrees float64) float64 { return math.Cos(degrees * math.Pi / 180) }

// strongest is the depth of the largest energy of traces within reach of a depth, to a
// hundredth of a step.
func strongest(traces []interp.NotAKnotCubic, weights []float64, near, reach float64) (depth float64) {
	most := -1.0
	for j := -int(100 * reach); j <= int(100*reach); j++ {
		z, energy := near+float64(j)/100, 0.0
		for i := range traces {
			energy += weights[i] * math.Pow(traces[i].Predict(z), 2)
		}
		if energy > most {
			depth, most = z, energy
		}
	}
	return depth
}

// AngleFit is a fit of A + B sin²θ to amplitudes at angles.
type AngleFit struct {
	Intercept, Gradient           float64
	InterceptError, GradientError float64 // standard errors, from the misfit
	Misfit                        float64 // root of the weighted mean square of what is left
	Angles                        int     // that were fitted
}

// FitAngles fits A + B sin²θ (Shuey 1985) to amplitudes at three angles or more, in degrees, by least
// squares with weights, those of the squares; nil: 1. The standard errors take errors of amplitudes
// to be independent, with variances of one factor over the weights. Fewer than three angles with a
// weight are an error.
func FitAngles(angles, amplitudes, weights []float64) (f AngleFit, err error) {
	var w, wx, wxx, wy, wxy float64
	var x, y, by []float64
	for i, a := range angles {
		v := 1.0
		if weights != nil {
			v = weights[i]
		}
		if !(v > 0) {
			continue
		}
		s := math.Pow(math.Sin(a*math.Pi/180), 2)
		x, y, by = append(x, s), append(y, amplitudes[i]), append(by, v)
		w, wx, wxx, wy, wxy = w+v, wx+v*s, wxx+v*s*s, wy+v*amplitudes[i], wxy+v*s*amplitudes[i]
	}
	det := w*wxx - wx*wx
	if f.Angles = len(x); f.Angles < 3 || !(det > 0) {
		return f, fmt.Errorf("%d of the angles have a weight, a fit needs 3", f.Angles)
	}
	f.Intercept, f.Gradient = (wxx*wy-wx*wxy)/det, (w*wxy-wx*wy)/det
	left := 0.0
	for i := range x {
		left += by[i] * math.Pow(y[i]-f.Intercept-f.Gradient*x[i], 2)
	}
	variance := left / float64(f.Angles-2)
	f.Misfit = math.Sqrt(left / w)
	f.InterceptError, f.GradientError = math.Sqrt(variance*wxx/det), math.Sqrt(variance*w/det)
	return f, nil
}
