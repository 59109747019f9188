package synth

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// AddNoise adds white Gaussian noise to data, so that the root mean square of
// the data over that of the noise is snr; both are taken over all samples. It
// returns the standard deviation of the noise. The noise depends on the seed
// and the number of samples alone. A ratio that is not positive is an error,
// +Inf adds nothing.
func AddNoise(data []float32, snr float64, seed uint64) (sigma float64, err error) {
	if !(snr > 0) {
		return 0, fmt.Errorf("synth: signal-to-noise ratio is %g, must be positive", snr)
	}
	energy := 0.0
	for _, v := range data {
		energy += float64(v) * float64(v)
	}
	if energy == 0 || math.IsInf(snr, 1) {
		return 0, nil
	}
	sigma = math.Sqrt(energy/float64(len(data))) / snr
	// PCG is specified bit for bit, unlike the library's normal variates, whose
	// algorithm may change: Box and Muller (1958) on top of it stays the same.
	gen := rand.NewPCG(seed, 0x6c736d2d73796e74)
	unit := func() float64 { return (float64(gen.Uint64()>>11) + 0.5) / (1 << 53) }
	for i := 0; i < len(data); i += 2 {
		r, phi := sigma*math.Sqrt(-2*math.Log(unit())), 2*math.Pi*unit()
		data[i] += float32(r * math.Cos(phi))
		if i+1 < len(data) {
			data[i+1] += float32(r * math.Sin(phi))
		}
	}
	return sigma, nil
}

// Ricker samples the Ricker wavelet (1 - 2a²) exp(-a²), a = π·peak·t, the
// second derivative of a Gaussian: its amplitude spectrum is greatest at peak
// (Hz). It spans 1.5 periods on each side of its time zero, which is the middle
// sample; beyond that it is below 1e-8. dt is in s.
func Ricker(peak, dt float64) survey.Wavelet {
	half := int(math.Ceil(1.5 / (peak * dt)))
	w := survey.Wavelet{Samples: make([]float64, 2*half+1), DT: dt, Zero: half}
	for i := range w.Samples {
		a := math.Pi * peak * float64(i-half) * dt
		w.Samples[i] = (1 - 2*a*a) * math.Exp(-a*a)
	}
	return w
}
