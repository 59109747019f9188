package fielddata

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/segy"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// ReadWavelet reads a source signature: that of a wavelet or survey file, the first trace of
// a SEG-Y or SU file, or a text of one number a line, in which "#" begins a
// comment. zero is the index of its time zero; negative, it is the survey's own,
// or follows from the delay of the trace, and is 0 in a text. dt is in s, that of
// the traces: a text has none of its own.
func ReadWavelet(path string, zero int, dt float64) (w survey.Wavelet, err error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".h5", ".hdf5":
		w, err = h5.ReadWavelet(path)
	case ".sgy", ".segy", ".su":
		w, err = traceWavelet(path)
	default:
		w, err = textWavelet(path, dt)
	}
	if err != nil {
		return w, err
	}
	if zero >= 0 {
		w.Zero = zero
	}
	switch {
	case w.Zero < 0 || w.Zero >= len(w.Samples):
		return w, status.Usage(fmt.Errorf("%s: time zero of the wavelet is sample %d, must be in [0, %d]", path, w.Zero, len(w.Samples)-1))
	case !(math.Abs(w.DT-dt) <= 1e-6*dt):
		return w, status.Input(fmt.Errorf("%s: the wavelet's sampling interval is %g ms, the traces' %g ms: must be equal", path, 1e3*w.DT, 1e3*dt))
	}
	return w, nil
}

func traceWavelet(path string) (w survey.Wavelet, err error) {
	f, err := segy.Open(path, segy.Options{})
	if err != nil {
		return w, inputError(err)
	}
	defer f.Close()
	t, err := f.Reader().Next(false)
	if err == nil && t.NS > longestWavelet {
		return w, status.Input(fmt.Errorf("%s: trace 1 has %d samples, the limit is %d: this is no wavelet", path, t.NS, longestWavelet))
	}
	if err == nil {
		t, err = f.Reader().Next(true)
	}
	if err != nil {
		return w, inputError(err)
	}
	w.DT = cmp.Or(f.TraceInterval(t), f.Interval)
	for _, v := range t.Samples {
		w.Samples = append(w.Samples, float64(v))
	}
	if w.DT > 0 {
		scalar := int(segy.TimeScalar.Int(t.Header, f.ByteOrder()))
		if f.Kind == segy.SU {
			scalar = 0 // unassigned there
		}
		w.Zero = -int(math.Round(scaled(segy.Delay.Value(t.Header, f.ByteOrder()), scalar) / 1000 / w.DT))
	}
	return w, nil
}

// longestWavelet bounds what is read of a text.
const longestWavelet = 1 << 20

func textWavelet(path string, dt float64) (w survey.Wavelet, err error) {
	file, err := plainfile.Open(path)
	if err != nil {
		return w, status.Usage(err)
	}
	defer file.Close()
	w.DT = dt
	lines := bufio.NewScanner(plainfile.Text(file))
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		for _, word := range strings.Fields(text) {
			v, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return w, status.Input(fmt.Errorf("%s: line %d: %q is no number", path, n, word))
			}
			if w.Samples = append(w.Samples, v); len(w.Samples) > longestWavelet {
				return w, status.Input(fmt.Errorf("%s: more than %d numbers: this is no wavelet", path, longestWavelet))
			}
		}
	}
	if err := lines.Err(); err != nil {
		return w, status.Input(fmt.Errorf("%s: %w", path, err))
	}
	return w, nil
}

// PeakFrequency is where the mean power spectrum of the first traces of a file is
// greatest, Hz; 0 where that cannot be told.
func PeakFrequency(path string, opt segy.Options) float64 {
	const most = 64
	f, err := segy.Open(path, opt)
	if err != nil {
		return 0
	}
	defer f.Close()
	f.MaxSamples = longestWavelet
	var power []float64
	dt, n := f.Interval, 0
	r := f.Reader()
	for range most {
		t, err := r.Next(true)
		if err != nil {
			break
		}
		dt = cmp.Or(dt, f.TraceInterval(t))
		if n == 0 {
			n = t.NS
			power = make([]float64, n/2+1)
		}
		if t.NS == n {
			addPower(power, t.Samples)
		}
	}
	if n < 8 || dt == 0 {
		return 0
	}
	return float64(peak(power)) / (float64(n) * dt)
}

// addPower adds the power spectrum of a trace of finite samples, scaled so that each
// trace counts the same.
func addPower(power []float64, v []float32) {
	x := make([]float64, len(v))
	for i, s := range v {
		x[i] = float64(s)
	}
	sum := floats.Dot(x, x)
	if !(sum > 0 && sum <= math.MaxFloat64) {
		return
	}
	for i, c := range fourier.NewFFT(len(x)).Coefficients(nil, x) {
		power[i] += (real(c)*real(c) + imag(c)*imag(c)) / sum
	}
}

// peak is the index of the greatest mean of nine neighbours.
func peak(power []float64) int {
	mean := make([]float64, len(power))
	for i := range power {
		near := power[max(0, i-4):min(len(power), i+5)]
		mean[i] = floats.Sum(near) / float64(len(near))
	}
	return floats.MaxIdx(mean)
}
