package survey_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/survey"
	"pgregory.net/rapid"
)

// fixed is a valid fixed spread of 2 sources and 3 receivers.
func fixed() *survey.Survey {
	return &survey.Survey{
		Dim:       2,
		Sources:   []float64{0, 5, 100, 5},
		Receivers: []float64{0, 2, 50, 2, 100, 2},
		Fixed:     true,
		NT:        4, DT: 0.004,
		Data:    make([]float32, 6*4),
		Wavelet: survey.Wavelet{Samples: []float64{0, 1, 0}, DT: 0.004, Zero: 1},
	}
}

// listed is the same survey as a list of traces, in another order, one missing.
func listed() *survey.Survey {
	s := fixed()
	s.Fixed = false
	s.SourceIndex = []int32{1, 0, 0, 1, 1}
	s.ReceiverIndex = []int32{2, 1, 0, 0, 1}
	s.Data = s.Data[:5*4]
	return s
}

func TestValidSurveys(t *testing.T) {
	for name, s := range map[string]*survey.Survey{"fixed": fixed(), "listed": listed()} {
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		s.Data = nil
		if err := s.Validate(); err != nil {
			t.Errorf("%s without data: %v", name, err)
		}
	}
	s := fixed()
	s.Wavelet.Samples = []float64{0, 1e-200, 0}
	if err := s.Validate(); err != nil {
		t.Errorf("a wavelet whose square underflows: %v", err)
	}
	s = fixed()
	s.Wavelet.DT *= 1 + 1e-9 // float32 in the file
	if err := s.Validate(); err != nil {
		t.Errorf("a wavelet's dt off by rounding: %v", err)
	}
}

// Every fault is found, and named with its place, value and limit.
func TestValidateNamesTheFault(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for want, spoil := range map[string]func(s *survey.Survey){
		"positions have 1 column, want 2":                   func(s *survey.Survey) { s.Dim = 1 },
		"positions have 4 columns":                          func(s *survey.Survey) { s.Dim = 4 },
		"0 sources and 3 receivers":                         func(s *survey.Survey) { s.Sources = nil },
		"2 sources and 0 receivers":                         func(s *survey.Survey) { s.Receivers = nil },
		"not a multiple of 2":                               func(s *survey.Survey) { s.Sources = s.Sources[:3] },
		"positions are not a multiple":                      func(s *survey.Survey) { s.Receivers = s.Receivers[:5] },
		"source 1 has coordinate NaN":                       func(s *survey.Survey) { s.Sources[2] = nan },
		"receiver 2 has coordinate +Inf":                    func(s *survey.Survey) { s.Receivers[5] = inf },
		"traces have 1 sample, need at least 2":             func(s *survey.Survey) { s.NT = 1 },
		"dt is 0 s, must be positive":                       func(s *survey.Survey) { s.DT = 0 },
		"dt is NaN s":                                       func(s *survey.Survey) { s.DT = nan },
		"dt is +Inf s":                                      func(s *survey.Survey) { s.DT = inf },
		"dt is -0.004 s":                                    func(s *survey.Survey) { s.DT = -0.004 },
		"t0 is NaN s":                                       func(s *survey.Survey) { s.T0 = nan },
		"t0 is +Inf s, must be finite":                      func(s *survey.Survey) { s.T0 = inf },
		"dt is 1e+308 s, must be from 1e-12 to 1e+06 s":     func(s *survey.Survey) { s.DT, s.Wavelet.DT = 1e308, 1e308 },
		"dt is 1e-300 s":                                    func(s *survey.Survey) { s.DT, s.Wavelet.DT = 1e-300, 1e-300 },
		"t0 is -1e+308 s":                                   func(s *survey.Survey) { s.T0 = -1e308 },
		"t0 is 1e+08 s, 2.5e+10 samples of 0.004 s from 0":  func(s *survey.Survey) { s.T0 = 1e8 },
		"source 0 has coordinate 1e+300":                    func(s *survey.Survey) { s.Sources[0] = 1e300 },
		"fixed spread carries no source_index":              func(s *survey.Survey) { s.Fixed = true },
		"source_index has 4 entries, receiver_index 5":      func(s *survey.Survey) { s.SourceIndex = s.SourceIndex[:4] },
		"no traces":                                         func(s *survey.Survey) { s.SourceIndex, s.ReceiverIndex = nil, nil },
		"source_index of trace 3 is 2, must be in [0, 1]":   func(s *survey.Survey) { s.SourceIndex[3] = 2 },
		"source_index of trace 0 is -1":                     func(s *survey.Survey) { s.SourceIndex[0] = -1 },
		"receiver_index of trace 4 is 3, must be in [0, 2]": func(s *survey.Survey) { s.ReceiverIndex[4] = 3 },
		"data has 19 samples, want 20 (5 traces of 4)":      func(s *survey.Survey) { s.Data = s.Data[:19] },
		"trace 2 has NaN at sample 3":                       func(s *survey.Survey) { s.Data[11] = float32(nan) },
		"trace 4 has -Inf at sample 0":                      func(s *survey.Survey) { s.Data[16] = float32(-inf) },
		"wavelet has no samples":                            func(s *survey.Survey) { s.Wavelet.Samples = nil },
		"zero is sample 3, must be in [0, 2]":               func(s *survey.Survey) { s.Wavelet.Zero = 3 },
		"zero is sample -1":                                 func(s *survey.Survey) { s.Wavelet.Zero = -1 },
		"wavelet: dt is 0.002 s, must equal":                func(s *survey.Survey) { s.Wavelet.DT = 0.002 },
		"wavelet: dt is NaN s":                              func(s *survey.Survey) { s.Wavelet.DT = nan },
		"wavelet: sample 1 is +Inf, must be finite":         func(s *survey.Survey) { s.Wavelet.Samples[1] = inf },
		"wavelet: all 3 samples are zero":                   func(s *survey.Survey) { s.Wavelet.Samples[1] = 0 },
	} {
		s := listed()
		spoil(s)
		err := s.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), "survey: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

// A fixed spread is the list of all pairs in C order.
func TestFixedSpreadIsTheListOfAllPairs(t *testing.T) {
	s := fixed()
	if s.NumTraces() != 6 || s.NumSources() != 2 || s.NumReceivers() != 3 {
		t.Fatalf("%d traces of %d sources and %d receivers", s.NumTraces(), s.NumSources(), s.NumReceivers())
	}
	i := 0
	for src := range 2 {
		for rec := range 3 {
			if a, b := s.Pair(i); a != src || b != rec {
				t.Errorf("trace %d is (%d, %d), want (%d, %d)", i, a, b, src, rec)
			}
			i++
		}
	}
	l := listed()
	if a, b := l.Pair(1); a != 0 || b != 1 || l.NumTraces() != 5 {
		t.Errorf("trace 1 of the list is (%d, %d), of %d", a, b, l.NumTraces())
	}
	if !slices.Equal(s.Source(1), []float64{100, 5}) || !slices.Equal(s.Receiver(1), []float64{50, 2}) {
		t.Errorf("source 1 at %v, receiver 1 at %v", s.Source(1), s.Receiver(1))
	}
}

// Silent tells the traces that are zero throughout, a lone last sample included.
func TestSilent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := make([]float32, rapid.IntRange(2, 6).Draw(t, "nt"))
		alive := rapid.Bool().Draw(t, "alive")
		if alive {
			trace[rapid.IntRange(0, len(trace)-1).Draw(t, "at")] = -1e-30
		}
		if survey.Silent(trace) == alive {
			t.Fatalf("%g: silent is %v", trace, !alive)
		}
	})
}
