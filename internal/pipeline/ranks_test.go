package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// wide is a 2-D problem of 9 shots whose image has six blocks.
func wide(t *testing.T) *problem { return wideOf(t, 330, 9, 21) }

// sparse is wide with fewer receivers, whose traveltimes are what a short run takes.
func sparse(t *testing.T) *problem { return wideOf(t, 330, 9, 10) }

// wideOf is wide with so many points along x, shots and receivers.
func wideOf(t *testing.T, points, shots, receivers int) *problem {
	g := grid.Grid{Origin: []float64{-20, 0}, Spacing: []float64{4, 5}, Shape: []int{points, 13}}
	s := &survey.Survey{
		Dim: 2, Fixed: true, NT: 90, DT: 0.004, T0: 0.004,
		Wavelet: survey.Wavelet{Samples: []float64{-0.3, 0.1, 1, 0.2, -0.4}, DT: 0.004, Zero: 2},
	}
	for i := range shots {
		s.Sources = append(s.Sources, 100*float64(i), 2)
	}
	for i := range receivers {
		s.Receivers = append(s.Receivers, 47*float64(points*21)*float64(i)/float64(330*receivers)-10, float64(i%3))
	}
	return newProblem(t, g, s)
}

// long is a 3-D problem of 7 shots whose image has six blocks.
func long(t *testing.T) *problem { return longOf(t, 85, 7, 18) }

// longOf is long with so many points along x, shots and receivers.
func longOf(t *testing.T, points, shots, receivers int) *problem {
	g := grid.Grid{Origin: []float64{0, -10, 0}, Spacing: []float64{6, 10, 8}, Shape: []int{points, 4, 5}}
	s := &survey.Survey{
		Dim: 3, Fixed: true, NT: 70, DT: 0.004,
		Wavelet: survey.Wavelet{Samples: []float64{0.4, 1, -0.5, 0.1}, DT: 0.004, Zero: 1},
	}
	for i := range shots {
		s.Sources = append(s.Sources, 70*float64(i), float64(5*i%20), 1)
	}
	for i := range receivers {
		s.Receivers = append(s.Receivers, 28*float64(i), float64(i%4)*9-9, float64(i%2))
	}
	return newProblem(t, g, s)
}

// on opens the problem on every rank of a world of goroutines.
func (p *problem) on(ranks int, set []string, body func(j *Job) error) error {
	return p.onEngine(ranks, "cpu", set, body)
}

func (p *problem) onEngine(ranks int, engine string, set []string, body func(j *Job) error) error {
	return commtest.Ranks(ranks, func(world comm.Comm) error {
		cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), append(slices.Clone(set), "kirchhoff.engine="+engine), nil)
		if err != nil {
			return err
		}
		j, err := Open(world, cfg, NeedTraces, progress.Discard())
		if err != nil {
			return err
		}
		defer j.Close()
		return body(j)
	})
}

// solveOn solves on many ranks and returns rank 0's result.
func (p *problem) solveOn(t *testing.T, ranks int, set ...string) *solved {
	t.Helper()
	return p.solveOnEngine(t, ranks, "cpu", set...)
}

func (p *problem) solveOnEngine(t *testing.T, ranks int, engine string, set ...string) *solved {
	t.Helper()
	var result *solved
	must(t, p.onEngine(ranks, engine, set, func(j *Job) error {
		op, err := j.Build(context.Background())
		if err != nil {
			return err
		}
		defer op.engine.Close()
		r, err := j.solve(context.Background(), op, false)
		if err == nil && j.Ranks.Root() {
			result = r
		}
		return err
	}))
	return result
}

func sameResult(t *testing.T, what string, got, want *solved) {
	t.Helper()
	equal(t, what+": image", got.Image, want.Image)
	equal(t, what+": residual", got.History.Residual, want.History.Residual)
	equal(t, what+": gradient", got.History.Gradient, want.History.Gradient)
	equal(t, what+": agreement", got.History.Agreement, want.History.Agreement)
}

// The image and the whole history have the same bits on any number of ranks, any
// process grid and any number of threads.
func TestAnyGridHasTheSameBits(t *testing.T) {
	rows := map[string]struct {
		make func(*testing.T) *problem
		set  []string
	}{
		"2-D":            {sparse, []string{"solver.iterations=4"}},
		"2-D, dynamic":   {sparse, []string{"solver.iterations=2", "kirchhoff.dynamic=true", "kirchhoff.wavelet_filter=true", "solver.damping=0.3"}},
		"2-D, cg":        {sparse, []string{"solver.iterations=2", "solver.method=cg"}},
		"2-D, shuffled":  {shuffled, []string{"solver.iterations=2"}},
		"3-D":            {long, []string{"solver.iterations=3", "solver.method=cg"}},
		"2-D, one-sided": {sparse, []string{"solver.iterations=1", "comm.accumulate=onesided"}},
		"2-D, damped":    {sparse, []string{"solver.iterations=2", "solver.damping=0.1", "solver.penalty_scale=relative"}},
		"3-D, dynamic":   {long, []string{"solver.iterations=2", "kirchhoff.dynamic=true"}},
		"3-D, aperture":  {long, []string{"solver.iterations=2", "kirchhoff.aperture=[90,25]", "kirchhoff.aperture_taper=30", "traveltime.margin=20"}},
		"2-D, aperture":  {sparse, []string{"solver.iterations=2", "kirchhoff.aperture=150", "kirchhoff.tables=recompute", "kirchhoff.dynamic=true"}},
		"2-D, band":      {sparse, []string{"solver.iterations=2", "solver.band=true", "solver.damping=0.3", "solver.penalty_scale=relative", "kirchhoff.dynamic=true"}},
		"3-D, band":      {long, []string{"solver.iterations=2", "solver.band=true"}},
		"line, band":     {streamer, []string{"solver.iterations=2", "solver.band=true", "kirchhoff.aperture=60", "data.read=stream", "solver.damping=0.1"}},
		"2-D, halves":    {sparse, []string{"solver.iterations=5", "image.halves=true", "output.filter=agreement", "data.weights=coherence", "solver.band=true"}},
		"3-D, halves":    {long, []string{"solver.iterations=2", "image.halves=true", "kirchhoff.dynamic=true"}},
		"2-D, coherence": {sparse, []string{"solver.iterations=5", "data.weights=coherence", "solver.band=true", "solver.damping=0.2", "solver.penalty_scale=relative"}},
		"3-D, coherence": {long, []string{"solver.iterations=4", "data.weights=coherence", "solver.method=cg"}},
		"line":           {streamer, []string{"solver.iterations=2", "kirchhoff.aperture=100", "solver.regularization=dip", "solver.regularization_weight=0.1"}},
		"line, gathers":  {streamer, []string{"solver.iterations=1", "kirchhoff.aperture=150", "image.gathers=offset", "image.gather_bins=0,60,200", "kirchhoff.dynamic=true"}},
		"line, streamed": {streamer, []string{"solver.iterations=2", "kirchhoff.aperture=60", "data.read=stream", "solver.damping=0.1"}},
		"2-D, recompute": {sparse, []string{"solver.iterations=1", "kirchhoff.tables=recompute"}},
		"2-D, converted": {converted, []string{"solver.iterations=2", "velocity.receiver_constant=1100", "kirchhoff.aperture=150", "traveltime.margin=20"}},
		"3-D, leaning":   {leaning, []string{"solver.iterations=2", "velocity.receiver_constant=1100", "kirchhoff.tables=coarse"}},
		"2-D, unequal":   {leaningWide, append(strings.Fields(allUnequal), "solver.iterations=1")},
		"2-D, in time":   {timedWide, append([]string{"solver.iterations=1", "kirchhoff.aperture=150", "kirchhoff.antialias=triangle", "kirchhoff.antialias_spacing=60"}, inTime...)},
		"2-D, rays":      {sparse, []string{"solver.iterations=1", "kirchhoff.dynamic=true", "kirchhoff.spreading=ray-2.5d", "kirchhoff.takeoff_limit=[50,80]", "kirchhoff.aperture=150", "kirchhoff.tables=recompute"}},
		"3-D, rays":      {long, []string{"solver.iterations=1", "kirchhoff.dynamic=true", "kirchhoff.spreading=ray"}},
		"2-D, arrivals":  {lensedSparse, append([]string{"solver.iterations=1", "kirchhoff.aperture=150", "traveltime.margin=40"}, several...)},
		"2-D, smoothed":  {sparse, []string{"solver.iterations=1", "kirchhoff.antialias=triangle", "kirchhoff.antialias_spacing=60", "kirchhoff.dip_limit=50"}},
	}
	for row, name := range slices.Sorted(maps.Keys(rows)) {
		c := rows[name]
		t.Run(name, func(t *testing.T) {
			p := c.make(t)
			want := p.solveOn(t, 1, append(c.set, "machine.threads=1")...)
			for i, g := range [][2]int{{1, 1}, {2, 1}, {3, 1}, {7, 1}, {4, 1}, {2, 2}, {1, 4}, {6, 1}, {3, 2}, {2, 3}, {1, 6}} {
				for _, threads := range []int{1, 2} {
					// A grid has one number of threads in every second row and the other in the others.
					if (i+row+threads)%2 != 0 && name != "2-D" && name != "3-D" {
						continue
					}
					set := append(slices.Clone(c.set), fmt.Sprintf("comm.grid=%d,%d", g[0], g[1]), fmt.Sprintf("machine.threads=%d", threads))
					sameResult(t, fmt.Sprintf("%v with %d threads", g, threads), p.solveOn(t, g[0]*g[1], set...), want)
				}
			}
		})
	}
}

// leaningWide is wide in an anisotropic model.
func leaningWide(t *testing.T) *problem {
	p := wide(t)
	p.lean(t)
	return p
}

// shuffled is wide with its traces in no order, some missing and some twice.
func shuffled(t *testing.T) *problem { return shuffle(t, wide(t)) }

func shuffle(t *testing.T, p *problem) *problem {
	n := p.survey.NumTraces()
	list := make([]int, 0, n)
	for i := range n {
		if k := i * 37 % n; k%11 != 3 {
			list = append(list, k)
		}
	}
	p.list(t, append(list, 5, n*10/37, 5))
	return p
}

// Without a promise about ranks the result is the same to rounding.
func TestOtherSettingsOfReproducible(t *testing.T) {
	p := wide(t)
	want := p.solveOn(t, 1)
	for _, mode := range []string{"off", "run"} {
		for _, g := range []string{"3,1", "2,2", "1,3"} {
			got := p.solveOn(t, map[string]int{"3,1": 3, "2,2": 4, "1,3": 3}[g], "solver.reproducible="+mode, "comm.grid="+g)
			near(t, mode+" on "+g, got.Image, want.Image, 2e-5)
		}
	}
	// The reference engine, too.
	var image []float32
	must(t, p.on(4, []string{"solver.reproducible=run", "comm.grid=2,2"}, func(j *Job) error {
		j.plan.Hardware.Engine = "reference"
		op, err := j.Build(context.Background())
		if err != nil {
			return err
		}
		r, err := j.solve(context.Background(), op, false)
		if err == nil && j.Ranks.Root() {
			image = r.Image
		}
		return err
	}))
	near(t, "reference", image, want.Image, 2e-5)
}

// Whether sums are overlapped is measured and said once, whatever the engine; the bits
// are those of either way.
func TestOverlapIsMeasured(t *testing.T) {
	p := wide(t)
	set := []string{"kirchhoff.engine=cpu", "comm.grid=2,2", "solver.iterations=6"}
	want := p.solveOn(t, 4, append(set, "comm.overlap=off")...)
	sameResult(t, "on", p.solveOn(t, 4, append(set, "comm.overlap=on")...), want)
	for how, c := range map[string]struct {
		set   []string
		times int
	}{
		"auto":               {nil, 1},
		"on":                 {[]string{"comm.overlap=on"}, 0},
		"reproducible = run": {[]string{"solver.reproducible=run"}, 0},
	} {
		var said bytes.Buffer
		var result *solved
		must(t, commtest.Ranks(4, func(world comm.Comm) error {
			cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), append(slices.Clone(set), c.set...), nil)
			if err != nil {
				return err
			}
			report := progress.Discard()
			if world.Rank() == 0 {
				report = progress.New(progress.Options{Out: &said, Err: &said})
			}
			j, err := Open(world, cfg, NeedTraces, report)
			if err != nil {
				return err
			}
			defer j.Close()
			op, err := j.Build(context.Background())
			if err != nil {
				return err
			}
			defer op.engine.Close()
			r, err := j.solve(context.Background(), op, false)
			if j.Ranks.Root() {
				result = r
			}
			return err
		}))
		if how == "auto" {
			sameResult(t, how, result, want)
		}
		if n := strings.Count(said.String(), "comm.overlap: o"); n != c.times {
			t.Errorf("%s: said %d times, want %d:\n%s", how, n, c.times, said.String())
		}
	}
}

// The plain image and predicted traces have the same bits on any grid, traces in
// the order of the survey.
func TestMigrateAndModelOnRanks(t *testing.T) {
	p := shuffled(t)
	reflectivity := noise(p.grid.Len(), 5)
	type out struct{ image, traces []float32 }
	run := func(ranks int, set ...string) (o out) {
		file := p.path("traces.h5")
		must(t, p.on(ranks, set, withData(func(j *Job, op *Operator, d *dist.Vector) error {
			r, err := j.whole(j.op.Migrate(context.Background(), d))
			if err != nil {
				return err
			}
			if j.Ranks.Root() {
				o.image = r.Image
			}
			d, err = j.op.Model(context.Background(), ReadPoints(reflectivity))
			if err != nil {
				return err
			}
			return j.WriteTraces(file, d, Source{Force: true})
		})))
		s, err := surveytest.Read(file)
		must(t, err)
		o.traces = s.Data
		return o
	}
	want := run(1)
	if n := p.survey.NumTraces() * p.survey.NT; len(want.traces) != n {
		t.Fatalf("%d samples, want %d", len(want.traces), n)
	}
	for _, g := range []string{"3,1", "2,2", "1,3"} {
		got := run(map[string]int{"3,1": 3, "2,2": 4, "1,3": 3}[g], "comm.grid="+g)
		equal(t, g+": image", got.image, want.image)
		equal(t, g+": traces", got.traces, want.traces)
	}
}

// The residual is recorded minus predicted data, with the same bits on any grid and
// in the order of the survey.
func TestResidualOnRanks(t *testing.T) {
	p := shuffled(t)
	run := func(ranks int, set ...string) []float32 {
		file := p.path("residual.h5")
		must(t, p.on(ranks, append(set, "solver.iterations=2", "solver.damping=0.1"), withData(func(j *Job, op *Operator, d *dist.Vector) error {
			r, err := j.whole(j.Solve(context.Background(), d, false))
			if err != nil {
				return err
			}
			if err := j.WriteResidual(context.Background(), file, d, r.Classes, Source{Force: true}); err != nil {
				return err
			}
			if ranks > 1 {
				return nil
			}
			predicted, err := j.op.Model(context.Background(), ReadPoints(r.Image))
			if err != nil {
				return err
			}
			return j.WriteTraces(p.path("predicted.h5"), predicted, Source{Force: true})
		})))
		s, err := surveytest.Read(file)
		must(t, err)
		return s.Data
	}
	want := run(1)
	predicted, err := surveytest.Read(p.path("predicted.h5"))
	must(t, err)
	for i, v := range p.survey.Data {
		predicted.Data[i] = v - predicted.Data[i]
	}
	equal(t, "recorded minus predicted", want, predicted.Data)
	for _, g := range []string{"3,1", "2,2"} {
		equal(t, g, run(map[string]int{"3,1": 3, "2,2": 4}[g], "comm.grid="+g), want)
	}
}

// A run stopped on some ranks goes on, to the same bits, on others.
func TestResumeOnOtherRanks(t *testing.T) {
	for method, p := range map[string]*problem{"cgls": wide(t), "cg": wide(t), "cg, kirchhoff.aperture=150": shuffled(t)} {
		set := []string{"solver.iterations=6", "solver.damping=0.2"}
		set = append(set, strings.Split("solver.method="+method, ", ")...)
		want := p.solveOn(t, 1, set...)
		stop := append(slices.Clone(set), "comm.grid=2,2")
		err := p.on(4, stop, func(j *Job) error {
			op, err := j.Build(context.Background())
			if err != nil {
				return err
			}
			defer op.engine.Close()
			ctx, cancel := context.WithCancel(context.Background())
			if j.Ranks.World.Rank() == 2 { // one rank's signal stops all
				cancel()
			}
			defer cancel()
			_, err = j.solve(ctx, op, false)
			if status.Code(err) != status.Checkpointed {
				return fmt.Errorf("status %d: %v", status.Code(err), err)
			}
			return nil
		})
		must(t, err)
		if got := names(t, p.path("checkpoints")); got != "image-0000000.checkpoint.h5" {
			t.Errorf("checkpoints %s", got)
		}
		var got *solved
		must(t, p.on(3, append(slices.Clone(set), "comm.grid=3,1"), func(j *Job) error {
			if can, err := j.CanResume(); !can || err != nil {
				return fmt.Errorf("can resume: %v, %v", can, err)
			}
			op, err := j.Build(context.Background())
			if err != nil {
				return err
			}
			defer op.engine.Close()
			r, err := j.solve(context.Background(), op, true)
			if err != nil {
				return err
			}
			if err := j.WriteResult(p.path("image.h5"), r.Result, Source{}); err != nil {
				return err
			}
			if j.Ranks.Root() {
				got = r
			}
			return nil
		}))
		sameResult(t, method, got, want)
		if left := names(t, p.folder); strings.Contains(left, "checkpoints") {
			t.Errorf("%s: checkpoints stay: %s", method, left)
		}
	}
}

// What is wrong on one rank is everyone's error, with the same text and status.
func TestErrorsAreEveryones(t *testing.T) {
	p := wide(t)
	for what, c := range map[string]struct {
		ranks int
		set   string
		code  int
		text  string
	}{
		"grid":        {4, "comm.grid=3,1", status.BadUsage, "4 ranks"},
		"shots":       {10, "comm.grid=0,1", status.BadUsage, "10 ranks over shots, the survey has 9"},
		"blocks":      {7, "comm.grid=1,7", status.BadUsage, "7 ranks over image blocks, but the image has only 6"},
		"reference":   {2, "kirchhoff.engine=reference", status.BadUsage, "reference"},
		"no survey":   {3, "survey.file=" + p.path("none.h5"), status.BadInput, "none.h5"},
		"memory":      {2, "machine.memory_gib=0.0001", status.NoResource, "memory"},
		"checkpoints": {2, "checkpoint.folder=" + p.path("survey.h5"), status.NoResource, "survey.h5"},
	} {
		errs := make([]error, c.ranks)
		_ = commtest.Ranks(c.ranks, func(world comm.Comm) error {
			cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), []string{c.set, "checkpoint.iterations=1", "kirchhoff.engine=cpu"}, nil)
			if what == "reference" {
				cfg, err = config.Parse(p.path("config.toml"), []byte(baseConfig), []string{c.set}, nil)
			}
			if err != nil {
				return err
			}
			j, err := Open(world, cfg, NeedTraces, progress.Discard())
			if err == nil {
				defer j.Close()
				var op *Operator
				if op, err = j.Build(context.Background()); err == nil {
					defer op.engine.Close()
					_, err = j.solve(context.Background(), op, false)
				}
			}
			errs[world.Rank()] = err
			return nil
		})
		for rank, err := range errs {
			if status.Code(err) != c.code || !strings.Contains(fmt.Sprint(err), c.text) {
				t.Errorf("%s, rank %d: status %d: %v", what, rank, status.Code(err), err)
			}
		}
	}
}

// A run whose tables do not fit on one rank fits when the image is split, with the
// bits of one that has the memory.
func TestSplitWhereOneRankIsTooSmall(t *testing.T) {
	p := long(t)
	want := p.solveOn(t, 1)
	var whole, part Memory
	for grid, m := range map[string]*Memory{"1,1": &whole, "1,2": &part} {
		must(t, p.on(int(grid[2]-'0'), []string{"comm.grid=" + grid}, func(j *Job) error {
			if j.Ranks.Root() {
				*m = j.Memory()
			}
			return nil
		}))
	}
	if part.Tables > whole.Tables*3/5 {
		t.Errorf("tables of %d bytes on each of two ranks, %d on one", part.Tables, whole.Tables)
	}
	limit := []string{"kirchhoff.tables=full", fmt.Sprintf("machine.memory_gib=%.17g", float64(part.Total()+whole.Total())/2/(1<<30))}
	err := p.on(1, limit, func(j *Job) error {
		_, err := j.Build(context.Background())
		return err
	})
	if status.Code(err) != status.NoResource {
		t.Errorf("on one rank: status %d: %v", status.Code(err), err)
	}
	sameResult(t, "split", p.solveOn(t, 2, append(limit, "comm.grid=1,2")...), want)
}

// volumes are what each of some ranks gives to others in an iteration of CGLS.
func (p *problem) volumes(t *testing.T, ranks int, set ...string) []perIteration {
	t.Helper()
	solve := func(iterations int) []tally {
		all := make([]tally, ranks)
		must(t, commtest.Ranks(ranks, func(c comm.Comm) error {
			world := tallied{c, &all[c.Rank()]}
			cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), append(set, fmt.Sprintf("solver.iterations=%d", iterations), "kirchhoff.engine=cpu"), nil)
			if err != nil {
				return err
			}
			j, err := Open(world, cfg, NeedTraces, progress.Discard())
			if err != nil {
				return err
			}
			defer j.Close()
			op, err := j.Build(context.Background())
			if err != nil {
				return err
			}
			defer op.engine.Close()
			d, err := j.Data()
			if err != nil {
				return err
			}
			_, err = j.Solve(context.Background(), d, false)
			return err
		}))
		return all
	}
	few, many := solve(4), solve(9)
	out := make([]perIteration, ranks)
	for i := range out {
		each := func(few, many *atomic.Int64) int64 { return (many.Load() - few.Load()) / 5 }
		a, b := &few[i], &many[i]
		out[i] = perIteration{each(&a.buffers.calls, &b.buffers.calls), each(&a.buffers.bytes, &b.buffers.bytes), each(&a.host.calls, &b.host.calls), each(&a.host.bytes, &b.host.bytes)}
	}
	return out
}

// perIteration counts collectives of buffers and of numbers, and their bytes.
type perIteration struct{ sums, summed, exchanges, exchanged int64 }

// An iteration of CGLS sums one image over the ranks and a few numbers.
func TestCommunicationOfAnIteration(t *testing.T) {
	p := wide(t)
	v := p.volumes(t, 3)[0]
	image := int64(8 * p.grid.Len()) // exact sums are of float64, and of whole tiles
	if v.summed < image || v.summed > image*3/2 {
		t.Errorf("%d bytes of buffers in an iteration, the image has %d", v.summed, image)
	}
	// The bound on the result, two inner products, whether to stop, when to save.
	if v.exchanges > 5 {
		t.Errorf("%d exchanges of numbers in an iteration", v.exchanges)
	}
	if v.exchanged > 32<<10 {
		t.Errorf("%d bytes of numbers in an iteration", v.exchanged)
	}
	// lsm check predicts them.
	f, err := NewForecast(p.open(t, NeedTraces, progress.Discard(), "cpu").plan, []int{0, 1}, 3)
	must(t, err)
	if f.Reduced != v.summed {
		t.Errorf("%d bytes are predicted", f.Reduced)
	}
	t.Logf("in an iteration: %+v", v)
}

// With an aperture a rank sends to its neighbours what they reach of its image, and sums of
// what it reaches of theirs: less than an image, and no more on more ranks.
func TestCommunicationWithAnAperture(t *testing.T) {
	p := streamer(t)
	set := []string{"kirchhoff.aperture=100"}
	for _, ranks := range []int{3, 5} {
		all := p.volumes(t, ranks, set...)
		most := slices.MaxFunc(all, func(a, b perIteration) int { return int(a.summed - b.summed) })
		if most.summed == 0 || most.summed > int64(8*p.grid.Len())/2 {
			t.Errorf("%d ranks: %d bytes of buffers in an iteration, the image has %d", ranks, most.summed, 8*p.grid.Len())
		}
		f, err := NewForecast(p.open(t, NeedTraces, progress.Discard(), "cpu", set...).plan, []int{0, 1}, ranks)
		must(t, err)
		if f.Reduced != most.summed {
			t.Errorf("%d ranks: %d bytes are predicted, %+v were sent", ranks, f.Reduced, most)
		}
		t.Logf("%d ranks: %+v", ranks, all)
	}
}

// So do more ranks than the image has blocks, which map and hold the same in teams.
func TestTeamsHaveTheSameBits(t *testing.T) {
	p := wide(t)
	for _, set := range [][]string{
		{"solver.iterations=2", "kirchhoff.aperture=120", "kirchhoff.dynamic=true"},
		{"solver.iterations=2", "kirchhoff.aperture=120", "data.read=stream"},
		{"solver.iterations=1", "kirchhoff.aperture=60", "image.gathers=offset", "image.gather_bins=0,100,500", "comm.overlap=off"},
	} {
		want := p.solveOn(t, 1, set...)
		for _, g := range []string{"8,1", "8,2"} {
			set := append(slices.Clone(set), "comm.grid="+g)
			ranks := map[string]int{"8,1": 8, "8,2": 16}[g]
			sameResult(t, g, p.solveOn(t, ranks, set...), want)
			must(t, p.on(ranks, set, func(j *Job) error {
				if s := j.share; s.Teams != 4 {
					return fmt.Errorf("%d teams, want 4", s.Teams)
				}
				return nil
			}))
		}
	}
	set := []string{"kirchhoff.aperture=120"}
	all := p.volumes(t, 8, set...)
	most := slices.MaxFunc(all, func(a, b perIteration) int { return int(a.summed - b.summed) })
	f, err := NewForecast(p.open(t, NeedTraces, progress.Discard(), "cpu", set...).plan, []int{0, 1}, 8)
	must(t, err)
	if f.Reduced != most.summed {
		t.Errorf("%d bytes are predicted, %+v were sent", f.Reduced, all)
	}
}

// streamer is a 2-D line whose receivers follow the source. Its image has 15 blocks.
func streamer(t *testing.T) *problem {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{4, 5}, Shape: []int{900, 13}}
	s := &survey.Survey{
		Dim: 2, NT: 60, DT: 0.004,
		Wavelet: survey.Wavelet{Samples: []float64{-0.3, 0.1, 1, 0.2, -0.4}, DT: 0.004, Zero: 2},
	}
	for i := range 34 {
		s.Sources = append(s.Sources, 100*float64(i)+100, 2)
		for k := range 4 {
			s.Receivers = append(s.Receivers, 100*float64(i)+110+40*float64(k), 3)
			s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, int32(i)), append(s.ReceiverIndex, int32(4*i+k))
		}
	}
	return newProblem(t, g, s)
}

// The time limit stops all ranks with a checkpoint.
func TestTimeLimit(t *testing.T) {
	p := wide(t)
	must(t, p.on(3, []string{"checkpoint.time_limit=1e-9"}, func(j *Job) error {
		op, err := j.Build(context.Background())
		if err != nil {
			return err
		}
		defer op.engine.Close()
		_, err = j.solve(context.Background(), op, false)
		if status.Code(err) != status.Checkpointed || !strings.Contains(err.Error(), "time_limit") {
			return fmt.Errorf("status %d: %v", status.Code(err), err)
		}
		return nil
	}))
}

// A damaged newest checkpoint is passed over for the one before it on all ranks.
func TestDamagedCheckpointOnRanks(t *testing.T) {
	p := wide(t)
	want := p.solveOn(t, 1)
	must(t, p.on(2, []string{"checkpoint.iterations=2", "solver.iterations=5"}, func(j *Job) error {
		op, err := j.Build(context.Background())
		if err != nil {
			return err
		}
		defer op.engine.Close()
		_, err = j.solve(context.Background(), op, false)
		return err
	}))
	file := p.path("checkpoints/image-0000004.checkpoint.h5")
	b, err := os.ReadFile(file)
	must(t, err)
	b[len(b)/2] ^= 0x40
	must(t, os.WriteFile(file, b, 0o644))
	var got *solved
	must(t, p.on(3, nil, func(j *Job) error {
		op, err := j.Build(context.Background())
		if err != nil {
			return err
		}
		defer op.engine.Close()
		r, err := j.solve(context.Background(), op, true)
		if j.Ranks.Root() {
			got = r
		}
		return err
	}))
	sameResult(t, "after damage", got, want)
}
