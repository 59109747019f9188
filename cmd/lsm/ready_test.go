package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// readyRow is a row as lsm ready --json gives it.
type readyRow struct {
	Event, Name, Level, Text string
	Traces                   []int
}

// ready runs lsm ready on a survey and returns its rows by name.
func ready(t *testing.T, path string, args ...string) (code int, rows map[string]readyRow) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(append([]string{"ready", path, "--json"}, args...), &out, &errs)
	rows = map[string]readyRow{}
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var r readyRow
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r.Event == "row" {
			rows[r.Name] = r
		}
	}
	if len(rows) == 0 {
		t.Fatalf("status %d, no rows: %s%s", code, out.String(), errs.String())
	}
	return code, rows
}

// readySurvey is a clean synthetic survey as a list of traces.
func readySurvey(t *testing.T, args ...string) *survey.Survey {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "s")
	var out, errs bytes.Buffer
	if code := run(append([]string{"synth"}, append(args, "-o", folder)...), &out, &errs); code != 0 {
		t.Fatalf("synth: status %d: %s", code, errs.String())
	}
	s, err := surveytest.Read(filepath.Join(folder, "survey.h5"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Fixed {
		for i := range s.NumTraces() {
			from, to := s.Pair(i)
			s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, int32(from)), append(s.ReceiverIndex, int32(to))
		}
		s.Fixed = false
	}
	return s
}

// keepTraces keeps the traces of a survey that are wanted.
func keepTraces(s *survey.Survey, want func(source, receiver int) bool) {
	n := 0
	for i := range s.NumTraces() {
		if from, to := s.Pair(i); want(from, to) {
			s.SourceIndex[n], s.ReceiverIndex[n] = int32(from), int32(to)
			copy(s.Data[n*s.NT:(n+1)*s.NT], s.Data[i*s.NT:(i+1)*s.NT])
			n++
		}
	}
	s.SourceIndex, s.ReceiverIndex, s.Data = s.SourceIndex[:n], s.ReceiverIndex[:n], s.Data[:n*s.NT]
	places := func(dim int, xyz []float64, index []int32) (kept []float64) {
		number := map[int32]int32{}
		for i, row := range index {
			if _, ok := number[row]; !ok {
				number[row] = int32(len(kept) / dim)
				kept = append(kept, xyz[int(row)*dim:int(row+1)*dim]...)
			}
			index[i] = number[row]
		}
		return kept
	}
	s.Sources, s.Receivers = places(s.Dim, s.Sources, s.SourceIndex), places(s.Dim, s.Receivers, s.ReceiverIndex)
}

// scaleTraces multiplies traces.
func scaleTraces(s *survey.Survey, by float32, of func(source, receiver int) bool) (list []int) {
	for i := range s.NumTraces() {
		if from, to := s.Pair(i); of(from, to) {
			list = append(list, i)
			for k := range s.NT {
				s.Data[i*s.NT+k] *= by
			}
		}
	}
	return list
}

// TestReady injects faults into clean surveys: a fixed spread, a streamer, a split spread
// and one in 3-D. The clean ones are ready; each fault is found in the row it belongs to, at
// the traces that have it, and in no other row of outliers.
func TestReady(t *testing.T) {
	quietEnvironment(t)
	one := func(list ...int) func(s *survey.Survey, by float32) []int {
		return func(s *survey.Survey, by float32) []int {
			for _, i := range list {
				for k := range s.NT {
					s.Data[i*s.NT+k] *= by
				}
			}
			return list
		}
	}
	spike := func(at ...int) func(s *survey.Survey) []int {
		return func(s *survey.Survey) []int {
			most := float32(0)
			for _, v := range s.Data {
				most = max(most, v)
			}
			for _, i := range at {
				s.Data[i*s.NT+s.NT/2+i%50] = 10 * most
			}
			return at
		}
	}
	faults := []struct {
		name, row string
		inject    func(s *survey.Survey) []int // the traces at fault; nil: not listed
		traces    bool
	}{
		{"spikes", "spikes", spike(7, 260, 401), true},
		{"reversed traces", "polarity", func(s *survey.Survey) []int { return one(33, 150, 303)(s, -1) }, true},
		{"a reversed pair", "polarity", func(s *survey.Survey) []int { return one(206, 207)(s, -1) }, true},
		{"a reversed source", "polarity", func(s *survey.Survey) []int {
			return scaleTraces(s, -1, func(source, _ int) bool { return source == 5 })
		}, true},
		{"a strong and a weak trace", "scale", func(s *survey.Survey) []int { return append(one(77)(s, 30), one(222)(s, 0.03)...) }, true},
		{"a strong source", "scale", func(s *survey.Survey) []int {
			return scaleTraces(s, 10, func(source, _ int) bool { return source == 4 })
		}, true},
		{"a weak receiver", "scale", func(s *survey.Survey) []int {
			row := int(s.ReceiverIndex[s.NumTraces()/2+20])
			return scaleTraces(s, 0.02, func(_, receiver int) bool { return receiver == row })
		}, false},
		{"a trace that is there twice", "traces", func(s *survey.Survey) []int {
			s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, s.SourceIndex[9]), append(s.ReceiverIndex, s.ReceiverIndex[9])
			s.Data = append(s.Data, s.Data[9*s.NT:10*s.NT]...)
			return nil
		}, false},
		{"samples of another trace", "samples", func(s *survey.Survey) []int {
			copy(s.Data[100*s.NT:101*s.NT], s.Data[106*s.NT:107*s.NT])
			return nil
		}, false},
		{"missing sources", "sources", func(s *survey.Survey) []int {
			keepTraces(s, func(source, _ int) bool { return source != 3 && source != 4 })
			return nil
		}, false},
		{"a missing receiver", "spread", func(s *survey.Survey) []int {
			row := int(s.ReceiverIndex[s.NumTraces()/2+20])
			keepTraces(s, func(_, receiver int) bool { return receiver != row })
			return nil
		}, false},
		{"dead traces", "dead", func(s *survey.Survey) []int {
			return scaleTraces(s, 0, func(_, receiver int) bool { return receiver%10 == 0 })
		}, true},
		{"a wavelet of another band", "band", func(s *survey.Survey) []int {
			for i := range s.Wavelet.Samples {
				s.Wavelet.Samples[i] *= math.Cos(math.Pi * float64(i)) // moves the band to Nyquist
			}
			return nil
		}, false},
	}
	for name, args := range map[string][]string{
		"fixed":    {"ava", "--shots", "10", "--channels", "61"},
		"streamer": {"faults", "--shots", "14"},
		"land":     {"layers", "--shots", "14"},
		"3-D":      {"cube", "--channels", "20", "--receiver-spacing", "30"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clean := readySurvey(t, args...)
			path := filepath.Join(t.TempDir(), "survey.h5")
			write := func(s *survey.Survey) {
				if err := h5.WriteSurvey(path, s, h5.WriteOptions{Force: true}); err != nil {
					t.Fatal(err)
				}
			}
			write(clean)
			if code, rows := ready(t, path); code != status.Done {
				t.Errorf("clean: status %d: %v", code, rows)
			}
			rough := *clean // noise, and places off their stations
			rough.Data, rough.Receivers = slices.Clone(clean.Data), slices.Clone(clean.Receivers)
			random := rand.New(rand.NewPCG(3, 4))
			sum := 0.0
			for _, v := range clean.Data {
				sum += float64(v) * float64(v)
			}
			for i := range rough.Data {
				rough.Data[i] += float32(0.1 * random.NormFloat64() * math.Sqrt(sum/float64(len(clean.Data))))
			}
			for i := 0; i < len(rough.Receivers) && clean.Dim == 2; i += 2 {
				rough.Receivers[i] += 2 * random.Float64()
			}
			write(&rough)
			if code, rows := ready(t, path); code != status.Done {
				t.Errorf("rough: status %d: %v", code, rows)
			}
			for _, f := range faults {
				if clean.Dim == 3 && slices.Contains([]string{"spread"}, f.row) {
					continue // looked for on the grid of places
				}
				s := *clean
				s.Data, s.Sources, s.Receivers = slices.Clone(s.Data), slices.Clone(s.Sources), slices.Clone(s.Receivers)
				s.SourceIndex, s.ReceiverIndex = slices.Clone(s.SourceIndex), slices.Clone(s.ReceiverIndex)
				s.Wavelet.Samples = slices.Clone(s.Wavelet.Samples)
				want := f.inject(&s)
				write(&s)
				code, rows := ready(t, path)
				if code != status.BadInput || rows[f.row].Level != "fault" {
					t.Errorf("%s: status %d, row %+v", f.name, code, rows[f.row])
				}
				slices.Sort(want)
				if f.traces && !slices.Equal(rows[f.row].Traces, want) {
					t.Errorf("%s: traces %v, want %v", f.name, rows[f.row].Traces, want)
				}
				for other, r := range rows {
					if other != f.row && r.Level == "fault" && f.row != "spread" { // a receiver is missing from both
						t.Errorf("%s: row %s is at fault too: %v", f.name, other, fmt.Sprint(r))
					}
				}
			}
		})
	}
}

// TestReadyNotFinite looks at a survey with samples that the other commands do not read.
func TestReadyNotFinite(t *testing.T) {
	quietEnvironment(t)
	s := readySurvey(t, "points", "--shots", "4", "--channels", "12")
	path := filepath.Join(t.TempDir(), "survey.h5")
	w, err := h5.CreateSurvey(path, s, h5.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Data[7*s.NT+3], s.Data[30*s.NT] = float32(math.NaN()), float32(math.Inf(1))
	if err := w.WriteTraces(s.Data, 0); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if code, rows := ready(t, path); code != status.BadInput || !slices.Equal(rows["finite"].Traces, []int{7, 30}) {
		t.Errorf("status %d: %+v", code, rows["finite"])
	}
}

// Traces that hold the noise of rounding alone, as those of a computed shot that end before their first
// arrival, are as good as dead: they are counted, and change no other row.
func TestReadySilentTraces(t *testing.T) {
	t.Parallel()
	s := readySurvey(t, "ava", "--shots", "10", "--channels", "61")
	path := filepath.Join(t.TempDir(), "survey.h5")
	look := func() (int, map[string]readyRow) {
		if err := h5.WriteSurvey(path, s, h5.WriteOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		return ready(t, path)
	}
	silent := scaleTraces(s, 0, func(_, receiver int) bool { return receiver%4 == 0 })
	_, want := look()
	r := rand.New(rand.NewPCG(1, 2))
	level := float64(slices.Max(s.Data))
	for n, i := range silent {
		size := level * math.Pow(10, -8-float64(n%25)) // 1e-8 to 1e-32
		for k := s.NT / 2; k < s.NT; k++ {
			s.Data[i*s.NT+k] = float32(size * r.NormFloat64() * math.Pow(10, -float64(r.IntN(4))))
		}
	}
	code, got := look()
	if code != status.Done {
		t.Errorf("status %d, want 0", code)
	}
	if rows := got["silent"]; !slices.Equal(rows.Traces, silent) || rows.Level != "note" {
		t.Errorf("%d traces are silent (%s), want %d and a note", len(rows.Traces), rows.Level, len(silent))
	}
	for name, row := range got {
		if name == "silent" || name == "dead" {
			continue
		}
		if w := want[name]; row.Level != w.Level || row.Text != w.Text {
			t.Errorf("%s: %s, %q; without the noise %s, %q", name, row.Level, row.Text, w.Level, w.Text)
		}
	}
}
