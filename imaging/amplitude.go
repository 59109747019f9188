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
	Amplitudes []float64 // by class; 0 of those without a weight
	Rest       []float64 // what the traces have beside them where the waveform is 1; nil: nothing
}

// Gather is an image gather of reflection angles whose traces are known between its depths.
type Gather struct {
	angles []float64 // degrees
	nz     int
	values []float32 // [classes, nz]
	traces []interp.NaturalCubic
}

// NewGather takes the traces [classes, nz] of reflection angles in degrees.
func NewGather(values []float32, angles []float64) (*Gather, error) {
	g := &Gather{angles: angles, nz: len(values) / len(angles), values: values}
	if g.nz < leastDepths {
		return nil, fmt.Errorf("imaging: a gather of %d depths, want at least %d", g.nz, leastDepths)
	}
	var err error
	g.traces, err = splines(values, g.nz)
	return g, err
}

// Pick measures the reflector that lies near a depth. It is where the energy of all classes
// is largest, at most within from near. weights say how much the energy of each class counts for
// depth and waveform. Depths are in grid steps.
//
// The image of a wavelet has wavenumbers up to 2 ω cos θ / v. With increasing angle it becomes longer
// along z by 1/cos θ. Its integral stays, so it becomes lower. Traces are therefore compared at
// distances u / cos θ from the reflector, |u| ≤ reach, and divided by cos θ. The first singular
// vectors of that panel are the amplitudes and the waveform that they share, which is 1 where its
// magnitude is largest. Each class therefore has one number, and correlations of the noise at
// neighbouring depths do not matter. It is an error if the traces do not reach as far, or are zero.
func (g *Gather) Pick(weights []float64, near, within, reach float64) (r Reflector, err error) {
	widest := 0.0
	for i, w := range weights {
		if w > 0 {
			widest = max(widest, g.angles[i])
		}
	}
	room, last := within+reach/cosine(widest), float64(g.nz-1)
	if !(near-room >= 0 && near+room <= last) {
		return r, fmt.Errorf("imaging: a reflector at %.4g of depths 0 to %g, %.4g of which are needed on either side", near, last, room)
	}
	r.Depth = strongest(g.traces, weights, near, within)
	half := int(reach)
	panel, weighted := mat.NewDense(len(weights), 2*half+1, nil), mat.NewDense(len(weights), 2*half+1, nil)
	for i, w := range weights {
		if !(w > 0) {
			continue
		}
		c := cosine(g.angles[i])
		for j := range 2*half + 1 {
			x := g.traces[i].Predict(r.Depth+float64(j-half)/c) / c
			panel.Set(i, j, x)
			weighted.Set(i, j, math.Sqrt(w)*x)
		}
	}
	var svd mat.SVD
	if !svd.Factorize(weighted, mat.SVDThin) || svd.Values(nil)[0] == 0 {
		return r, fmt.Errorf("imaging: no reflector near %.4g of depths 0 to %g: the gather is zero there", near, last)
	}
	var v mat.Dense
	svd.VTo(&v)
	peak := 0
	for j := range 2*half + 1 {
		if math.Abs(v.At(j, 0)) > math.Abs(v.At(peak, 0)) {
			peak = j
		}
	}
	for i := range weights {
		amplitude := mat.Dot(panel.RowView(i), v.ColView(0)) * v.At(peak, 0)
		r.Amplitudes, r.Rest = append(r.Amplitudes, amplitude), append(r.Rest, panel.At(i, peak)-amplitude)
	}
	return r, nil
}

// Peaks are the depths, in whole grid steps, where the energy of all classes is larger than anywhere within reach steps.
// light [classes, nz] says how much the energy counts; nil: equally.
func (g *Gather) Peaks(light []float32, reach int) (depths []int) {
	energy := make([]float64, g.nz)
	for i, v := range g.values {
		e := float64(v) * float64(v)
		if light != nil {
			e *= float64(light[i])
		}
		energy[i%g.nz] += e
	}
	for k := 1; k < g.nz-1; k++ {
		first := max(0, k-reach)
		around := energy[first:min(g.nz, k+reach+1)]
		if e := slices.Max(around); e > 0 && slices.Index(around, e) == k-first {
			depths = append(depths, k)
		}
	}
	return depths
}

// ReflectorRoom is how many grid steps on either side of near Pick needs that looks within reach, by all angles.
func ReflectorRoom(angles []float64, reach float64) float64 {
	return reach + reach/cosine(slices.Max(angles))
}

// leastDepths is the number of points that a spline needs.
const leastDepths = 4

// splines interpolate the traces of a gather between its depths.
func splines(gather []float32, nz int) ([]interp.NaturalCubic, error) {
	at := floats.Span(make([]float64, nz), 0, float64(nz-1))
	out := make([]interp.NaturalCubic, len(gather)/nz)
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

// cosine is the cosine of an angle in degrees.
func cosine(degrees float64) float64 { return math.Cos(degrees * math.Pi / 180) }

// strongest is the depth of the largest energy of traces within reach of a depth, to a
// hundredth of a step.
func strongest(traces []interp.NaturalCubic, weights []float64, near, reach float64) (depth float64) {
	most := -1.0
	for j := -int(100 * reach); j <= int(100*reach); j++ {
		z, energy := near+float64(j)/100, 0.0
		for i, w := range weights {
			if w > 0 {
				v := traces[i].Predict(z)
				energy += w * v * v
			}
		}
		if energy > most {
			depth, most = z, energy
		}
	}
	return depth
}
