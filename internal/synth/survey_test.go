package synth

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
	"pgregory.net/rapid"
)

// A streamer's channel keeps its offset from shot to shot, and shots a whole
// number of receiver steps apart share the places of their receivers.
func TestStreamer(t *testing.T) {
	const step, shots, channels, every = 20.0, 12, 30, 3
	c := build(t, "faults", Options{Shots: shots, ShotSpacing: every * step, FirstShot: 1000,
		Channels: channels, ReceiverSpacing: step, NearOffset: 40})
	s := c.Survey
	if s.NumTraces() != shots*channels {
		t.Fatalf("%d traces, want %d", s.NumTraces(), shots*channels)
	}
	for i := range s.NumTraces() {
		a, b := s.Pair(i)
		want := 40 + step*float64(i%channels)
		if a != i/channels || s.Source(a)[0]-s.Receiver(b)[0] != want {
			t.Fatalf("trace %d: shot %d, offset %g m, want shot %d, offset %g m",
				i, a, s.Source(a)[0]-s.Receiver(b)[0], i/channels, want)
		}
	}
	receivers := channels + (shots-1)*every
	if s.NumReceivers() != receivers {
		t.Errorf("%d receiver positions, want %d", s.NumReceivers(), receivers)
	}
	// Sources lie on the receivers' lattice at the same depth: those behind
	// which the streamer passes again are places of receivers as well.
	last := 1000 + step*float64(every*(shots-1)) - 40 // nearest channel of the last shot
	shared := 0
	for i := range shots {
		if s.Source(i)[0] <= last {
			shared++
		}
	}
	if got, want := s.Distinct(true).Len(), receivers+shots-shared; got != want {
		t.Errorf("%d distinct places, want %d", got, want)
	}
}

// Whatever the numbers, offsets are constant to the millimetre, all positions
// are in the model and no receiver position appears twice.
func TestStreamerProperties(t *testing.T) {
	g := grid.Grid{Origin: []float64{-500, 20}, Spacing: []float64{10, 10}, Shape: []int{201, 31}}
	rapid.Check(t, func(t *rapid.T) {
		opt := Options{
			Geometry: Streamer, Lines: 1, ReceiverLines: 1, SourceDepth: 5, ReceiverDepth: 12.5,
			Shots:           rapid.IntRange(1, 20).Draw(t, "shots"),
			ShotSpacing:     float64(rapid.IntRange(1, 80).Draw(t, "shot spacing")),
			FirstShot:       float64(rapid.IntRange(-300, 0).Draw(t, "first shot")),
			Channels:        rapid.IntRange(1, 100).Draw(t, "channels"),
			ReceiverSpacing: rapid.Float64Range(1, 40).Draw(t, "receiver spacing"),
			NearOffset:      rapid.Float64Range(0, 150).Draw(t, "near offset"),
		}
		s, err := lay(g, nil, opt)
		if opt.FirstShot+float64(opt.Shots-1)*opt.ShotSpacing > g.End(0) {
			if err == nil {
				t.Fatal("a source outside the model is accepted")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i := range s.NumReceivers() {
			p := fmt.Sprint(s.Receiver(i))
			if seen[p] || !g.Contains(s.Receiver(i)) {
				t.Fatalf("receiver %d at %s is outside or appears twice", i, p)
			}
			seen[p] = true
		}
		channel := 0
		for i := range s.NumTraces() {
			a, b := s.Pair(i)
			if i > 0 {
				channel++
				if prev, _ := s.Pair(i - 1); prev != a {
					channel = 0
				}
			}
			want := opt.NearOffset + float64(channel)*opt.ReceiverSpacing
			if got := s.Source(a)[0] - s.Receiver(b)[0]; math.Abs(got-want) > 1e-3 {
				t.Fatalf("trace %d: offset %g m, want %g m", i, got, want)
			}
		}
	})
}

func TestLand(t *testing.T) {
	c := build(t, "layers", Options{Channels: 20, ReceiverSpacing: 50, Shots: 15, ShotSpacing: 200, FirstShot: 100})
	s := c.Survey
	if s.NumReceivers() != 61 {
		t.Errorf("%d stations on 3000 m every 50 m, want 61", s.NumReceivers())
	}
	count := make([]int, s.NumSources())
	for i := range s.NumTraces() {
		a, b := s.Pair(i)
		if off := math.Abs(s.Source(a)[0] - s.Receiver(b)[0]); off > 500 {
			t.Errorf("trace %d has offset %g m, more than 500 m", i, off)
		}
		count[a]++
	}
	// Both sides and the station at the shot; two stations less at the end.
	if count[7] != 21 || count[0] != 13 {
		t.Errorf("shots have %v traces, want 21 in the middle and 13 at the end", count)
	}
	// Every shot stands on a station.
	if got := s.Distinct(true).Len(); got != 61 {
		t.Errorf("%d distinct places, want the 61 stations", got)
	}
}

func TestCubeSurvey(t *testing.T) {
	c := build(t, "cube", Options{})
	s := c.Survey
	if !s.Fixed || s.NumSources() != 16 || s.NumReceivers() != 100 || s.NumTraces() != 1600 {
		t.Errorf("fixed %v, %d sources, %d receivers, %d traces", s.Fixed, s.NumSources(), s.NumReceivers(), s.NumTraces())
	}
	// Lines stand in the middle of equal strips of the 600 m in y.
	if y := s.Source(4)[1]; y != 225 {
		t.Errorf("second shot line is at y = %g m, want 225", y)
	}
	towed := build(t, "cube", Options{Geometry: Streamer, Lines: 2, ReceiverLines: 3, CableSpacing: 50,
		Shots: 2, FirstShot: 400, ShotSpacing: 60, Channels: 5, ReceiverSpacing: 60, NearOffset: 60})
	checkCase(t, towed)
	if n := towed.Survey.NumTraces(); n != 2*2*3*5 {
		t.Errorf("%d traces, want 60", n)
	}
	var across []float64
	for i := range 15 {
		a, b := towed.Survey.Pair(i)
		across = append(across, towed.Survey.Receiver(b)[1]-towed.Survey.Source(a)[1])
	}
	slices.Sort(across)
	if across[0] != -50 || across[7] != 0 || across[14] != 50 {
		t.Errorf("cables lie at %v m from the source", across)
	}
}

func TestFromModel(t *testing.T) {
	ramp := func(g grid.Grid) []float64 {
		v := make([]float64, g.Len())
		p := make([]float64, g.Dim())
		for i := range v {
			g.Point(p, i)
			z := p[g.Dim()-1] - g.Origin[g.Dim()-1]
			v[i] = 1500 + 0.6*z
			if z > 400 {
				v[i] += 500
			}
		}
		return v
	}
	for name, g := range map[string]grid.Grid{
		"marmousi's size": {Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{941, 301}},
		"off the origin":  {Origin: []float64{5e5, 100}, Spacing: []float64{25, 12.5}, Shape: []int{200, 81}},
		"small":           {Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{12, 60}},
		"3-D":             {Origin: []float64{0, 0, 0}, Spacing: []float64{20, 20, 10}, Shape: []int{31, 26, 51}},
	} {
		for _, geometry := range []Geometry{"", Fixed, Streamer, Land} {
			c, err := FromModel(g, ramp(g), traveltime.Anisotropy{}, Options{Geometry: geometry})
			if err != nil {
				t.Errorf("%s, %q: %v", name, geometry, err)
				continue
			}
			checkCase(t, c)
			if c.Survey.NumSources() < 2 || c.Survey.NumTraces() < 2 {
				t.Errorf("%s, %q: %d shots and %d traces", name, geometry, c.Survey.NumSources(), c.Survey.NumTraces())
			}
			// The record reaches the bottom of the model, down and up.
			down := 0.0
			for _, v := range c.Smooth[:g.Shape[g.Dim()-1]] {
				down += g.Spacing[g.Dim()-1] / v
			}
			if record := float64(c.Survey.NT) * c.Survey.DT; record < 2*down {
				t.Errorf("%s: traces last %g s, the bottom lies at %g s", name, record, 2*down)
			}
		}
	}
	// The coarsest axis sets the frequency: 1500/(4·2.5·10) = 15 Hz.
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{101, 101}}
	c, err := FromModel(g, ramp(g), traveltime.Anisotropy{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Options.Peak != 15 || c.Options.DT != 0.004 {
		t.Errorf("peak %g Hz at %g s, want 15 Hz at 0.004 s", c.Options.Peak, c.Options.DT)
	}
	if c, err = FromModel(g, ramp(g), traveltime.Anisotropy{}, Options{DT: 0.01}); err != nil || c.Options.Peak != 10 {
		t.Errorf("peak for dt = 0.01 s is %v (%v), want 10 Hz", c, err)
	}
}

func TestFromModelRefuses(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{3, 3}}
	bad := constant(g, 2000)
	bad[4] = math.NaN()
	if _, err := FromModel(g, bad, traveltime.Anisotropy{}, Options{}); err == nil || err.Error() != "synth: velocity at [10 10] m is NaN m/s, must be positive and finite" {
		t.Errorf("NaN velocity: %v", err)
	}
	if _, err := FromModel(g, bad[:5], traveltime.Anisotropy{}, Options{}); err == nil {
		t.Error("a model of the wrong length is accepted")
	}
	if _, err := FromModel(g, constant(g, 2000), traveltime.Anisotropy{}, Options{Shape: []int{4, 4}}); err == nil {
		t.Error("a shape is accepted beside a model")
	}
	line := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{1, 30}}
	if _, err := FromModel(line, constant(line, 2000), traveltime.Anisotropy{}, Options{}); err == nil {
		t.Error("a single column is accepted")
	}
	coarse := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{500, 500}, Shape: []int{9, 9}}
	if _, err := FromModel(coarse, constant(coarse, 1500), traveltime.Anisotropy{}, Options{Peak: 5}); err == nil {
		t.Error("a grid that aliases is accepted")
	}
}
