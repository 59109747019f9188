package h5

import (
	"github.com/kirchhoff-lsm/lsm/survey"
)

// ReadWavelet reads the wavelet /wavelet [nw] of a file, with its sampling interval in s and the
// index of its time zero from the attributes dt and zero. The file may be a wavelet file, a
// survey or an image.
func ReadWavelet(path string) (survey.Wavelet, error) {
	return reading(path, func(f *File) (w survey.Wavelet, err error) {
		if err = f.checkFormat(FormatWavelet, FormatSurvey, FormatImage); err == nil {
			w, err = f.wavelet()
		}
		if err != nil {
			return w, err
		}
		if fault := w.Fits(w.DT); fault != nil {
			return w, inputError(f.path, "", "%w", fault)
		}
		return w, nil
	})
}

func (f *File) wavelet() (w survey.Wavelet, err error) {
	d, err := f.Dataset("/wavelet")
	if err != nil {
		return w, err
	}
	if len(d.shape) == 2 && d.shape[0] > 1 {
		return w, inputError(f.path, "/wavelet", "holds %d wavelets, one for each source, want one for all", d.shape[0])
	}
	if w.DT, err = d.Attrs().Float("dt"); err == nil {
		w.Zero, err = d.Attrs().Int("zero")
	}
	if err == nil {
		w.Samples, err = load[float64](f, "/wavelet", "[nw]", -1)
	}
	return w, err
}

// WriteWavelet writes a wavelet file.
func WriteWavelet(path string, v survey.Wavelet, opt WriteOptions) error {
	if err := v.Fits(v.DT); err != nil {
		return inputError(path, "", "%w", err)
	}
	w, err := Create(path, FormatWavelet, opt)
	if err != nil {
		return err
	}
	defer w.Abort()
	w.wavelets(v)
	if err := w.failed(); err != nil {
		return err
	}
	return w.Commit()
}

// wavelets writes /wavelet: [nw], or [ns, nw] where each source has its own, all of one length.
// The writer keeps its first error.
func (w *Writer) wavelets(list ...survey.Wavelet) {
	v := list[0]
	axes := []axis{regular("/wavelet_t", len(v.Samples), -float64(v.Zero)*v.DT, v.DT, "s")}
	samples := v.Samples
	if len(list) > 1 {
		axes, samples = append([]axis{{name: "/source", size: len(list)}}, axes...), nil
		for _, v := range list {
			samples = append(samples, v.Samples...)
		}
	}
	over(w, "/wavelet", axes, samples, Attr{"dt", v.DT}, Attr{"zero", v.Zero})
}
