package report

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// spectrumColumns is how many traces or columns of an image a spectrum is the
// mean of, at most; of more, so many evenly spread ones are taken.
const spectrumColumns = 20000

// taper is the share of a trace at each end that is tapered by a cosine, so that
// its ends do not leak over the whole spectrum.
const taper = 0.1

// spectrum is a mean amplitude spectrum.
type spectrum struct {
	freq, amp []float64 // freq per unit of step
}

// meanSpectrum is the mean of the amplitude spectra of the rows of v, [rows, n],
// sampled at step: each tapered at its ends, padded to twice its length and
// more. A spectrum of a single sample has no use: it is empty.
func meanSpectrum(v []float32, n int, step float64) spectrum {
	if n < 2 || len(v) < n {
		return spectrum{}
	}
	rows := len(v) / n
	length := 256
	for length < 2*n {
		length *= 2
	}
	fft := fourier.NewFFT(length)
	x := make([]float64, length)
	c := make([]complex128, length/2+1)
	s := spectrum{make([]float64, length/2+1), make([]float64, length/2+1)}
	edge := max(1, int(taper*float64(n)))
	take := min(rows, spectrumColumns)
	for k := range take {
		row := v[k*rows/take*n:][:n]
		for i := range row {
			w := 1.0
			if d := min(i, n-1-i); d < edge {
				w = 0.5 - 0.5*math.Cos(math.Pi*(float64(d)+0.5)/float64(edge))
			}
			x[i] = w * float64(row[i])
		}
		fft.Coefficients(c, x)
		for i, a := range c {
			s.amp[i] += math.Hypot(real(a), imag(a)) / float64(take)
		}
	}
	for i := range s.freq {
		s.freq[i] = float64(i) / (float64(length) * step)
	}
	return s
}

// most is the greatest amplitude.
func (s spectrum) most() float64 {
	m := 0.0
	for _, a := range s.amp {
		m = max(m, a)
	}
	return m
}

// floor is the lowest level that is drawn, in dB.
const floor = -60.0

// decibels are the amplitudes relative to ref, not below the floor.
func (s spectrum) decibels(ref float64) []float64 {
	db := make([]float64, len(s.amp))
	for i, a := range s.amp {
		db[i] = floor
		if a > 0 {
			db[i] = max(floor, 20*math.Log10(a/ref))
		}
	}
	return db
}

// band is the stretch around which the amplitude is at least half its maximum:
// from the first such frequency to the last.
func (s spectrum) band() (lo, hi float64) {
	half := s.most() / 2
	lo = -1
	for i, a := range s.amp {
		if a >= half {
			if lo < 0 {
				lo = s.freq[i]
			}
			hi = s.freq[i]
		}
	}
	return lo, hi
}

// spectra are the charts of the images along depth and of the traces in time.
func (r *Run) spectra() (panels []panel) {
	if p, ok := r.depthSpectra(); ok {
		panels = append(panels, p)
	}
	if p, ok := r.timeSpectra(); ok {
		panels = append(panels, p)
	}
	return panels
}

// imageSpectrum is along depth, in cycles per km.
func imageSpectrum(g grid.Grid, v []float32) spectrum {
	last := g.Dim() - 1
	return meanSpectrum(v, g.Shape[last], g.Spacing[last]/1000)
}

func (r *Run) depthSpectra() (panel, bool) {
	p := panel{Title: "Images along depth"}
	c := newChart("wavenumber (cycles/km)", "dB below each maximum")
	add := func(name string, class int, s spectrum) {
		ref := s.most()
		if ref == 0 {
			return
		}
		c.add(name, class, s.freq, s.decibels(ref), false)
		lo, hi := s.band()
		p.Note += fmt.Sprintf("%s: at least half its maximum from %.3g to %.3g cycles/km. ", strings.ToUpper(name[:1])+name[1:], lo, hi)
	}
	if r.Adjoint != nil {
		add("adjoint", 2, imageSpectrum(r.Adjoint.Grid, r.Adjoint.Data))
	}
	add(r.imageName(), 1, imageSpectrum(r.Image.Grid, r.Image.Data))
	if len(c.curves) == 0 {
		return p, false
	}
	p.Note += "Mean amplitude over the columns of the image."
	if r.Adjoint != nil && r.solved() {
		p.Note += " Least squares should be the broader one."
	}
	c.y.lo, c.y.hi = floor, 0
	c.trimRight(floor)
	p.Chart = c.finish()
	return p, true
}

func (r *Run) timeSpectra() (panel, bool) {
	p := panel{Title: "Traces in time"}
	var data, residual []spectrum
	for _, g := range r.Gathers {
		if s := meanSpectrum(g.Data, g.NT, g.DT); s.most() > 0 {
			data = append(data, s)
		}
		if s := meanSpectrum(g.Residual, g.NT, g.DT); s.most() > 0 {
			residual = append(residual, s)
		}
	}
	if len(data)+len(residual) == 0 {
		return p, false
	}
	d, e := meanOf(data), meanOf(residual)
	ref, below := d.most(), "dB below the data's maximum"
	if ref == 0 {
		ref, below = e.most(), "dB below the maximum"
	}
	c := newChart("frequency (Hz)", below)
	if len(data) > 0 {
		c.add("data", 2, d.freq, d.decibels(ref), false)
	}
	if len(residual) > 0 {
		c.add("residual", 1, e.freq, e.decibels(ref), false)
	}
	p.Note = "Mean amplitude over the traces of the shots shown below."
	c.y.lo, c.y.hi = floor, max(0, 20*math.Log10(max(d.most(), e.most())/ref))
	c.trimRight(floor)
	p.Chart = c.finish()
	return p, true
}

// meanOf is the mean of spectra on one frequency axis.
func meanOf(list []spectrum) (m spectrum) {
	for i, s := range list {
		if i == 0 {
			m = spectrum{s.freq, make([]float64, len(s.amp))}
		}
		for k, a := range s.amp {
			m.amp[k] += a / float64(len(list))
		}
	}
	return m
}
