package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
)

// weighing are keys that give samples weights, filter traces and change variables.
var weighing = []string{"data.mute_offsets=[0,900]", "data.mute_times=[0.05,0.2]", "data.mute_taper=0.04",
	"data.whiten=0.2", "data.offset=[0,700]", "image.surface=survey", "image.surface_taper=12", "solver.damping=0.1"}

// A streamed run has the image and the history of one that holds its traces, to
// rounding.
func TestStreamedRunIsTheSame(t *testing.T) {
	for name, c := range map[string]struct {
		make func(*testing.T) *problem
		set  []string
	}{
		"2-D":            {wide, nil},
		"2-D, cg":        {wide, []string{"solver.method=cg", "solver.iterations=5"}},
		"2-D, damped":    {shuffled, []string{"solver.damping=3"}},
		"2-D, band":      {wide, []string{"solver.iterations=5", "solver.band=true", "solver.damping=0.3", "solver.penalty_scale=relative"}},
		"2-D, coherence": {wide, []string{"solver.iterations=5", "data.weights=coherence"}},
		"3-D, dynamic":   {long, []string{"kirchhoff.dynamic=true"}},
		"recompute":      {wide, []string{"kirchhoff.tables=recompute", "solver.iterations=3"}},
		"weighted":       {wide, weighing},
		"antialiased":    {wide, []string{"kirchhoff.antialias=triangle", "kirchhoff.antialias_spacing=40", "kirchhoff.dip_limit=[50,70]"}},
		"in any order":   {wide, []string{"solver.reproducible=off"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.make(t)
			set := append([]string{"solver.iterations=10"}, c.set...)
			want := p.solveOn(t, 1, append(set, "data.read=memory")...)
			got := p.solveOn(t, 1, append(set, "data.read=stream")...)
			near(t, "image", got.Image, want.Image, 1e-4)
			for k, r := range want.History.Residual {
				if d := abs(got.History.Residual[k]/r - 1); !(d <= 1e-5) {
					t.Errorf("residual after %d iterations: %.9g, %.9g in memory, %.1e apart", k, got.History.Residual[k], r, d)
				}
				if d := abs(got.History.Gradient[k]/want.History.Gradient[k] - 1); !(d <= 1e-4) {
					t.Errorf("gradient after %d iterations: %.9g, %.9g in memory", k, got.History.Gradient[k], want.History.Gradient[k])
				}
			}
			t.Log(got.History.Residual[len(got.History.Residual)-1] / got.History.Residual[0])
		})
	}
}

// tight is a memory limit that leaves room for one shot at a time, tables in full.
func (p *problem) tight(t *testing.T, set ...string) string {
	t.Helper()
	j := p.open(t, NeedTraces, progress.Discard(), "cpu", append(slices.Clone(set), "data.read=stream", "kirchhoff.tables=full")...)
	little := *j.plan
	little.Hardware.Memory = 1
	m := CountMemory(&little, j.share)
	if n := len(m.Groups) - 1; n != len(j.share.Shots) {
		t.Fatalf("%d groups, %d shots", n, len(j.share.Shots))
	}
	j.plan.Config.Data.Read = "memory"
	all := CountMemory(j.plan.Holding(Residency{Tables: j.plan.Config.Kirchhoff.Tables}), j.share)
	if m.Total() >= all.Total() {
		t.Fatalf("streaming saves nothing: %v and %v", m, all)
	}
	return fmt.Sprintf("machine.memory_gib=%.17g", float64(m.Total())/(1<<30))
}

// Image and history have the same bits on any number of ranks, any grid, any number of
// threads, in groups of any size.
func TestStreamedRunHasTheSameBitsOnAnyGrid(t *testing.T) {
	for name, c := range map[string]struct {
		make func(*testing.T) *problem
		set  []string
	}{
		"2-D":            {wide, []string{"solver.iterations=4", "solver.true_residual_every=2"}},
		"2-D, shuffled":  {shuffled, []string{"solver.iterations=2", "solver.damping=0.3", "solver.penalty_scale=relative", "solver.method=cg"}},
		"3-D, dynamic":   {long, []string{"solver.iterations=2", "kirchhoff.dynamic=true"}},
		"2-D, coherence": {wide, []string{"solver.iterations=5", "data.weights=coherence", "solver.true_residual_every=2"}},
		"2-D, weighted":  {wide, append(slices.Clone(weighing), "solver.iterations=2", "solver.true_residual_every=1")},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.make(t)
			set := append(c.set, "data.read=stream", "kirchhoff.tables=full")
			want := p.solveOn(t, 1, append(set, "machine.threads=1")...)
			for _, g := range [][2]int{{1, 1}, {2, 1}, {3, 1}, {2, 2}, {1, 4}, {3, 2}} {
				set := append(slices.Clone(set), fmt.Sprintf("comm.grid=%d,%d", g[0], g[1]), fmt.Sprintf("machine.threads=%d", 1+g[0]%2))
				sameResult(t, fmt.Sprint(g), p.solveOn(t, g[0]*g[1], set...), want)
			}
			sameResult(t, "one shot at a time", p.solveOn(t, 1, append(set, p.tight(t, c.set...))...), want)
			sameResult(t, "recomputed tables", p.solveOn(t, 2, append(c.set, "data.read=stream", "kirchhoff.tables=recompute")...), want)
		})
	}
}

// counting counts the bytes that are allocated and not freed.
type counting struct {
	*device.Host
	now, most *int64
}

func (c counting) Alloc(n int, t device.Type) (device.Buf, error) {
	*c.now += int64(n * t.Size())
	*c.most = max(*c.most, *c.now)
	return c.Host.Alloc(n, t)
}

func (c counting) Free(b device.Buf) {
	*c.now -= int64(b.Len() * b.Type().Size())
	c.Host.Free(b)
}

// Where memory does not suffice for the traces they are streamed, a shot at a time if
// need be. Buffers then are as large as was foretold, and far smaller than the data.
func TestTracesThatDoNotFitAreStreamed(t *testing.T) {
	p := wide(t)
	limit := p.tight(t)
	j := p.open(t, NeedTraces, progress.Discard(), "cpu", limit, "kirchhoff.tables=full")
	m := j.Memory()
	if !m.Stream || !j.plan.Held.Stream || m.Recompute || m.Total() > m.Limit || m.AllData != int64(4*len(p.survey.Data)) {
		t.Fatalf("memory plan %v, limit %d", m, m.Limit)
	}
	var now, most int64
	j.process.Device = counting{j.process.Host, &now, &most}
	op := build(t, j)
	if want := "traces streamed in 9 groups of up to 21"; !strings.Contains(op.Info, want) {
		t.Errorf("%q does not say %q", op.Info, want)
	}
	d, err := j.Data()
	must(t, err)
	solved, err := j.Solve(context.Background(), d, false)
	must(t, err)
	if foretold := m.Data + m.Vectors; most > foretold || most < foretold*9/10 {
		t.Errorf("buffers of %d bytes, foretold %d", most, foretold)
	}
	if m.Data > m.AllData*2/5 {
		t.Errorf("data of %d bytes held of %d", m.Data, m.AllData)
	}
	r, err := j.whole(solved, nil)
	must(t, err)
	sameResult(t, "as asked for", r, p.solveOn(t, 1, "data.read=stream"))

	three, err := NewForecast(j.plan, []int{3, 1}, 3) // a third of the traces on each of three ranks
	must(t, err)
	if three.Memory.Total() > m.Limit {
		t.Errorf("planned memory on three ranks %v", three.Memory)
	}
	for _, set := range [][]string{{"data.read=memory"}, {"solver.regularization=dip", "solver.regularization_weight=0.1"}} {
		j := p.open(t, NeedTraces, progress.Discard(), "cpu", append(set, limit, "kirchhoff.tables=full")...)
		if err := j.Memory().Check(); j.plan.Held.Stream || status.Code(err) != status.NoResource {
			t.Errorf("%v: streamed %v, %v", set, j.plan.Held.Stream, err)
		}
	}
}

// Migration and modelling of streamed traces: the traces have the bits of those in
// memory, the image is the same to rounding, and both have the same bits on any grid.
func TestStreamedMigrateAndModelOnRanks(t *testing.T) {
	p := shuffled(t)
	reflectivity := noise(p.grid.Len(), 5)
	type out struct{ image, traces, residual []float32 }
	run := func(ranks int, set ...string) (o out) {
		must(t, p.on(ranks, set, withData(func(j *Job, op *Operator, d *dist.Vector) error {
			image, err := j.whole(j.op.Migrate(context.Background(), d))
			if err != nil {
				return err
			}
			if j.Ranks.Root() {
				o.image = image.Image
			}
			if e, err := j.op.DotTest(context.Background()); err != nil || !(e <= j.op.DotLimit()) || e == 0 {
				return fmt.Errorf("dot test %g, %v", e, err)
			}
			if err := j.WritePredicted(context.Background(), p.path("traces.h5"), ReadPoints(reflectivity), Source{Force: true}); err != nil {
				return err
			}
			x, err := j.op.ImageVector(ReadPoints(reflectivity))
			if err != nil {
				return err
			}
			return j.WriteResidual(context.Background(), p.path("residual.h5"), d, x, Source{Force: true})
		})))
		for file, to := range map[string]*[]float32{"traces.h5": &o.traces, "residual.h5": &o.residual} {
			s, err := surveytest.Read(p.path(file))
			must(t, err)
			*to = s.Data
		}
		return o
	}
	memory, want := run(1), run(1, "data.read=stream")
	near(t, "image", want.image, memory.image, 1e-6)
	equal(t, "traces", want.traces, memory.traces)
	equal(t, "residual", want.residual, memory.residual)
	for _, g := range []string{"3,1", "2,2", "1,3"} {
		got := run(map[string]int{"3,1": 3, "2,2": 4, "1,3": 3}[g], "comm.grid="+g, "data.read=stream")
		equal(t, g+": image", got.image, want.image)
		equal(t, g+": traces", got.traces, want.traces)
		equal(t, g+": residual", got.residual, want.residual)
	}
}

// The weights that a solve writes are those of its misfit: with the residual they have the norm at the end of its
// history. They have the same bits on any grid.
func TestWeightsAreThoseOfTheMisfit(t *testing.T) {
	p := shuffled(t)
	run := func(ranks int, set ...string) (weights []float32) {
		var norm float64
		set = append(slices.Clone(set), "solver.iterations=5", "solver.true_residual_every=1", "output.residual=residual.h5")
		must(t, p.on(ranks, set, withData(func(j *Job, op *Operator, d *dist.Vector) error {
			r, err := j.Solve(context.Background(), d, false)
			if err != nil {
				return err
			}
			if j.Ranks.Root() {
				norm = r.History.Residual[len(r.History.Residual)-1]
			}
			if err := j.writeWeights(p.path("weights.h5"), Source{Force: true}); err != nil {
				return err
			}
			return j.WriteResidual(context.Background(), p.path("residual.h5"), d, r.Solved, Source{Force: true})
		})))
		w, err := surveytest.Read(p.path("weights.h5"))
		must(t, err)
		left, err := surveytest.Read(p.path("residual.h5"))
		must(t, err)
		square, least := 0.0, float32(1)
		for i, v := range left.Data {
			square += math.Pow(float64(v*w.Data[i]), 2)
			least = min(least, w.Data[i])
		}
		if got := math.Sqrt(square); math.Abs(got/norm-1) > 1e-4 || !(least >= 0 && least < 1) {
			t.Errorf("%v: the weighted residual has norm %g, the history %g; the least weight is %g", set, got, norm, least)
		}
		return w.Data
	}
	muted := append(slices.Clone(weighing), "data.whiten=0", "image.surface=none", "solver.damping=0")
	coherent := []string{"data.weights=coherence", "data.mute_offsets=[0,900]", "data.mute_times=[0.05,0.2]", "solver.band=true"}
	run(1, muted...)
	want := run(1, coherent...)
	for _, g := range []string{"3,1", "2,2", "1,3"} {
		ranks := map[string]int{"3,1": 3, "2,2": 4, "1,3": 3}[g]
		equal(t, g, run(ranks, append(coherent, "comm.grid="+g)...), want)
	}
	streamed := run(1, append(coherent, "data.read=stream")...)
	equal(t, "streamed, 3 ranks", run(3, append(coherent, "data.read=stream", "comm.grid=3,1")...), streamed)
}

// A streamed run stopped on some ranks goes on, to the same bits, on others; a
// checkpoint of traces in memory is another plan.
func TestStreamedRunResumesOnOtherRanks(t *testing.T) {
	for _, method := range []string{"cgls", "cg"} {
		p := wide(t)
		set := []string{"data.read=stream", "solver.method=" + method, "solver.iterations=6", "solver.damping=0.2", "solver.true_residual_every=2"}
		want := p.solveOn(t, 1, set...)
		ctx, stop := context.WithCancel(context.Background())
		must(t, p.on(4, append(slices.Clone(set), "comm.grid=2,2", "checkpoint.iterations=1"), func(j *Job) error {
			op, err := j.Build(context.Background())
			if err != nil {
				return err
			}
			defer op.engine.Close()
			if j.Ranks.World.Rank() == 1 {
				j.Ranks.Report = progress.New(progress.Options{Err: io.Discard, JSON: true, Out: writer(func(line []byte) {
					if bytes.Contains(line, []byte(`"iteration":3,`)) {
						stop()
					}
				})})
			}
			_, err = j.solve(ctx, op, false)
			if status.Code(err) != status.Checkpointed {
				return fmt.Errorf("status %d: %v", status.Code(err), err)
			}
			return nil
		}))
		if got := names(t, p.path("checkpoints")); !strings.Contains(got, "image-0000003.checkpoint.h5") {
			t.Errorf("checkpoints %s", got)
		}
		err := p.on(1, append(slices.Clone(set), "data.read=memory"), func(j *Job) error {
			_, err := j.CanResume()
			return err
		})
		if status.Code(err) != status.BadUsage || !strings.Contains(err.Error(), "data.read was stream, is memory") {
			t.Errorf("traces in memory: %v", err)
		}
		var got *solved
		must(t, p.on(3, append(slices.Clone(set), "comm.grid=3,1"), func(j *Job) error {
			op, err := j.Build(context.Background())
			if err != nil {
				return err
			}
			defer op.engine.Close()
			r, err := j.solve(context.Background(), op, true)
			if err == nil && j.Ranks.Root() {
				got = r
			}
			return err
		}))
		sameResult(t, method, got, want)
	}
}

// A survey file that is cut short, or damaged unseen, while its traces are needed is an
// error of the input on all ranks, whatever was under way, and leaves nothing behind.
func TestFileFailsWhileStreamed(t *testing.T) {
	solve := func(j *Job, op *Operator) error {
		_, err := j.solve(context.Background(), op, false)
		return err
	}
	migrate := func(j *Job, op *Operator) error {
		_, err := j.op.Migrate(context.Background(), nil)
		return err
	}
	residual := func(j *Job, op *Operator) error {
		x, err := j.op.ImageVector(ReadPoints(make([]float32, j.plan.Geometry.Image.Len())))
		if err != nil {
			return err
		}
		return j.WriteResidual(context.Background(), j.plan.Config.Survey.File.File+".residual", nil, x, Source{})
	}
	for _, c := range []struct {
		what  string
		spoil func(path string, size int64) error
		do    func(*Job, *Operator) error
		ranks int
		grid  string
	}{
		{"solve, cut short", cutShort, solve, 1, "1,1"},
		{"solve on a row, cut short", cutShort, solve, 3, "3,1"},
		{"solve, damaged", damage, solve, 1, "1,1"},
		{"migrate on a grid, cut short", cutShort, migrate, 4, "2,2"},
		{"migrate, damaged", damage, migrate, 1, "1,1"},
		{"migrate, cut short", cutShort, migrate, 2, "1,2"},
		{"residual, cut short", cutShort, residual, 3, "3,1"},
		{"residual, damaged", damage, residual, 1, "1,1"},
	} {
		p := wide(t)
		before := names(t, p.folder)
		errs := make([]error, c.ranks)
		must(t, p.on(c.ranks, []string{"comm.grid=" + c.grid, "data.read=stream"}, func(j *Job) error {
			op, err := j.Build(context.Background())
			if err != nil {
				return err
			}
			defer op.engine.Close()
			if err := j.Ranks.AtRoot(func() error {
				at, err := os.Stat(p.path("survey.h5"))
				if err != nil {
					return err
				}
				return c.spoil(p.path("survey.h5"), at.Size())
			}); err != nil {
				return err
			}
			errs[j.Ranks.World.Rank()] = c.do(j, op)
			return nil
		}))
		for rank, err := range errs {
			if status.Code(err) != status.BadInput || !strings.Contains(fmt.Sprint(err), "survey.h5: /data: ") {
				t.Errorf("%s, rank %d: status %d: %v", c.what, rank, status.Code(err), err)
			}
		}
		if after := names(t, p.folder); after != before {
			t.Errorf("%s leaves %s, found %s", c.what, after, before)
		}
	}
}

func cutShort(path string, size int64) error { return os.Truncate(path, size*2/3) }

// damage writes over the last third of a file what is no number, and hides it. Reads of
// less than 64 KiB, as on several ranks here, might not meet it: the library keeps them.
func damage(path string, size int64) error {
	at, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xff}, int(size/3)), size*2/3); err != nil {
		return err
	}
	return os.Chtimes(path, time.Time{}, at.ModTime())
}

// Dead traces are counted, and a survey of nothing else is refused.
func TestDeadTracesAreCountedWhileStreamed(t *testing.T) {
	p := wide(t)
	s := *p.survey
	s.Data = slices.Clone(s.Data)
	clear(s.Data[30*s.NT : 35*s.NT])
	clear(s.Data[100*s.NT : 101*s.NT])
	p.record(t, &s)
	for _, ranks := range []int{1, 3} {
		must(t, p.on(ranks, []string{"data.read=stream"}, func(j *Job) error {
			if j.plan.Found.Dead != 6 {
				return fmt.Errorf("%d dead traces, must be 6", j.plan.Found.Dead)
			}
			return nil
		}))
	}
	clear(s.Data)
	p.record(t, &s)
	if err := p.on(2, []string{"data.read=stream"}, func(*Job) error { return nil }); status.Code(err) != status.BadInput || !strings.Contains(err.Error(), "are dead") {
		t.Errorf("status %d: %v", status.Code(err), err)
	}
}

// A pass whose guess of the bound was far off is done again, on all grids alike.
func TestWrongGuessesAreMended(t *testing.T) {
	p := wide(t)
	for _, scale := range []float64{1e-9, 1e9, math.Inf(1), math.NaN()} {
		var want []float32
		for _, c := range []struct {
			ranks int
			grid  string
		}{{1, "1,1"}, {3, "3,1"}, {4, "2,2"}} {
			must(t, p.on(c.ranks, []string{"data.read=stream", "comm.grid=" + c.grid}, func(j *Job) error {
				op, err := j.Build(context.Background())
				if err != nil {
					return err
				}
				defer op.engine.Close()
				x, err := j.op.ImageVector(ReadPoints(noise(j.plan.Geometry.Image.Len(), 3)))
				if err != nil {
					return err
				}
				q, err := x.Clone()
				if err != nil {
					return err
				}
				if _, err := op.stream.Normal(context.Background(), q, x); err != nil {
					return err
				}
				again := op.stream.Again()
				for _, v := range op.stream.Carried() {
					*v *= scale
				}
				if _, err := op.stream.Normal(context.Background(), q, x); err != nil {
					return err
				}
				if op.stream.Again() != again+1 {
					return fmt.Errorf("guess wrong by %g: %d passes done again", scale, op.stream.Again()-again)
				}
				image, err := j.process.Whole(q)
				if err != nil || !j.Ranks.Root() {
					return err
				}
				if want == nil {
					want = image
				}
				if !slices.Equal(image, want) {
					return fmt.Errorf("guess wrong by %g, grid %s: other bits", scale, c.grid)
				}
				return nil
			}))
		}
	}
}
