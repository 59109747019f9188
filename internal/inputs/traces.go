package inputs

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Recording is the open survey file with its traces.
type Recording struct {
	Made []config.Setting // that the traces were made with, as far as the file tells

	file    *h5.SurveyReader
	numbers []int32 // as Inputs.Numbers
}

// OpenTraces opens the survey file to read its traces, once rank 0 has compared them with
// their digests for all. It is collective.
func (in *Inputs) OpenTraces(r Ranks, cfg *config.Config) (*Recording, error) {
	file := cfg.Survey.File.File
	if err := r.verify(func() (verifier, error) { return h5.OpenSurvey(file) }); err != nil {
		return nil, err
	}
	f, err := h5.OpenSurvey(file)
	if err != nil {
		return nil, err
	}
	f.Trust()
	rec := &Recording{file: f, numbers: in.Numbers}
	if !f.HasData() {
		err = status.Hint(status.Input(fmt.Errorf("%s: dataset /data is missing", file)),
			`"lsm model" makes data from a reflectivity`)
	} else {
		rec.Made, err = madeWith(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return rec, nil
}

// Read reads traces [len(traces), NT], given by their numbers in Inputs.Survey.
func (rec *Recording) Read(dst []float32, traces []int32) error {
	if rec.numbers != nil {
		there := make([]int32, len(traces))
		for i, n := range traces {
			there[i] = rec.numbers[n]
		}
		traces = there
	}
	return FileError(rec.file.ReadTraceList(dst, traces))
}

// Unchanged makes sure that the file is the one that was opened.
func (rec *Recording) Unchanged() error { return FileError(rec.file.Unchanged()) }

// Close closes the file.
func (rec *Recording) Close() error { return rec.file.Close() }

// operatorPrefix is the beginning of the names of a survey's root attributes that say
// what its traces were made with; a configuration key follows.
const operatorPrefix = "operator."

// OperatorAttrs tell the settings that shape traces, for the file of those traces.
func OperatorAttrs(settings []config.Setting) []h5.Attr {
	var list []h5.Attr
	for _, s := range settings {
		list = append(list, h5.Attr{Name: operatorPrefix + s.Key, Value: s.Value})
	}
	return list
}

// madeWith reads what OperatorAttrs wrote. A survey from elsewhere tells nothing.
func madeWith(r *h5.SurveyReader) (list []config.Setting, err error) {
	a := r.Attrs()
	for _, key := range config.ModelledKeys() {
		name := operatorPrefix + key
		if !a.Has(name) {
			continue
		}
		value, err := a.Text(name)
		if err != nil {
			return nil, err
		}
		list = append(list, config.Setting{Key: key, Value: value})
	}
	return list, nil
}
