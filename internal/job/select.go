package job

import (
	"errors"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Select lists the traces of a survey that data.offset and data.azimuth leave; nil
// stands for all of them. That nothing is left is an error.
func Select(s *survey.Survey, d config.Data) ([]int32, error) {
	if len(d.Offset) == 0 && len(d.Azimuth) == 0 {
		return nil, nil
	}
	if len(d.Azimuth) > 0 && s.Dim == 2 {
		return nil, status.Usage(errors.New("data.azimuth: the survey is 2-D, azimuths need a 3-D one"))
	}
	var keep []int32
	near, far := math.Inf(1), 0.0
	for i := range s.NumTraces() {
		offset := s.Offset(i)
		near, far = min(near, offset), max(far, offset)
		if withinOffset(offset, d.Offset) && (len(d.Azimuth) == 0 || withinAzimuth(s.Azimuth(i), d.Azimuth)) {
			keep = append(keep, int32(i))
		}
	}
	switch len(keep) {
	case 0:
		return nil, status.Input(fmt.Errorf("none of %d traces is left by %s; offsets are %.6g to %.6g m", s.NumTraces(), limits(d), near, far))
	case s.NumTraces():
		return nil, nil
	}
	return keep, nil
}

// selected reads everything but the samples of the traces that data.offset and
// data.azimuth leave; keep are their numbers in the file, nil where these are all the
// same, and of how many it has.
func selected(cfg *config.Config) (s *survey.Survey, keep []int32, of int, err error) {
	file := cfg.Survey.File.File
	if s, _, err = h5.ReadSurveyHeader(file); err != nil {
		return nil, nil, 0, err
	}
	of = s.NumTraces()
	if keep, err = Select(s, cfg.Data); err != nil {
		return nil, nil, 0, fmt.Errorf("%s: %w", file, err)
	}
	if keep != nil {
		s = s.Select(keep)
	}
	return s, keep, of, nil
}

// limits names what selects traces.
func limits(d config.Data) string {
	s := ""
	if len(d.Offset) > 0 {
		s = fmt.Sprintf("data.offset = [%g, %g] m", d.Offset[0], d.Offset[1])
	}
	if len(d.Azimuth) > 0 {
		if s != "" {
			s += " and "
		}
		s += fmt.Sprintf("data.azimuth = [%g, %g] degrees", d.Azimuth[0], d.Azimuth[1])
	}
	return s
}

// Slacks for positions that are multiples of a spacing on paper only.
const (
	offsetSlack  = 1e-3 // m
	azimuthSlack = 1e-6 // degrees
)

func withinOffset(offset float64, limit []float64) bool {
	return len(limit) == 0 || offset >= limit[0]-offsetSlack && offset <= limit[1]+offsetSlack
}

// withinAzimuth reports whether an azimuth, or its reverse, lies in a range of
// degrees. One that there is not, NaN, is in every range.
func withinAzimuth(azimuth float64, limit []float64) bool {
	if math.IsNaN(azimuth) {
		return true
	}
	turn := math.Ceil((limit[0] - azimuthSlack - azimuth) / 180)
	return azimuth+180*turn <= limit[1]+azimuthSlack
}

// inFile is the numbers, in the survey file, of traces of the run.
func (j *Job) inFile(traces []int32) []int32 {
	if j.file == nil {
		return traces
	}
	list := make([]int32, len(traces))
	for i, n := range traces {
		list[i] = j.file[n]
	}
	return list
}
