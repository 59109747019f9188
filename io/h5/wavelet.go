package h5

import (
	"github.com/kirchhoff-lsm/lsm/survey"
)

// ReadWavelet reads the wavelet /wavelet [nw] of a file, with its sampling interval in s and the
// index of its time zero from the attributes dt and zero. The file may be a wavelet file, a
// survey, or an image of an earlier version that found one beside it.
func ReadWavelet(path string) (survey.Wavelet, error) {
	return reading(path, func(f *File) (survey.Wavelet, error) {
		if err := f.checkFormat(FormatWavelet, FormatSurvey, FormatImage); err != nil {
			return survey.Wavelet{}, err
		}
		w, err := f.wavelet()
		if err == nil {
			err = f.fits(w)
		}
		return w, err
	})
}

// fits refuses a wavelet that is none.
func (f *File) fits(w survey.Wavelet) error {
	if fault := w.Fits(w.DT); fault != nil {
		return inputError(f.path, "", "%w", fault)
	}
	return nil
}

// wavelet reads the wavelet of a file.
func (f *File) wavelet() (w survey.Wavelet, err error) {
	d, err := f.Dataset("/wavelet")
	if err != nil {
		return w, err
	}
	if len(d.shape) != 1 || d.len == 0 {
		return w, d.unwanted("[nw]")
	}
	if w.DT, err = d.Attrs().Float("dt"); err == nil {
		w.Zero, err = d.Attrs().Int("zero")
	}
	if err != nil {
		return w, err
	}
	w.Samples, err = Read[float64](d)
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
	w.wavelet(v)
	if err := w.failed(); err != nil {
		return err
	}
	return w.Commit()
}

// wavelet writes /wavelet [nw]. The writer keeps its first error.
func (w *Writer) wavelet(v survey.Wavelet) {
	axes := []axis{regular("/wavelet_t", len(v.Samples), -float64(v.Zero)*v.DT, v.DT, "s")}
	over(w, "/wavelet", axes, v.Samples, Attr{"dt", v.DT}, Attr{"zero", v.Zero})
}
