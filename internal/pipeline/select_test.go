package pipeline

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
)

// pairs are the source and receiver rows of all traces.
func pairs(n int, pair func(int) (int, int)) (list [][2]int) {
	for i := range n {
		s, r := pair(i)
		list = append(list, [2]int{s, r})
	}
	return list
}

// Offsets of line: sources at 0, 33, 71, receivers at -5, 14, 40, 58, 90 m.
func TestOffsetsSelect(t *testing.T) {
	p := line(t)
	j := p.open(t, NeedTraces, progress.Discard(), "cpu", "data.offset=14,40")
	want := [][2]int{{0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 3}, {2, 2}, {2, 4}}
	want = slices.DeleteFunc(want, func(q [2]int) bool { // 33 → 58 is 25, 71 → 90 is 19, 71 → 40 is 31
		o := math.Abs(p.survey.Receiver(q[1])[0] - p.survey.Source(q[0])[0])
		return o < 14 || o > 40
	})
	if got := pairs(j.plan.Geometry.Survey.NumTraces(), j.plan.Geometry.Survey.Pair); !slices.Equal(got, want) {
		t.Fatalf("traces %v, want %v", got, want)
	}
	for i, q := range want {
		n := q[0]*5 + q[1]
		equal(t, "trace", j.traces.Samples[i*56:(i+1)*56], p.survey.Data[n*56:(n+1)*56])
	}
	if j.plan.Inputs.Recorded != 15 {
		t.Errorf("%d traces in the file, want 15", j.plan.Inputs.Recorded)
	}
	if all := p.open(t, NeedTraces, progress.Discard(), "cpu", "data.offset=0,1000"); !all.plan.Geometry.Survey.Fixed || all.plan.Inputs.Numbers != nil {
		t.Error("limits that leave everything change the layout")
	}
}

// What is left out takes no part in anything: everything is as for a survey that never
// had it.
func TestSelectedIsAllThereIs(t *testing.T) {
	for name, c := range map[string]struct {
		make func(*testing.T) *problem
		set  string
	}{
		"2-D": {shuffled, "data.offset=90,400"},
		"3-D": {long, "data.azimuth=-100,60"},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.make(t)
			j := p.open(t, NeedTraces, progress.Discard(), "cpu", c.set)
			n := j.plan.Geometry.Shots.Traces()
			if n == 0 || n == p.survey.NumTraces() {
				t.Fatalf("%d of %d traces: the test shows nothing", n, p.survey.NumTraces())
			}
			got := p.solveOn(t, 4, c.set, "comm.grid=2,2", "solver.iterations=2")
			must(t, writeSelected(t, p, j))
			alone := p.open(t, NeedTraces, progress.Discard(), "cpu")
			if a, b := j.plan.Geometry.Places.Len(), alone.plan.Geometry.Places.Len(); a != b {
				t.Errorf("%d places, alone there are %d", a, b)
			}
			if a, b := j.Memory(), alone.Memory(); a.AllTables != b.AllTables || a.Vectors != b.Vectors {
				t.Errorf("memory %v, alone %v", a, b)
			}
			sameResult(t, "alone", got, p.solveOn(t, 1, "solver.iterations=2"))
		})
	}
}

// writeSelected makes the traces of a job the survey of its problem.
func writeSelected(t *testing.T, p *problem, j *Job) error {
	t.Helper()
	s := p.survey.Select(j.plan.Inputs.Numbers)
	for _, n := range j.plan.Inputs.Numbers {
		s.Data = append(s.Data, p.survey.Data[int(n)*s.NT:(int(n)+1)*s.NT]...)
	}
	p.record(t, s)
	return nil
}

// The survey that modelling writes lists the selected traces and no others.
func TestModelsSelectedTraces(t *testing.T) {
	p := wide(t)
	reflectivity := noise(p.grid.Len(), 5)
	model := func(set ...string) ([]float32, [][2]int) {
		file := p.path("traces.h5")
		must(t, p.on(2, set, func(j *Job) error {
			op, err := j.Build(context.Background())
			if err != nil {
				return err
			}
			defer op.engine.Close()
			d, err := j.op.Model(context.Background(), ReadPoints(reflectivity))
			if err != nil {
				return err
			}
			return j.WriteTraces(file, d, Source{Force: true})
		}))
		s, err := surveytest.Read(file)
		must(t, err)
		return s.Data, pairs(s.NumTraces(), s.Pair)
	}
	all, every := model()
	some, listed := model("data.offset=0,250")
	if len(listed) == 0 || len(listed) == len(every) {
		t.Fatalf("%d of %d traces", len(listed), len(every))
	}
	nt := p.survey.NT
	for i, q := range listed {
		n := slices.Index(every, q)
		if o := p.survey.Offset(n); o > 250 {
			t.Errorf("trace %v has offset %g m", q, o)
		}
		// What is left of a run may be too short for the kernel that takes whole ones.
		near(t, "trace", some[i*nt:(i+1)*nt], all[n*nt:(n+1)*nt], 1e-6)
	}
}

func TestNothingSelected(t *testing.T) {
	for set, c := range map[string]struct {
		code int
		text string
	}{
		"data.offset=900,1000": {status.BadInput, `survey.h5: none of 15 traces is left by data.offset = [900, 1000] m; offsets are 5 to 90 m`},
		"data.azimuth=0,10":    {status.BadUsage, `survey.h5: data.azimuth: the survey is 2-D, azimuths need a 3-D one`},
	} {
		refused(t, line(t), c.code, c.text, set)
	}
}
