package midpoint

import "math"

// reach is how many samples interpolation takes on either side, fractions how finely its weights are tabled.
const reach, fractions = 4, 1024

// sinc holds the weights of the samples from -3 to 4 at each fraction of a sample: sinc functions under a Hann window.
var sinc = func() (table [fractions + 1][2 * reach]float32) {
	for i := range table {
		sum, at := 0.0, float64(i)/fractions
		var w [2 * reach]float64
		for k := range w {
			u := float64(k-reach+1) - at
			w[k] = 0.5 + 0.5*math.Cos(math.Pi*u/reach)
			if u != 0 {
				w[k] *= math.Sin(math.Pi*u) / (math.Pi * u)
			}
			sum += w[k]
		}
		for k := range w {
			table[i][k] = float32(w[k] / sum)
		}
	}
	return table
}()

// sample is the trace at a number of samples from the first, which may be fractional; 0
// beyond its ends.
func sample(trace []float32, at float64) float32 {
	if !(at >= 0 && at <= float64(len(trace)-1)) {
		return 0
	}
	first := int(at)
	w := &sinc[int((at-float64(first))*fractions+0.5)]
	first -= reach - 1
	sum := float32(0)
	if first >= 0 && first+2*reach <= len(trace) {
		for k, v := range trace[first : first+2*reach] {
			sum += w[k] * v
		}
		return sum
	}
	for k, weight := range w {
		if i := first + k; i >= 0 && i < len(trace) {
			sum += weight * trace[i]
		}
	}
	return sum
}

// Arrival is when a reflection of zero-offset time tau, s, arrives at an offset, m, below a root-mean-square velocity, m/s.
func Arrival(tau, offset, rms float64) float64 {
	x := offset / rms
	return math.Sqrt(tau*tau + x*x)
}

// tapered is the share of the limit of the stretch over which what is stretched fades.
const tapered = 0.2

// kept is how much of a sample counts that moveout stretches by t/τ − 1: nothing from the limit on.
func kept(tau, t, stretch float64) float64 {
	switch by, most := t-tau, stretch*tau; {
	case by <= (1-tapered)*most:
		return 1
	case !(by < most):
		return 0
	default:
		return 0.5 - 0.5*math.Cos(math.Pi*(1-by/most)/tapered)
	}
}

// CorrectMoveout takes the normal moveout off a trace, whose samples follow each other by dt from t0, s: dst[k] is the
// trace at √(τ² + x²/V²) for τ = k dt, x the offset, m, and V = rms[k], m/s. Samples that this stretches by more than
// the limit, t/τ − 1 > stretch, are 0, with a cosine taper from 0.8 of the limit on.
func CorrectMoveout(dst, trace []float32, dt, t0 float64, offset float64, rms []float64, stretch float64) {
	for k := range dst {
		tau := float64(k) * dt
		t := Arrival(tau, offset, rms[k])
		dst[k] = 0
		if w := kept(tau, t, stretch); w > 0 {
			dst[k] = float32(w) * sample(trace, (t-t0)/dt)
		}
	}
}
