// Package surveytest reads whole surveys, for tests.
package surveytest

import (
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Read reads the survey in a file, with its traces if it has any.
func Read(path string) (*survey.Survey, error) {
	r, err := h5.OpenSurvey(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := r.Survey()
	if r.HasData() {
		s.Data = make([]float32, s.NumTraces()*s.NT)
		err = r.ReadTraces(s.Data, 0, s.NumTraces())
	}
	return s, err
}
