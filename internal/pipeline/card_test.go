package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver/ahead"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"

	"github.com/kirchhoff-lsm/lsm/internal/gputest"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// onCards is on with the engine cuda.
func (p *problem) onCards(ranks int, set []string, body func(j *Job) error) error {
	return p.onEngine(ranks, "cuda", set, body)
}

func (p *problem) solveOnCards(t *testing.T, ranks int, set ...string) *solved {
	t.Helper()
	return p.solveOnEngine(t, ranks, "cuda", set...)
}

// Without NVRTC the programs are those carried as PTX: the run says so, and finds the
// same image.
func TestCarriedPrograms(t *testing.T) {
	gputest.NeedEmulator(t)
	p := line(t)
	want := p.solveOnCards(t, 2)
	t.Setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1")
	t.Setenv("LSM_NVRTC_LIB", "/none/libnvrtc.so")
	sameResult(t, "without NVRTC", p.solveOnCards(t, 2, "comm.backend=nccl"), want)

	var said bytes.Buffer
	cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), []string{"kirchhoff.engine=cuda"}, nil)
	must(t, err)
	j, err := Open(comm.Self(), cfg, NeedGeometry, progress.New(progress.Options{Out: &said, Err: &said}))
	must(t, err)
	j.Close()
	if text := said.String(); !strings.Contains(text, "carried as PTX") || !strings.Contains(text, "/none/libnvrtc.so") {
		t.Errorf("the run says %q", text)
	}

	ptx, err := ahead.PTX(gpu.VectorSource())
	must(t, err)
	gputest.Replace(t, ptx.Image, []byte("not PTX")) // a driver that refuses what it is given
	_, err = Open(comm.Self(), cfg, NeedGeometry, progress.Discard())
	if status.Code(err) != status.NoResource || !strings.Contains(err.Error(), "compute_80") || !strings.Contains(err.Error(), "libnvrtc") {
		t.Errorf("status %d: %v", status.Code(err), err)
	}
}

// A backend that cannot be had is an error that names the library, or a warning.
func TestNoNCCL(t *testing.T) {
	gputest.NeedEmulator(t)
	t.Setenv("LSM_NCCL_LIB", "/none/libnccl.so")
	p := line(t)
	for fallback, code := range map[string]int{"none": status.NoResource, "mpi": status.Done} {
		err := p.onCards(2, []string{"comm.backend=nccl", "comm.fallback=" + fallback}, func(j *Job) error { return nil })
		if status.Code(err) != code || err != nil && !strings.Contains(err.Error(), "libnccl") {
			t.Errorf("fallback %s: status %d: %v", fallback, status.Code(err), err)
		}
	}
	if err := p.onEngine(2, "cpu", []string{"comm.backend=mpi-staged"}, func(j *Job) error { return nil }); status.Code(err) != status.BadUsage {
		t.Errorf("on the processor: status %d: %v", status.Code(err), err)
	}
}

// A run on a GPU goes on from its checkpoint to the same bits.
func TestResumeOnCard(t *testing.T) {
	gputest.Need(t)
	p := line(t)
	want := p.solve(t, "cuda")
	stopped(t, p.stopAfter(t, 3, "cuda", false))
	j, op := p.ready(t, "cuda")
	r, err := j.solve(context.Background(), op, true)
	must(t, err)
	sameResult(t, "resumed", r, want)
}

// With engine = "auto" a run goes on with the engine of its checkpoint, to the same bits.
func TestResumeWithAuto(t *testing.T) {
	gputest.NeedEmulator(t)
	for _, engine := range []string{"cpu", "cuda"} {
		p := line(t)
		want := p.solve(t, engine)
		stopped(t, p.stopAfter(t, 3, engine, false))
		cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), nil, nil)
		must(t, err)
		j, err := Resume(comm.Self(), cfg, NeedTraces, progress.Discard())
		must(t, err)
		t.Cleanup(j.Close)
		if j.plan.Hardware.Engine != engine || !strings.Contains(j.process.Choice, "checkpoint") {
			t.Errorf("resumed with %s, want %s: %s", j.plan.Hardware.Engine, engine, j.process.Choice)
		}
		r, err := j.solve(context.Background(), build(t, j), true)
		must(t, err)
		sameResult(t, "resumed with "+engine, r, want)
	}
}

// What does not fit on the GPU is refused before anything is computed.
func TestCardTooSmall(t *testing.T) {
	gputest.NeedEmulator(t)
	t.Setenv("GPUEMU_MEMORY", "20000")
	p := line(t)
	cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), []string{"kirchhoff.engine=cuda"}, nil)
	must(t, err)
	j, err := Open(comm.Self(), cfg, NeedTraces, progress.Discard())
	if err == nil {
		defer j.Close()
		_, err = j.Build(context.Background())
	}
	if status.Code(err) != status.NoResource || !strings.Contains(err.Error(), "GPU") {
		t.Errorf("status %d: %v", status.Code(err), err)
	}
}

// What tables auto chooses on a GPU depends on what is free there, and on how many ranks
// take their part of that.
func TestCardTables(t *testing.T) {
	gputest.NeedEmulator(t)
	p := line(t)
	memory := func(ranks int) (m Memory) {
		t.Helper()
		must(t, p.onCards(ranks, nil, func(j *Job) error {
			if j.Ranks.Root() {
				m = j.Memory()
			}
			_, err := j.Ranks.World.Host().Agree(0)
			return err
		}))
		return m
	}
	full := memory(1)
	if full.Stream || full.Card == 0 {
		t.Fatalf("with all of the GPU free: %v", full)
	}
	const spare = 1 << 20 // what opening a card takes
	t.Setenv("GPUEMU_MEMORY", fmt.Sprint(full.Card+spare))
	if m := memory(1); m.Stream || m.CardLimit > full.Card+spare {
		t.Errorf("just enough: %v", m)
	}
	two := memory(2)
	if two.CardLimit > (full.Card+spare)/2 {
		t.Errorf("two ranks may take %d bytes each of %d", two.CardLimit, full.Card+spare)
	}

	// Somebody else takes what tables and traces need together.
	other, err := gpu.Open(gpu.Options{Cache: accel.UserCache()})
	must(t, err)
	defer other.Close()
	_, err = other.Alloc(2*spare, device.F64)
	if err == nil {
		t.Fatal("the GPU is larger than thought")
	}
	taken, err := other.Alloc(spare/4+700, device.F32)
	must(t, err)
	m := memory(1)
	if !m.Stream || m.Card >= full.Card {
		t.Errorf("beside another's %d bytes: %v", 4*taken.Len(), m)
	}
	other.Free(taken)
}

// Tables for which a GPU has no room are made anew in every application, or interpolated from
// coarse ones. Recomputed ones give the same bits.
func TestCardRemakesTables(t *testing.T) {
	gputest.NeedEmulator(t)
	p := wide(t)
	for _, c := range []struct {
		tables, reproducible string
		share                float64 // of the tables that have room
		near                 float64
	}{
		{"recompute", "ranks", 0.8, 0}, {"coarse", "ranks", 1.7, 2e-2}, {"auto", "run", 0.3, 1e-5},
	} {
		t.Run(c.tables, func(t *testing.T) {
			set := []string{"data.read=memory", "solver.iterations=2", "solver.reproducible=" + c.reproducible}
			want := p.solveOnCards(t, 1, set...)
			var full Memory
			must(t, p.onCards(1, set, func(j *Job) error {
				full = j.Memory()
				return nil
			}))
			t.Setenv("GPUEMU_MEMORY", fmt.Sprint(1<<30-full.CardLimit+full.Card-int64((1-c.share)*float64(full.Tables))))
			must(t, p.onCards(1, append(set, "kirchhoff.tables="+c.tables), func(j *Job) error {
				op, err := j.Build(context.Background())
				if err != nil {
					return err
				}
				defer op.engine.Close()
				m := j.Memory()
				if !m.Recompute || m.Card > m.CardLimit || m.Tables >= full.Tables || (m.Coarse > 0) != (c.tables == "coarse") {
					return fmt.Errorf("memory plan %v", m)
				}
				if op.engine.TableBytes() > m.Tables || !strings.Contains(op.Info, "stretches") {
					return fmt.Errorf("tables of %d bytes, foretold %d: %s", op.engine.TableBytes(), m.Tables, op.Info)
				}
				r, err := j.solve(context.Background(), op, false)
				if err != nil {
					return err
				}
				if c.near == 0 {
					sameResult(t, c.tables, r, want)
				}
				near(t, c.tables, r.Image, want.Image, c.near)
				return nil
			}))
		})
	}
}

// What the GPU took for kernels and sums is in the account, by its own clock, and takes
// no more events the longer the run.
func TestCardTimes(t *testing.T) {
	gputest.NeedEmulator(t)
	p := line(t)
	const iterations = 200
	cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig),
		[]string{"kirchhoff.engine=cuda"}, nil)
	must(t, err)
	report := progress.Discard()
	report.KeepTrace(1)
	j, err := Open(comm.Self(), cfg, NeedTraces, report)
	must(t, err)
	defer j.Close()
	t.Setenv("GPUEMU_FAULT", "cuEventCreate:700:2")
	op, err := j.Build(context.Background())
	must(t, err)
	defer op.engine.Close()
	data, err := j.Data()
	must(t, err)
	image, err := dist.NewVector(j.process.Device, op.lifted.Domain())
	must(t, err)
	for range iterations {
		must(t, op.lifted.ApplyAdjoint(context.Background(), image, data))
		must(t, op.lifted.Apply(context.Background(), data, image))
		norm, err := dist.Norm(data)
		must(t, err)
		must(t, j.process.Device.Axpby(1/norm, data.Buf, 0, data.Buf)) // else it grows beyond float32
	}
	must(t, j.process.Card.Sync())
	calls := map[string]int{}
	account := report.Account()
	for _, lane := range account.Beside.Inner {
		for _, n := range lane.Inner {
			calls[lane.Name+" "+n.Name] = n.Calls
			if n.Own <= 0 {
				t.Errorf("%s took %v", n.Name, n.Own)
			}
		}
	}
	for _, what := range []string{"GPU forward", "GPU adjoint", "GPU dots"} {
		if calls[what] < iterations {
			t.Errorf("%s: %d times, want at least %d of %v", what, calls[what], iterations, calls)
		}
	}
	if len(account.Trace.Spans) < 3*iterations {
		t.Errorf("the trace has %d spans", len(account.Trace.Spans))
	}
}
