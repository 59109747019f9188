package imaging

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/interp"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
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
// is 1 where its magnitude is largest. It is an error if the traces do not reach as far, or
// are zero.
func PickReflector(gather []float32, angles []float64, near, reach float64) (*Reflector, error) {
	nz := len(gather) / len(angles)
	room, last := ReflectorRoom(angles, reach), float64(nz-1)
	if nz < leastDepths || !(near-room >= 0 && near+room <= last) {
		return nil, fmt.Errorf("imaging: a reflector at %.4g of depths 0 to %g, %.4g of which are needed on either side", near, last, room)
	}
	traces, err := splines(gather, nz)
	if err != nil {
		return nil, err
	}
	r := &Reflector{Depth: strongest(traces, near, reach)}
	half := int(reach)
	panel := mat.NewDense(len(traces), 2*half+1, nil)
	for i, a := range angles {
		for j := range 2*half + 1 {
			panel.Set(i, j, traces[i].Predict(r.Depth+float64(j-half)/cosine(a))/cosine(a))
		}
	}
	var svd mat.SVD
	if !svd.Factorize(panel, mat.SVDThin) || svd.Values(nil)[0] == 0 {
		return nil, fmt.Errorf("imaging: no reflector near %.4g of depths 0 to %d: the gather is zero there", near, nz-1)
	}
	var u, v mat.Dense
	svd.UTo(&u)
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
		r.Amplitudes = append(r.Amplitudes, u.At(i, 0)*values[0]*peak)
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
func strongest(traces []interp.NotAKnotCubic, near, reach float64) (depth float64) {
	most := -1.0
	for j := -int(100 * reach); j <= int(100*reach); j++ {
		z, energy := near+float64(j)/100, 0.0
		for i := range traces {
			energy += math.Pow(traces[i].Predict(z), 2)
		}
		if energy > most {
			depth, most = z, energy
		}
	}
	return depth
}

// InterceptAndGradient fits A + B sin²θ to amplitudes at angles in degrees by least squares.
func InterceptAndGradient(angles, amplitudes []float64) (intercept, gradient float64) {
	var x []float64
	for _, a := range angles {
		x = append(x, math.Pow(math.Sin(a*math.Pi/180), 2))
	}
	return stat.LinearRegression(x, amplitudes, nil, false)
}
