package synth

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/survey"
)

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
