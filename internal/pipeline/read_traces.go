package pipeline

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// OpenTraces opens the survey file to read its traces, once rank 0 has compared them with
// their digests for all, and says what they were made with as far as the file tells. It is
// collective.
func (in *Inputs) OpenTraces(r Ranks, cfg *config.Config) (f *h5.SurveyReader, made []config.Setting, err error) {
	file := cfg.Survey.File.File
	if f, err = openVerified(&r, file, h5.OpenSurvey); err != nil {
		return nil, nil, err
	}
	if !f.HasData() {
		err = status.Hint(status.Input(fmt.Errorf("%s: dataset /data is missing", file)),
			`"lsm model" makes data from a reflectivity`)
	} else {
		made, err = readMadeWith(f)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, made, nil
}

// InFile returns the numbers, in the survey file, of traces of Survey.
func (in *Inputs) InFile(traces []int32) []int32 {
	if in.Numbers == nil {
		return traces
	}
	list := make([]int32, len(traces))
	for i, n := range traces {
		list[i] = in.Numbers[n]
	}
	return list
}

// operatorPrefix is the beginning of the names of a survey's root attributes that say
// what its traces were made with; a configuration key follows.
const operatorPrefix = "operator."

// OperatorAttrs returns the settings that shape traces as attributes for the file of
// those traces.
func OperatorAttrs(settings []config.Setting) []h5.Attr {
	var list []h5.Attr
	for _, s := range settings {
		list = append(list, h5.Attr{Name: operatorPrefix + s.Key, Value: s.Value})
	}
	return list
}

// readMadeWith reads the attributes that OperatorAttrs made. A survey from another program
// has none.
func readMadeWith(r *h5.SurveyReader) (list []config.Setting, err error) {
	a := r.Attrs()
	for _, f := range config.Fields() {
		name := operatorPrefix + f.Name()
		if !a.Has(name) {
			continue
		}
		value, err := a.Text(name)
		if err != nil {
			return nil, err
		}
		list = append(list, config.Setting{Key: f.Name(), Value: value})
	}
	return list, nil
}

// Largest magnitudes between which sums of products in single precision, over all traces
// and samples, neither overflow nor vanish.
const (
	leastSample, greatestSample   = 1e-20, 1e20 // of traces and images
	leastWavelet, greatestWavelet = 1e-12, 1e12
	leastProduct, greatestProduct = 1e-30, 1e26 // of a sample and the wavelet's square, as in A Aᵀ d
)

// checkMagnitude refuses numbers whose largest magnitude lies outside the limits. It accepts
// numbers that are all zero.
func checkMagnitude(file, what string, peak, least, greatest float64) error {
	fault := "overflow"
	switch {
	case peak == 0 || peak >= least && peak <= greatest:
		return nil
	case peak < least:
		fault = "vanish"
	}
	return status.Hint(status.Input(fmt.Errorf("%s: the largest %s is %.3g: sums in single precision %s, must be from %g to %g", file, what, peak, fault, least, greatest)),
		"multiply all by a constant: the image grows with the traces and shrinks with the wavelet")
}

// CheckWavelet refuses a wavelet whose products overflow or vanish in single precision.
func CheckWavelet(file string, w survey.Wavelet) error {
	return checkMagnitude(file, "sample of the wavelet", survey.Peak(w.Samples), leastWavelet, greatestWavelet)
}

// CheckTraces refuses traces with the given largest magnitude, for an operator with a
// wavelet.
func CheckTraces(file string, peak float64, wavelet survey.Wavelet) error {
	w := survey.Peak(wavelet.Samples)
	if err := checkMagnitude(file, "sample of the traces", peak, leastSample, greatestSample); err != nil {
		return err
	}
	return checkMagnitude(file, fmt.Sprintf("sample of the traces times the square of the wavelet's, %.3g,", w), peak*w*w, leastProduct, greatestProduct)
}
