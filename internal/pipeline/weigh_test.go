package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/config"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
)

// refused expects a problem not to open.
func refused(t *testing.T, p *problem, code int, text string, set ...string) {
	t.Helper()
	cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), set, nil)
	must(t, err)
	j, err := Open(comm.Self(), cfg, NeedTraces, progress.Discard())
	if err == nil {
		j.Close()
	}
	if status.Code(err) != code || err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%v: status %d: %v, want %d and %q", set, status.Code(err), err, code, text)
	}
}

// diagonal is W of a problem on one rank, nil where it is the identity.
func (p *problem) diagonal(t *testing.T, engine string, set ...string) []float32 {
	t.Helper()
	_, op := p.ready(t, engine, set...)
	w, err := op.weightVector()
	must(t, err)
	if w == nil {
		return nil
	}
	out := make([]float32, w.Buf.Len())
	must(t, device.Download(out, w.Buf))
	return out
}

// The mute starts at 0.02 s at offset 5 m and at 0.1 s from 45 m on.
func TestMuteByHand(t *testing.T) {
	p := line(t) // 56 samples of 4 ms from 4 ms on
	set := []string{"data.mute_offsets=5,45", "data.mute_times=0.02,0.1", "data.mute_taper=0.02"}
	eachEngine(t, func(t *testing.T, engine string) {
		w := p.diagonal(t, engine, set...)
		for trace, start := range map[int]float64{0: 0.02, 1: 0.038, 2: 0.09, 4: 0.1, 6: 0.048} { // offsets 5, 14, 40, 90, 19 m
			for n, got := range w[trace*56 : (trace+1)*56] {
				time, want := 0.004+0.004*float64(n), 0.0
				switch {
				case time >= start+0.02-1e-9:
					want = 1
				case time > start:
					want = math.Pow(math.Sin(math.Pi/2*(time-start)/0.02), 2)
				}
				if math.Abs(float64(got)-want) > 1e-6 {
					t.Errorf("trace %d at %.3f s: weight %g, want %g", trace, time, got, want)
				}
			}
		}
	})
	sharp := p.diagonal(t, "cpu", "data.mute_offsets=[0]", "data.mute_times=[0.1]", "data.mute_taper=0")
	for n, got := range sharp {
		if want := n%56 >= 24; (got == 1) != want || (got == 0) == want { // 0.1 s is sample 24
			t.Errorf("element %d: weight %g", n, got)
		}
	}
}

// Nothing is made where nothing is weighted.
func TestNoWeights(t *testing.T) {
	p := line(t)
	if p.diagonal(t, "cpu") != nil {
		t.Error("weights without a reason")
	}
	s := *p.survey
	s.Weight = slices.Repeat([]float32{1}, 15)
	p.record(t, &s)
	if p.diagonal(t, "cpu", "data.weights=survey") != nil {
		t.Error("a diagonal of ones")
	}
	clear(s.Data[:56])
	p.record(t, &s)
	if p.diagonal(t, "cpu", "data.dead=keep") != nil {
		t.Error("a dead trace that is kept has a weight")
	}
	if j := p.open(t, NeedGeometry, progress.Discard(), "cpu", "data.mute_offsets=0", "data.mute_times=0.02"); j.traces != nil {
		t.Error("modelling weighs traces")
	}
}

// What weights and a surface hold is foretold.
func TestMemoryOfWeights(t *testing.T) {
	p := wide(t)
	vectors := func(set ...string) int64 {
		return p.open(t, NeedTraces, progress.Discard(), "cpu", set...).Memory().Vectors
	}
	data, image := int64(4*len(p.survey.Data)), int64(4*p.grid.Len())
	plain := vectors()
	mute := []string{"data.mute_offsets=0", "data.mute_times=0.02"}
	for name, c := range map[string]struct {
		set  []string
		want int64
	}{
		"mute":    {mute, 2 * data},
		"none":    {[]string{"data.weights=none"}, 0},
		"surface": {[]string{"image.surface=survey"}, 3 * image},
	} {
		if got := vectors(c.set...) - plain; got != c.want {
			t.Errorf("%s: %d bytes more, want %d", name, got, c.want)
		}
	}
	rest := vectors("output.residual=" + p.path("residual.h5"))
	if got := vectors(append(mute, "output.residual="+p.path("residual.h5"))...) - rest; got != 3*data {
		t.Errorf("with the residual: %d bytes more, want %d", got, 3*data)
	}
}

func TestTraceWeights(t *testing.T) {
	p := line(t)
	s := *p.survey
	s.Weight = make([]float32, 15)
	for i := range s.Weight {
		s.Weight[i] = float32(i) / 4
	}
	clear(s.Data[3*56 : 4*56])
	p.record(t, &s)
	last := func(w []float32, trace int) float64 { return float64(w[trace*56+55]) }
	w := p.diagonal(t, "cpu", "data.weights=survey")
	for i := range 15 {
		want := float64(i) / 4
		if i == 3 {
			want = 0
		}
		if last(w, i) != want {
			t.Errorf("trace %d has weight %g, want %g", i, last(w, i), want)
		}
	}
}

// Spiky traces of weight 0 leave the image that a survey without them gives, and so do
// dead ones.
func TestWeightlessTracesAreAbsent(t *testing.T) {
	p := wide(t)
	clean := *p.survey
	bad := clean
	bad.Data = slices.Clone(clean.Data)
	bad.Weight = slices.Repeat([]float32{1}, clean.NumTraces())
	spoiled := func(i int) bool { return i%5 == 2 || i/21 == 4 } // and a shot altogether
	var good []int
	for i := range clean.NumTraces() {
		if !spoiled(i) {
			good = append(good, i)
			continue
		}
		bad.Weight[i] = 0
		for k := range 10 {
			bad.Data[i*clean.NT+(7*i+9*k)%clean.NT] = 1e6
		}
	}
	p.list(t, good)
	want := p.solveOn(t, 1)
	p.record(t, &bad)
	got := p.solveOn(t, 1, "data.weights=survey")
	near(t, "spikes", got.Image, want.Image, 2e-5)
	if a, b := relativeNorm(got.History.Residual), relativeNorm(want.History.Residual); math.Abs(a-b) > 1e-5*b {
		t.Errorf("residual %g, want %g", a, b)
	}
	if spoilt := p.solveOn(t, 1); dot(spoilt.Image, want.Image) > 0.9*norm(spoilt.Image)*norm(want.Image) {
		t.Error("the spikes do no harm: the test shows nothing")
	}
	for i := range clean.NumTraces() {
		if spoiled(i) {
			clear(bad.Data[i*clean.NT : (i+1)*clean.NT])
		}
	}
	p.record(t, &bad)
	near(t, "dead traces", p.solveOn(t, 1).Image, want.Image, 2e-5)
	near(t, "dead traces, migrated", p.migrate(t, "cpu"), p.migrate(t, "cpu", "data.dead=keep"), 1e-6)
	if kept := p.solveOn(t, 1, "data.dead=keep"); dot(kept.Image, want.Image) > 0.99999*norm(kept.Image)*norm(want.Image) {
		t.Error("traces that say zero change nothing: the test shows nothing")
	}
}

// everything is a set of keys that turns all of [data] and the surface on.
var everything = []string{
	"data.offset=20,600", "data.mute_offsets=0,300", "data.mute_times=0.02,0.08", "data.mute_taper=0.03",
	"data.whiten=0.2", "image.surface=survey", "image.surface_taper=12", "kirchhoff.wavelet_filter=true",
}

// The weighted operator below a surface is adjoint to its transpose.
func TestWeightedDotTest(t *testing.T) {
	for name, make := range map[string]func(*testing.T) *problem{"2-D": wide, "3-D": long} {
		p := make(t)
		set := everything
		if name == "3-D" {
			set = append(slices.Clone(set), "data.azimuth=0,100")
		}
		eachEngine(t, func(t *testing.T, engine string) {
			j, _ := p.ready(t, engine, set...)
			e, err := j.op.DotTest(context.Background())
			must(t, err)
			if !(e <= j.op.DotLimit()) {
				t.Errorf("%s: %.1e, want at most %.0e", name, e, j.op.DotLimit())
			}
		})
	}
}

// Migration is Sᵀ AᵀW d, and the history that of W(A S x − d).
func TestWeightedProblem(t *testing.T) {
	p := wide(t)
	set := []string{"data.mute_offsets=0,300", "data.mute_times=0.02,0.08", "solver.iterations=3"}
	w := p.diagonal(t, "reference", set...)
	plain := *p.survey
	weighted := plain
	weighted.Data = slices.Clone(plain.Data)
	for i := range w {
		weighted.Data[i] *= w[i]
	}
	got, r := p.migrate(t, "reference", set...), p.solve(t, "reference", set...)
	p.record(t, &weighted)
	near(t, "migration", got, p.migrate(t, "reference"), 1e-6)
	predicted := p.model(t, r.Image, "reference")
	left := make([]float32, len(w))
	for i := range left {
		left[i] = weighted.Data[i] - w[i]*predicted[i]
	}
	if h := r.History.Residual; math.Abs(h[0]/norm(weighted.Data)-1) > 1e-5 || math.Abs(h[3]/norm(left)-1) > 1e-5 {
		t.Errorf("residuals %g and %g, want %g and %g", h[0], h[3], norm(weighted.Data), norm(left))
	}
}

// The residual written is recorded minus predicted, whatever the weights.
func TestResidualIsNotWeighted(t *testing.T) {
	p := hills(t)
	file := p.path("residual.h5")
	set := []string{"data.mute_offsets=[0]", "data.mute_times=[0.1]", "image.surface=survey", "image.surface_taper=20", "output.residual=" + file}
	j, _ := p.ready(t, "cpu", set...)
	d, err := j.Data()
	must(t, err)
	r, err := j.whole(j.Solve(t.Context(), d, false))
	must(t, err)
	must(t, j.WriteResidual(t.Context(), file, d, r.Classes, Source{}))
	s, err := surveytest.Read(file)
	must(t, err)
	want := p.model(t, r.Image, "cpu")
	for i, v := range p.survey.Data {
		want[i] = v - want[i]
	}
	near(t, "residual", s.Data, want, 1e-6)
}

// All of it has the same bits on any grid and with any number of threads.
func TestWeightsOnAnyGrid(t *testing.T) {
	for name, c := range map[string]struct {
		make func(*testing.T) *problem
		set  []string
	}{
		"2-D":           {wide, append(slices.Clone(everything), "solver.iterations=3", "solver.damping=0.1")},
		"2-D, shuffled": {shuffled, append(slices.Clone(everything), "solver.iterations=2", "solver.method=cg")},
		"3-D":           {long, append(slices.Clone(everything), "solver.iterations=2", "data.azimuth=-60,60")},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.make(t)
			want := p.solveOn(t, 1, append(c.set, "machine.threads=1")...)
			for _, g := range [][2]int{{3, 1}, {2, 2}, {1, 4}, {2, 3}} {
				set := append(slices.Clone(c.set), fmt.Sprintf("comm.grid=%d,%d", g[0], g[1]), "machine.threads=2")
				sameResult(t, fmt.Sprint(g), p.solveOn(t, g[0]*g[1], set...), want)
			}
		})
	}
}

func TestRefusedWeights(t *testing.T) {
	refused(t, line(t), status.BadInput, "survey.h5: dataset /weight is missing", "data.weights=survey")
	refused(t, line(t), status.BadInput, "no sample counts: each of 15 traces is dead, muted or has weight 0", "data.mute_offsets=[0]", "data.mute_times=[9]")
	p := line(t)
	p.survey.Weight = make([]float32, 15)
	p.record(t, p.survey)
	refused(t, p, status.BadInput, "no sample counts", "data.weights=survey")
}

// A checkpoint of other weights is not gone on from, one of the same ends in the same
// bits.
func TestResumeWithWeights(t *testing.T) {
	p := wide(t)
	want := p.solve(t, "cpu", everything...)
	stopped(t, p.stopAfter(t, 2, "cpu", false, everything...))
	other := append(slices.Clone(everything), "data.mute_taper=0.01")
	j := p.open(t, NeedTraces, progress.Discard(), "cpu", other...)
	if can, err := j.CanResume(); can || err == nil || !strings.Contains(err.Error(), "data.mute_taper") {
		t.Errorf("can resume: %v, %v", can, err)
	}
	j, op := p.ready(t, "cpu", everything...)
	got, err := j.solve(context.Background(), op, true)
	must(t, err)
	sameResult(t, "resumed", got, want)
}
