package pipeline

import (
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// comparedTraces is how many traces, spread over the survey, stand for all.
const comparedTraces = 256

// Spectra is how the wavelet with which the operator makes the reflection of a layer agrees with the
// traces.
type Spectra struct {
	wavelet.Comparison
	Turn     float64 // degrees by which the wavelet would be turned for the traces to be most like spikes
	Contrast float64 // how much it matters, see wavelet.Turn
}

// CompareSpectra compares some of the traces, muted and without those of weight 0, with the wavelet. It is nil where the survey
// has no traces, where those that were read are silent, and on all ranks but rank 0. It is
// collective.
func (j *Job) CompareSpectra() (*Spectra, error) {
	if !j.plan.Inputs.HasData {
		return nil, nil
	}
	var c *Spectra
	err := j.Ranks.AtRoot(func() (err error) {
		c, err = j.compareSpectra()
		return err
	})
	return c, err
}

func (j *Job) compareSpectra() (*Spectra, error) {
	file, err := h5.OpenSurvey(j.plan.Config.Survey.File.File)
	if err != nil {
		return nil, FileError(err)
	}
	defer file.Close()
	s := j.plan.Geometry.Survey
	n := min(comparedTraces, s.NumTraces())
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i * s.NumTraces() / n)
	}
	data := make([]float32, n*s.NT)
	if err := file.ReadTraceList(data, j.plan.Inputs.InFile(list)); err != nil {
		return nil, FileError(err)
	}
	weights := NewTraceWeights(j.plan.Config.Data, s)
	w := make([]float32, s.NT)
	for i, trace := range list {
		samples := data[i*s.NT : (i+1)*s.NT]
		if weights.Of(int(trace), samples, w) == 0 {
			clear(w)
		}
		for k, v := range w {
			samples[k] *= v
		}
	}
	taps := TapsOf(j.plan.Config.Kirchhoff, j.plan.Geometry, s.Wavelet).Taps()
	spectrum := wavelet.NewSpectrum(max(s.NT, len(taps.Samples)), s.DT)
	v := spectrum.Reflected(taps, s.Dim)
	turn := spectrum.Turn(v)
	for trace := range slices.Chunk(data, s.NT) {
		spectrum.Add(trace)
		turn.Add(trace)
	}
	if spectrum.Traces == 0 {
		return nil, nil
	}
	c := &Spectra{Comparison: spectrum.Compare(v.Samples, len(taps.Samples))}
	c.Turn, c.Contrast = turn.Best()
	return c, nil
}
