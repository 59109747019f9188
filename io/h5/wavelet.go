package h5

import (
	"slices"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// ReadWavelet reads the wavelet /wavelet [nw] of a file, with its sampling interval in s and the
// index of its time zero from the attributes dt and zero. The file may be a wavelet file, a
// survey or an image.
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

// ReadWavelets reads the wavelets that were estimated beside an image: one, or [ns, nw], one for
// each source.
func ReadWavelets(path string) ([]survey.Wavelet, error) {
	return reading(path, func(f *File) ([]survey.Wavelet, error) {
		if err := f.checkFormat(FormatImage); err != nil {
			return nil, err
		}
		list, err := f.wavelets()
		for _, w := range list {
			if err == nil {
				err = f.fits(w)
			}
		}
		return list, err
	})
}

// fits refuses a wavelet that is none.
func (f *File) fits(w survey.Wavelet) error {
	if fault := w.Fits(w.DT); fault != nil {
		return inputError(f.path, "", "%w", fault)
	}
	return nil
}

// wavelet is the one of a file that must have one alone.
func (f *File) wavelet() (w survey.Wavelet, err error) {
	d, err := f.Dataset("/wavelet")
	if err != nil {
		return w, err
	}
	if len(d.shape) != 1 {
		return w, d.unwanted("[nw]: one wavelet for all sources, not one for each")
	}
	list, err := f.wavelets()
	if err != nil {
		return w, err
	}
	return list[0], nil
}

// wavelets are those of a file, [nw] or [ns, nw].
func (f *File) wavelets() ([]survey.Wavelet, error) {
	d, err := f.Dataset("/wavelet")
	if err != nil {
		return nil, err
	}
	if n := len(d.shape); n != 1 && n != 2 || d.len == 0 {
		return nil, d.unwanted("[nw], or [ns, nw]")
	}
	var w survey.Wavelet
	if w.DT, err = d.Attrs().Float("dt"); err == nil {
		w.Zero, err = d.Attrs().Int("zero")
	}
	if err != nil {
		return nil, err
	}
	samples, err := Read[float64](d)
	var list []survey.Wavelet
	for part := range slices.Chunk(samples, d.shape[len(d.shape)-1]) {
		w.Samples = part
		list = append(list, w)
	}
	return list, err
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
