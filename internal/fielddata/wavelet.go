package fielddata

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/segy"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// ReadWavelet reads a source signature: that of a wavelet or survey file, the first trace of
// a SEG-Y or SU file, or a text: of one number a line, or of a time and a number, see textWavelet.
// zero is the index of its time zero; if negative, it is the survey's own, or follows from the
// delay of the trace or the times of the text, and is 0 in a text without times. dt is in s, that
// of the traces: a text without times has none of its own.
func ReadWavelet(path string, zero int, dt float64) (w survey.Wavelet, err error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".h5", ".hdf5":
		w, err = h5.ReadWavelet(path)
	case ".sgy", ".segy", ".su":
		w, err = traceWavelet(path)
	default:
		w, err = textWavelet(path, zero, dt)
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
		w.Zero = -int(math.Round(segy.Scaled(segy.Delay.Value(t.Header, f.ByteOrder()), scalar) / 1000 / w.DT))
	}
	return w, nil
}

// longestWavelet bounds the samples of a wavelet.
const longestWavelet = 1 << 20

// PeakFrequency is where the mean spectrum of the first traces of a file is greatest, Hz; 0
// where that cannot be told.
func PeakFrequency(path string, opt segy.Options) float64 {
	const most = 64
	f, err := segy.Open(path, opt)
	if err != nil {
		return 0
	}
	defer f.Close()
	f.MaxSamples = longestWavelet
	var s *wavelet.Spectrum
	n, r := 0, f.Reader()
	for range most {
		t, err := r.Next(true)
		if err != nil {
			break
		}
		if dt := cmp.Or(f.Interval, f.TraceInterval(t)); s == nil && t.NS >= 8 && dt > 0 {
			n, s = t.NS, wavelet.NewSpectrum(t.NS, dt)
		}
		if s != nil && t.NS == n {
			s.Add(t.Samples)
		}
	}
	if s == nil || s.Traces == 0 {
		return 0
	}
	return s.Frequencies()[floats.MaxIdx(s.Amplitudes())]
}
