package condition

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// spectral multiplies the spectrum of every trace by a real, even function of frequency.
type spectral struct {
	dt     float64
	length int // of the transform: twice a trace, so that nothing wraps around
	factor []float64
}

func newSpectral(nt int, dt float64, at func(hz float64) float64) spectral {
	s := spectral{dt: dt, length: 2 * nt}
	for k := range s.length/2 + 1 {
		s.factor = append(s.factor, at(float64(k)/(float64(s.length)*dt)))
	}
	return s
}

// filterAll filters traces of equal length, at most half the transform's, in place.
func filterAll[T float32 | float64](s spectral, traces []T, length int) {
	fft, padded, spectrum := fourier.NewFFT(s.length), make([]float64, s.length), make([]complex128, s.length/2+1)
	for ; len(traces) > 0; traces = traces[length:] {
		clear(padded)
		for i, v := range traces[:length] {
			padded[i] = float64(v)
		}
		fft.Coefficients(spectrum, padded)
		for k, f := range s.factor {
			spectrum[k] *= complex(f/float64(s.length), 0)
		}
		fft.Sequence(padded, spectrum)
		for i := range length {
			traces[i] = T(padded[i])
		}
	}
}

// bandpass has four corners, as Ormsby's does, with cosines between them for a shorter response.
type bandpass struct {
	corners []float64
	spectral
}

func (s bandpass) at(hz float64) float64 {
	c := s.corners
	switch {
	case hz < c[0] || hz > c[3]:
		return 0
	case hz < c[1]:
		return rise((hz - c[0]) / (c[1] - c[0]))
	case hz > c[2]:
		return rise((c[3] - hz) / (c[3] - c[2]))
	}
	return 1
}

// rise goes from 0 at 0 to 1 at 1, as a cosine.
func rise(x float64) float64 { return 0.5 - 0.5*math.Cos(math.Pi*x) }

func parseBandpass(values string, s *survey.Survey) (step, error) {
	c, err := numbers(values, 4, 4)
	if err != nil {
		return nil, err
	}
	switch nyquist := 0.5 / s.DT; {
	case c[0] < 0 || !slices.IsSorted(c) || c[1] == c[2]:
		return nil, fmt.Errorf("corners %v do not ascend from 0 Hz on", c)
	case c[3] > nyquist:
		return nil, fmt.Errorf("the highest corner is %g Hz, the data end at %g Hz", c[3], nyquist)
	}
	b := bandpass{corners: c}
	b.spectral = newSpectral(s.NT, s.DT, b.at)
	return b, nil
}

func (s bandpass) apply(g *Gather) error {
	filterAll(s.spectral, g.Data, g.NT)
	return nil
}

// filter lengthens the wavelet on both sides by the ringing of the sharpest corner.
func (s bandpass) filter(w *survey.Wavelet) error {
	narrowest := math.Inf(1)
	for _, pair := range [][2]float64{{s.corners[0], s.corners[1]}, {s.corners[2], s.corners[3]}} {
		if pair[1] > pair[0] {
			narrowest = min(narrowest, pair[1]-pair[0])
		}
	}
	extra := int(math.Ceil(3 / min(narrowest, s.corners[2]-s.corners[1]) / w.DT))
	lengthen(w, extra, extra)
	filterAll(newSpectral(len(w.Samples), w.DT, s.at), w.Samples, len(w.Samples))
	return nil
}

// lengthen adds zeros to a wavelet.
func lengthen(w *survey.Wavelet, before, after int) {
	long := make([]float64, before+len(w.Samples)+after)
	copy(long[before:], w.Samples)
	w.Samples, w.Zero = long, w.Zero+before
}

// weakest is the share of a wavelet's energy that either of its ends may lose: together 0.0005 of its
// root mean square.
const weakest = 1.25e-7

// shorten cuts off ends of a wavelet that hold at most an energy each; time zero stays.
func shorten(w *survey.Wavelet, energy float64) {
	first, last := 0, len(w.Samples)-1
	for left := energy; first < w.Zero; first++ {
		if left -= w.Samples[first] * w.Samples[first]; left < 0 {
			break
		}
	}
	for left := energy; last > w.Zero; last-- {
		if left -= w.Samples[last] * w.Samples[last]; left < 0 {
			break
		}
	}
	w.Samples, w.Zero = slices.Clone(w.Samples[first:last+1]), w.Zero-first
}

// fan leaves out what crosses a shot's traces slower than an apparent velocity.
type fan struct {
	least, all float64 // m/s: nothing below, everything above
}

// mostApparent is a velocity, m/s, above which a slope is as good as none.
const mostApparent = 10000

func parseFan(values string, s *survey.Survey) (step, error) {
	v, err := numbers(values, 2, 2)
	switch {
	case err != nil:
		return nil, err
	case s.Dim != 2:
		return nil, fmt.Errorf("the survey is 3-D")
	case v[0] <= 0 || v[1] < v[0]:
		return nil, fmt.Errorf("velocities %v do not ascend from above 0", v)
	}
	// Apparent velocities have no upper end.
	if err := velocity.Plausible(v[0], min(v[1], mostApparent)); err != nil {
		return nil, err
	}
	return fan{v[0], v[1]}, nil
}

// offGrid is how far traces may lie off an even spacing, in parts of it; gaps is how many times
// as many places as traces that spacing may have.
const (
	offGrid = 0.1
	gaps    = 4
)

// places puts the traces of a gather onto an even spacing along the line; traces that are
// missing are gaps. Several traces at one offset are an error.
func (fan) places(g *Gather) (at []int, n int, spacing float64, err error) {
	sorted := slices.Sorted(slices.Values(g.Offset))
	source, _ := g.Pair(int(g.Traces[0]))
	spacing = math.Inf(1)
	for i := 1; i < len(sorted); i++ {
		spacing = min(spacing, sorted[i]-sorted[i-1])
	}
	if len(sorted) < 2 {
		return nil, 0, 0, fmt.Errorf("shot %d has one trace", source)
	}
	span := sorted[len(sorted)-1] - sorted[0]
	if !(spacing > 0) || span/spacing > gaps*float64(len(sorted)) {
		return nil, 0, 0, fmt.Errorf("shot %d: its traces lie %g m apart at least and over %g m, which is not an even spacing", source, spacing, span)
	}
	for _, h := range g.Offset {
		i := (h - sorted[0]) / spacing
		k := math.Round(i)
		if math.Abs(i-k) > offGrid {
			return nil, 0, 0, fmt.Errorf("shot %d: offset %g m lies off the even spacing of %g m", source, h, spacing)
		}
		at, n = append(at, int(k)), max(n, int(k)+1)
	}
	return at, n, spacing, nil
}

func (s fan) apply(g *Gather) error {
	at, n, dx, err := s.places(g)
	if err != nil {
		return err
	}
	nt, nx := 2*g.NT, 2*n
	time, space := fourier.NewFFT(nt), fourier.NewCmplxFFT(nx)
	spectra := make([]complex128, nx*(nt/2+1)) // [frequency, place]
	padded, row := make([]float64, nt), make([]complex128, nt/2+1)
	for i, place := range at {
		clear(padded)
		for k, v := range g.trace(i) {
			padded[k] = float64(v)
		}
		for k, v := range time.Coefficients(row, padded) {
			spectra[k*nx+place] = v
		}
	}
	for k := range nt/2 + 1 {
		line, hz := spectra[k*nx:(k+1)*nx], float64(k)/(float64(nt)*g.DT)
		space.Coefficients(line, line)
		for j := range line {
			line[j] *= complex(s.pass(hz, space.Freq(j)/dx)/float64(nx*nt), 0)
		}
		space.Sequence(line, line)
	}
	for i, place := range at {
		for k := range row {
			row[k] = spectra[k*nx+place]
		}
		time.Sequence(padded, row)
		for k := range g.trace(i) {
			g.trace(i)[k] = float32(padded[k])
		}
	}
	return nil
}

// pass is the factor of a frequency, Hz, and a wavenumber, 1/m.
func (s fan) pass(hz, k float64) float64 {
	slowness := math.Abs(k) / hz // apparent, s/m; of frequency 0 endless, or unknown where nothing varies
	switch {
	case !(slowness > 1/s.all):
		return 1
	case slowness >= 1/s.least:
		return 0
	}
	return rise((1/s.least - slowness) / (1/s.least - 1/s.all))
}
