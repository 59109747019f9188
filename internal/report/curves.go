package report

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"strings"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/dsp/window"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// spectrumColumns is the most traces, or columns of an image, that a spectrum is the
// mean of. If there are more, it takes evenly spread ones.
const spectrumColumns = 20000

// ends tapers a tenth of a trace at each end by a cosine, so that its ends do not leak
// over the whole spectrum.
var ends = window.Tukey{Alpha: 0.2}

// spectrum is a mean amplitude spectrum.
type spectrum struct {
	freq, amp []float64 // freq per unit of step
}

// meanSpectrum is the mean of the amplitude spectra of the rows of v, [rows, n], sampled
// at step. Each row is tapered at its ends and padded to at least twice its length. The
// spectrum of a single sample is empty.
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
	x, c := make([]float64, length), make([]complex128, length/2+1)
	s := spectrum{make([]float64, len(c)), make([]float64, len(c))}
	take := min(rows, spectrumColumns)
	for k := range take {
		for i, a := range v[k*rows/take*n:][:n] {
			x[i] = float64(a)
		}
		ends.Transform(x[:n])
		for i, a := range fft.Coefficients(c, x) {
			s.amp[i] += cmplx.Abs(a) / float64(take)
		}
	}
	for i := range s.freq {
		s.freq[i] = fft.Freq(i) / step
	}
	return s
}

// most is the greatest amplitude, 0 of an empty spectrum.
func (s spectrum) most() float64 { return slices.Max(append([]float64{0}, s.amp...)) }

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

// band is the first and the last frequency at which the amplitude is at least half its
// maximum.
func (s spectrum) band() (lo, hi float64) {
	lo, half := math.Inf(1), s.most()/2
	for i, a := range s.amp {
		if a >= half {
			lo, hi = min(lo, s.freq[i]), s.freq[i]
		}
	}
	return lo, hi
}

// chart adds a chart of spectra; without lines it does nothing.
func (p *page) chart(title, note, x, y string, lines []picture.Line) error {
	if len(lines) == 0 {
		return nil
	}
	trimRight(lines)
	c := part{Title: title, Note: note}
	err := c.add(fmt.Sprintf("%s: %s against %s", title, y, x), "")(picture.Spectra(x, y, picture.Options{}, lines...))
	p.Spectra = append(p.Spectra, c)
	return err
}

// trimRight ends lines a little behind where the last of them sinks to the floor for good.
func trimRight(lines []picture.Line) {
	end := 0.0
	for _, l := range lines {
		for i, v := range l.Y {
			if v > floor {
				end = max(end, 1.05*l.X[i])
			}
		}
	}
	for i, l := range lines {
		if n, _ := slices.BinarySearch(l.X, end); n > 1 {
			lines[i].X, lines[i].Y = l.X[:n], l.Y[:n]
		}
	}
}

// drawDepthSpectra draws the spectra of the images along depth, or two-way time.
func (p *page) drawDepthSpectra() error {
	note, lines := "", []picture.Line(nil)
	axis, what, unit, thousand := "depth", "wavenumber", "cycles/km", 1000.0
	if p.Image.Grid.Domain == grid.Time {
		axis, what, unit, thousand = "two-way time", "frequency", "Hz", 1
	}
	add := func(name string, im *h5.Image) {
		last := im.Grid.Dim() - 1
		s := meanSpectrum(im.Data, im.Grid.Shape[last], im.Grid.Spacing[last]/thousand)
		ref := s.most()
		if ref == 0 {
			return
		}
		lines = append(lines, s.line(name, ref))
		lo, hi := s.band()
		note += fmt.Sprintf("%s: at least half its maximum from %.3g to %.3g %s. ", strings.ToUpper(name[:1])+name[1:], lo, hi, unit)
	}
	if p.Adjoint != nil {
		add("adjoint", p.Adjoint)
	}
	add(p.imageName(), p.Image)
	note += "Mean amplitude over the columns of the image."
	if p.Adjoint != nil && p.Solved() {
		note += " Least squares should be the broader one."
	}
	return p.chart("Images along "+axis, note, fmt.Sprintf("%s (%s)", what, unit), "dB below each maximum", lines)
}

// drawTimeSpectra draws the spectra of the traces in time.
func (p *page) drawTimeSpectra() error {
	var data, residual []float32
	for _, g := range p.Gathers {
		data, residual = append(data, g.Data...), append(residual, g.Residual...)
	}
	if len(p.Gathers) == 0 {
		return nil
	}
	nt, dt := p.Gathers[0].NT, p.Gathers[0].DT
	d, e := meanSpectrum(data, nt, dt), meanSpectrum(residual, nt, dt)
	ref, below := d.most(), "dB below the data's maximum"
	if ref == 0 {
		ref, below = e.most(), "dB below the maximum"
	}
	var lines []picture.Line
	if d.most() > 0 {
		lines = append(lines, d.line("data", ref))
	}
	if e.most() > 0 {
		lines = append(lines, e.line("residual", ref))
	}
	return p.chart("Traces in time", "Mean amplitude over the traces of the shots shown below.", "frequency (Hz)", below, lines)
}

// line is the spectrum in decibels relative to ref.
func (s spectrum) line(name string, ref float64) picture.Line {
	return picture.Line{Name: name, X: s.freq, Y: s.decibels(ref)}
}

// iteration is a row of the table of iterations. Texts are "" without a number.
type iteration struct {
	N                                               int
	Residual, Relative, Gradient, Adjoint, Duration string
}

// mostRows is how many iterations the table shows at most.
const mostRows = 24

// Steps is how many rows the table would have with all iterations and the start.
func (r *Run) Steps() int { return len(r.Image.ResidualNorm) }

// Rows are the table of iterations.
func (r *Run) Rows() (rows []iteration) {
	h, g := r.Image.ResidualNorm, r.Image.GradientNorm
	told := map[int]Iteration{}
	if r.Log != nil {
		for _, it := range r.Log.Iterations {
			told[it.N] = it
		}
	}
	for _, n := range spread(r.Steps(), mostRows) {
		row := iteration{N: n, Residual: number(h[n]), Relative: relative(h, n), Gradient: relative(g, n)}
		if it, ok := told[row.N]; ok {
			row.Duration = readable.Duration(it.Seconds)
			if it.Adjoint != nil {
				row.Adjoint = fmt.Sprintf("%.1e", *it.Adjoint)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// drawConvergence draws the norms relative to their start, where they can be drawn.
func (p *page) drawConvergence() error {
	h, g := p.Image.ResidualNorm, p.Image.GradientNorm
	if len(h) < 2 {
		return nil
	}
	if len(g) == 0 || !(g[0] > 0) {
		g = nil
	}
	// Drawing fails only if numbers are not norms, and the verdict says so.
	_ = p.Course.add("norms of residual and gradient against the iteration", "")(picture.Convergence(picture.Options{}, picture.History{Residual: h, Gradient: g}))
	return nil
}

// relative is h[n] over h[0], "" if h has no n or h[0] is 0.
func relative(h []float64, n int) string {
	if n >= len(h) || h[0] == 0 {
		return ""
	}
	return fmt.Sprintf("%.3e", h[n]/h[0])
}

// spread picks at most k of the numbers 0 to n-1, evenly, the first and the last
// among them.
func spread(n, k int) (picks []int) {
	k = min(n, k)
	for i := range k {
		picks = append(picks, i*(n-1)/max(1, k-1))
	}
	return slices.Compact(picks)
}
