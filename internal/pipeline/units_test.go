package pipeline

import (
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/config"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// A survey in ms, µs or km is refused, unless survey.units says that it is not.
func TestSurveyUnits(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *survey.Survey)
		want   string
	}{
		{"m and s", func(*survey.Survey) {}, ""},
		{"ms", func(s *survey.Survey) { s.DT, s.Wavelet.DT, s.T0 = 4, 4, 4 }, "dt is 4 s, above 0.1 s: looks like ms or µs"},
		{"µs", func(s *survey.Survey) { s.DT, s.Wavelet.DT, s.T0 = 4000, 4000, 0 }, "dt is 4000 s"},
		{"km", func(s *survey.Survey) {
			for i := range s.Sources {
				s.Sources[i] /= 1000
			}
			for i := range s.Receivers {
				s.Receivers[i] /= 1000
			}
		}, "positions look like km"},
		{"one place", func(s *survey.Survey) { s.Sources, s.Receivers = []float64{7, 0}, []float64{7, 0} }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := line(t)
			s := *p.survey
			s.Data = nil
			c.change(&s)
			s.Data = noise(s.NumTraces()*s.NT, 1)
			p.record(t, &s)
			open := func(set ...string) error {
				cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), set, nil)
				must(t, err)
				j, err := Open(comm.Self(), cfg, NeedTraces, progress.Discard())
				if err == nil {
					j.Close()
				}
				return err
			}
			err := open()
			if c.want == "" {
				must(t, err)
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || status.Code(err) != status.BadInput || status.HintOf(err) == "" {
				t.Errorf("error %v, status %d, hint %q; want %q, status %d and a hint", err, status.Code(err), status.HintOf(err), c.want, status.BadInput)
			}
			must(t, open("survey.units=si"))
		})
	}
}
