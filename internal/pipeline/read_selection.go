package pipeline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// findKept lists the traces of a survey that remain after data.offset, data.azimuth and the
// intervals of gathers by offset. nil means all traces. It is an error if none remain.
func findKept(s *survey.Survey, cfg *config.Config) ([]int32, error) {
	d, bins := cfg.Data, offsetBins(cfg)
	if len(d.Offset) == 0 && len(d.Azimuth) == 0 && bins == nil {
		return nil, nil
	}
	if len(d.Azimuth) > 0 && s.Dim == 2 {
		return nil, status.Usage(errors.New("data.azimuth: the survey is 2-D, azimuths need a 3-D one"))
	}
	var keep []int32
	for i := range s.NumTraces() {
		offset := s.Offset(i)
		if bins != nil && FindInterval(bins, offset) < 0 {
			continue
		}
		if withinOffset(offset, d.Offset) && (len(d.Azimuth) == 0 || withinAzimuth(s.Azimuth(i), d.Azimuth)) {
			keep = append(keep, int32(i))
		}
	}
	switch len(keep) {
	case 0:
		near, far := s.Offsets()
		return nil, status.Input(fmt.Errorf("none of %s is left by %s; offsets are %s to %s m", readable.Count(s.NumTraces(), "trace"), selectionKeys(cfg), readable.Length(near), readable.Length(far)))
	case s.NumTraces():
		return nil, nil
	}
	return keep, nil
}

// SelectTraces reads everything about the traces that are kept, except their samples. The
// places and the other files are left out.
func SelectTraces(cfg *config.Config) (in *Inputs, err error) {
	file := cfg.Survey.File.File
	in = &Inputs{}
	r, err := h5.OpenSurvey(file)
	if err != nil {
		return nil, err
	}
	in.Survey, in.HasData, in.Chunks = r.Survey(), r.HasData(), r.Chunks()
	r.Close()
	if w := cfg.Survey.Wavelet; w.IsSet() {
		if in.Survey.Wavelet, err = h5.ReadWavelet(w.File); err != nil {
			return nil, err
		}
		if err := in.Survey.Wavelet.Fits(in.Survey.DT); err != nil {
			return nil, status.Input(fmt.Errorf("%s: %w", w.File, err))
		}
	}
	if err := in.enterModel(cfg); err != nil {
		return nil, err
	}
	in.Recorded = in.Survey.NumTraces()
	if in.Numbers, err = findKept(in.Survey, cfg); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if in.Numbers != nil {
		in.Survey = in.Survey.Select(in.Numbers)
	}
	return in, nil
}

// SelectionText says how many of the recorded traces remain and which keys selected them.
// It is "" if all remain.
func (in *Inputs) SelectionText(cfg *config.Config) string {
	if in.Numbers == nil {
		return ""
	}
	n := len(in.Numbers)
	return fmt.Sprintf("%d of %s %s left by %s", n, readable.Count(in.Recorded, "trace"), english.PluralWord(n, "is", "are"), selectionKeys(cfg))
}

// selectionKeys names what selects traces.
func selectionKeys(cfg *config.Config) string {
	var list []string
	d := cfg.Data
	if len(d.Offset) > 0 {
		list = append(list, fmt.Sprintf("data.offset = [%s, %s] m", readable.Length(d.Offset[0]), readable.Length(d.Offset[1])))
	}
	if len(d.Azimuth) > 0 {
		list = append(list, fmt.Sprintf("data.azimuth = [%g, %g] degrees", d.Azimuth[0], d.Azimuth[1]))
	}
	if bins := offsetBins(cfg); bins != nil {
		list = append(list, fmt.Sprintf("image.gather_bins from %s to %s m", readable.Length(bins[0]), readable.Length(bins[len(bins)-1])))
	}
	return strings.Join(list, " and ")
}

// offsetBins are the intervals of gathers by offset; nil without such gathers.
func offsetBins(cfg *config.Config) []float64 {
	if cfg.Image.Gathers != "offset" {
		return nil
	}
	return cfg.Image.GatherBins
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
// degrees. NaN, for a receiver at its source, is in every range.
func withinAzimuth(azimuth float64, limit []float64) bool {
	if math.IsNaN(azimuth) {
		return true
	}
	turn := math.Ceil((limit[0] - azimuthSlack - azimuth) / 180)
	return azimuth+180*turn <= limit[1]+azimuthSlack
}

// FindInterval is the number of the interval [limit, next limit) that holds v, the last
// one with its end; −1 for none.
func FindInterval(limits []float64, v float64) int32 {
	last := len(limits) - 1
	if v == limits[last] {
		return int32(last - 1)
	}
	at, found := slices.BinarySearch(limits, v)
	if !found {
		at--
	}
	if at >= last {
		return -1
	}
	return int32(at)
}
