package inputs

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Largest magnitudes between which sums of products in single precision, over all traces
// and samples, neither overflow nor vanish.
const (
	leastSample, greatestSample   = 1e-20, 1e20 // of traces and images
	leastWavelet, greatestWavelet = 1e-12, 1e12
	leastProduct, greatestProduct = 1e-30, 1e26 // of a sample and the wavelet's square, as in A Aᵀ d
)

// checkMagnitude refuses numbers whose largest magnitude lies outside the limits; none
// but zeros are somebody else's concern.
func checkMagnitude(file, what string, peak, least, greatest float64) error {
	fault := "overflow"
	switch {
	case peak == 0 || peak >= least && peak <= greatest:
		return nil
	case peak < least:
		fault = "vanish"
	}
	return status.Hint(status.Input(fmt.Errorf("%s: the largest %s is %.3g: sums in single precision %s, must be from %g to %g", file, what, peak, fault, least, greatest)),
		"multiply all by a constant: the image grows with the traces and shrinks with the wavelet")
}

// CheckWavelet refuses a wavelet of which no product in single precision can be made.
func CheckWavelet(file string, w survey.Wavelet) error {
	return checkMagnitude(file, "sample of the wavelet", peakOf(w), leastWavelet, greatestWavelet)
}

func peakOf(w survey.Wavelet) (peak float64) {
	for _, v := range w.Samples {
		peak = max(peak, math.Abs(v))
	}
	return peak
}

// CheckTraces refuses traces with the given largest magnitude, for an operator with a
// wavelet.
func CheckTraces(file string, peak float64, wavelet survey.Wavelet) error {
	w := peakOf(wavelet)
	if err := checkMagnitude(file, "sample of the traces", peak, leastSample, greatestSample); err != nil {
		return err
	}
	return checkMagnitude(file, fmt.Sprintf("sample of the traces times the square of the wavelet's, %.3g,", w), peak*w*w, leastProduct, greatestProduct)
}
