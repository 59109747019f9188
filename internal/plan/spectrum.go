package plan

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/survey"
	"gonum.org/v1/gonum/dsp/fourier"
)

// Band is the frequency content of a wavelet, in Hz.
type Band struct {
	Peak float64 // largest amplitude
	High float64 // 99 % of the energy lies below
}

// BandOf measures the wavelet's spectrum, zero-padded to at least 1024 samples.
func BandOf(w survey.Wavelet) Band {
	n := max(1024, 2*len(w.Samples))
	padded := make([]float64, n)
	copy(padded, w.Samples)
	fft := fourier.NewFFT(n)
	power := fft.Coefficients(nil, padded)
	total, peak, at := 0.0, 0.0, 0
	energy := make([]float64, len(power))
	for i, c := range power {
		energy[i] = real(c)*real(c) + imag(c)*imag(c)
		total += energy[i]
		if energy[i] > peak {
			peak, at = energy[i], i
		}
	}
	b := Band{Peak: fft.Freq(at) / w.DT, High: math.NaN()}
	sum := 0.0
	for i, e := range energy {
		if sum += e; sum >= 0.99*total {
			b.High = fft.Freq(i) / w.DT
			break
		}
	}
	return b
}
