package pipeline

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// ricker is a Ricker wavelet of the given peak frequency, Hz.
func ricker(peak, dt float64) survey.Wavelet {
	half := int(1.5 / (peak * dt))
	w := survey.Wavelet{DT: dt, Zero: half}
	for i := -half; i <= half; i++ {
		a := math.Pow(math.Pi*peak*float64(i)*dt, 2)
		w.Samples = append(w.Samples, (1-2*a)*math.Exp(-a))
	}
	return w
}

// wellSampled is a problem with which lsm check finds nothing wrong: 20 Hz, of
// which 99 % of the energy lies below about 40 Hz, at 2000 m/s needs 12 m.
func wellSampled(t *testing.T) *problem {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{21, 21}}
	s := &survey.Survey{
		Dim: 2, Fixed: true,
		Sources: []float64{50, 0, 150, 0},
		NT:      76, DT: 0.004,
		Wavelet: ricker(20, 0.004),
	}
	for i := range 10 {
		s.Receivers = append(s.Receivers, 10+20*float64(i), 0)
	}
	return newProblem(t, g, s)
}

var flat = []string{`velocity.file=""`, "velocity.constant=2000", "traveltime.method=analytic"}

func (p *problem) check(t *testing.T, set ...string) []Finding {
	t.Helper()
	j := p.open(t, NeedPlanning, progress.Discard(), "cpu", slices.Concat(onGrid(p.grid), flat, []string{"kirchhoff.wavelet_filter=on", "kirchhoff.spreading=auto", "solver.iterations=3"}, set)...)
	f, err := NewForecast(j.plan, []int{0, 1}, 1)
	must(t, err)
	return f.Findings()
}

func TestCheckFindsNothing(t *testing.T) {
	for _, f := range wellSampled(t).check(t) {
		if f.Level != "ok" {
			t.Errorf("%+v", f)
		}
	}
}

// Each case spoils one thing, and one finding more says so.
func TestCheckFindings(t *testing.T) {
	edit := func(change func(s *survey.Survey)) func(*testing.T, *problem) {
		return func(t *testing.T, p *problem) {
			s := *p.survey
			change(&s)
			p.record(t, &s)
		}
	}
	for _, c := range []struct {
		name   string
		spoil  func(t *testing.T, p *problem)
		set    []string
		topic  string
		level  string
		says   string
		beside string // topics that follow from the same thing
	}{
		{name: "coarse image", set: []string{"image.spacing=[10,20]", "image.shape=[21,11]"},
			topic: "image sampling", level: "warning", says: `spacing along z is 20 m; 2000 m/s at [34]\d\.?\d* Hz needs at most 1[1-4]\.\d m`},
		{name: "slow medium", set: []string{"velocity.constant=1500"},
			topic: "image sampling", level: "warning", says: `spacing along x is 10 m; 1500 m/s .* at most (8|9)`, beside: "trace spacing"},
		{name: "coarse samples", spoil: edit(func(s *survey.Survey) { s.DT, s.NT, s.Wavelet = 0.01, 31, ricker(24, 0.01); s.Data = noise(20*31, 2) }),
			topic: "time sampling", level: "warning", says: `the wavelet reaches 4\d(\.\d)? Hz, Nyquist is 50 Hz: .*resample to dt`},
		{name: "short record", spoil: edit(func(s *survey.Survey) { s.NT = 41; s.Data = noise(20*41, 2) }),
			topic: "record length", level: "warning", says: `records end at 0\.16 s: nothing below z = 160 m can be seen, even at 2000 m/s; the image ends at 200 m`},
		{name: "dead traces", spoil: edit(func(s *survey.Survey) { s.Data = noise(len(s.Data), 2); clear(s.Data[3*s.NT : 6*s.NT]) }),
			topic: "traces", level: "warning", says: `survey\.h5: 3 of 20 traces are dead \(every sample is zero\)`},
		{name: "traces without weight", spoil: edit(func(s *survey.Survey) { s.Weight = make([]float32, 20); s.Weight[3] = 1 }), set: []string{"data.weights=survey"},
			topic: "weights", level: "note", says: `^19 of 20 traces have weight 0 without being dead$`},
		{name: "selection", set: []string{"data.offset=0,100"},
			topic: "selection", level: "ok", says: `^\d+ of 20 traces are left by data\.offset = \[0, 100\] m$`},
		{name: "mute", set: []string{"data.mute_offsets=[0]", "data.mute_times=[0.1]"},
			topic: "mute", level: "ok", says: `^\d+\.\d % of all samples have weight 0$`},
		{name: "whitening", set: []string{"data.whiten=0.3"},
			topic: "whitening", level: "ok", says: `^the wavelet of \d+ samples becomes one of \d+, cut to them with an error of at most 1e-04$`, beside: "image sampling"},
		{name: "surface above the image", set: []string{"image.surface=survey"},
			topic: "surface", level: "note", says: `^it lies above the image: no point is muted$`},
		{name: "positions outside", spoil: edit(func(s *survey.Survey) { s.Sources = []float64{-50, 0, 150, -5} }),
			topic: "geometry", level: "note", says: `2 of 12 positions lie outside the image grid \(allowed\)`, beside: "record length"},
		{name: "receivers far apart", spoil: edit(func(s *survey.Survey) { s.Receivers = []float64{0, 0, 60, 0, 120, 0}; s.Data = noise(6*s.NT, 2) }),
			topic: "trace spacing", level: "note", says: `traces 60 m apart: arrivals steeper than 2\d° alias at [34]\d(\.\d)? Hz, at about \d\d(\.\d)? % of the pairs .*kirchhoff\.antialias = "triangle" would smooth them, the steepest to (1[6-9]|2\d)(\.\d)? Hz`},
		{name: "little memory", set: []string{"machine.memory_gib=1e-5"},
			topic: "memory", level: "warning", says: `MiB \(tables .*\) of 10 KiB`, beside: "traces"},
		{name: "iterations without damping", set: []string{"solver.iterations=6"},
			topic: "solver", level: "warning", says: `^solver\.damping = 0 with 6 iterations: those after 3 .* want 0\.2, or at most 3 iterations$`},
		{name: "key without effect", set: []string{"data.mute_taper=0.2"},
			topic: "configuration", level: "note", says: `mute_taper.*acts only with data\.mute_offsets`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := wellSampled(t)
			if c.spoil != nil {
				c.spoil(t, p)
			}
			found := false
			for _, f := range p.check(t, c.set...) {
				switch {
				case f.Topic == c.topic && f.Level == c.level:
					found = true
					if !regexp.MustCompile(c.says).MatchString(f.Text) {
						t.Errorf("says %q, want %s", f.Text, c.says)
					}
				case f.Level != "ok" && f.Topic != c.beside:
					t.Errorf("%+v as well", f)
				}
			}
			if !found {
				t.Errorf("no %s about %s", c.level, c.topic)
			}
		})
	}
}

// The memory that a run needs is refused before anything is computed, by the
// same numbers that check prints.
func TestMemoryLimit(t *testing.T) {
	p := line(t)
	eachEngine(t, func(t *testing.T, engine string) {
		j := p.open(t, NeedTraces, progress.Discard(), engine)
		need := j.Memory().Total()
		for _, c := range []struct {
			bytes int64
			code  int
		}{{need, status.Done}, {need - 1024, status.NoResource}} {
			j := p.open(t, NeedTraces, progress.Discard(), engine, "kirchhoff.tables=full", "data.read=memory",
				fmt.Sprintf("machine.memory_gib=%.17g", float64(c.bytes)/(1<<30)))
			if err := j.Memory().Check(); status.Code(err) != c.code {
				t.Errorf("a limit of %d bytes for %d: %v", c.bytes, need, err)
			}
		}
	})
}

// The band of a wavelet: a Ricker wavelet of peak f has 99 % of its energy below
// about 2 f.
func TestBand(t *testing.T) {
	for _, peak := range []float64{10, 25} {
		b := BandOf(ricker(peak, 0.002))
		if !(abs(b.Peak-peak) <= 0.5) || !(b.High > 1.7*peak && b.High < 2.3*peak) {
			t.Errorf("peak %g Hz: %+v", peak, b)
		}
	}
	if !strings.Contains(ExtentText(line(t).grid), "x [-20, 100] × z [0, 100] m") {
		t.Error(ExtentText(line(t).grid))
	}
}

// A run whose tables do not fit recomputes them. It says so, and finds the same image as with all of
// them in memory, to what each way promises.
func TestTablesThatDoNotFitAreRecomputed(t *testing.T) {
	p := line(t)
	plan := func(memory int64, tables string) *Job {
		return p.open(t, NeedTraces, progress.Discard(), "cpu", "solver.reproducible=run", "data.read=memory", "kirchhoff.tables="+tables, fmt.Sprintf("machine.memory_gib=%.17g", float64(memory)/(1<<30)))
	}
	image := func(memory int64, tables string) ([]float32, Memory) {
		j := plan(memory, tables)
		op, err := j.Build(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer op.engine.Close()
		m, err := j.migrate(t.Context(), op)
		if err != nil {
			t.Fatal(err)
		}
		return m, j.Memory()
	}
	whole, all := image(1<<30, "auto")
	if m := plan(all.Total()-1, "auto").Memory(); !m.Recompute {
		t.Errorf("memory plan: %v", m)
	}
	least := func(tables string) int64 { // with half the tables at a time
		m := plan(1<<30, tables).Memory()
		return m.Total() - m.Tables/2
	}
	few, some := image(least("recompute"), "recompute")
	if all.Recompute || !some.Recompute || some.Total() > some.Limit || some.Tables >= all.Tables || some.AllTables != all.Tables {
		t.Errorf("memory plans: %v and %v", all, some)
	}
	between, coarse := image(least("coarse"), "coarse")
	if coarse.Coarse == 0 || coarse.Total() > coarse.Limit || coarse.Tables >= all.Tables {
		t.Errorf("memory plan: %v", coarse)
	}
	for name, c := range map[string]struct {
		image []float32
		limit float64
	}{"recomputed": {few, 1e-6}, "coarse": {between, 1e-2}} {
		var largest, worst float64
		for i := range whole {
			largest = max(largest, math.Abs(float64(whole[i])))
			worst = max(worst, math.Abs(float64(whole[i]-c.image[i])))
		}
		if largest == 0 || worst > c.limit*largest {
			t.Errorf("%s: images differ by %g, the largest value is %g", name, worst, largest)
		}
	}
}

// Traces and points that the aperture leaves alone are said.
func TestCheckSaysWhatTheApertureMisses(t *testing.T) {
	for set, want := range map[string]string{
		"kirchhoff.aperture=300":                  "",
		"kirchhoff.aperture=30":                   "kirchhoff.aperture: the image is zero in 2 of its 21 columns of points, which lie in no aperture",
		"kirchhoff.aperture=3":                    "kirchhoff.aperture: the image is zero in 6 of its 21 columns of points, which lie in no aperture",
		"kirchhoff.aperture=3, image.shape=11,21": "kirchhoff.aperture: 9 of 20 traces count at no point of the image; the image is zero in 3 of its 11 columns of points, which lie in no aperture",
	} {
		got := ""
		for _, f := range wellSampled(t).check(t, strings.Split(set, ", ")...) {
			if f.Topic == "aperture" {
				got = f.Text
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", set, got, want)
		}
	}
}
