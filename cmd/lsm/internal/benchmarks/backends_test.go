package benchmarks

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// What this machine does not offer has a line that says why, and the others are measured.
func TestBenchBackendsThatAreMissing(t *testing.T) {
	gputest.Cards(t, 1)
	cfg := smallSurvey(t)
	for _, c := range []struct {
		set  [2]string // of the environment
		ways []string
		why  map[string]string
	}{
		{[2]string{"NCCL_MULTI_RANK_GPU_ENABLE", "1"}, []string{"cpu goroutines", "cuda mpi-staged", "not cuda mpi", "cuda nccl"},
			map[string]string{"cuda mpi": "MPI does not take memory of cuda's GPUs"}},
		{[2]string{"NCCL_MULTI_RANK_GPU_ENABLE", "0"}, []string{"cpu goroutines", "cuda mpi-staged", "not cuda mpi", "not cuda nccl"},
			map[string]string{"cuda nccl": "GPU"}},
		{[2]string{"LSM_NCCL_LIB", "/nowhere/libnccl.so"}, []string{"cpu goroutines", "cuda mpi-staged", "not cuda mpi", "not cuda nccl"},
			map[string]string{"cuda nccl": "/nowhere/libnccl.so"}},
		{[2]string{"LSM_CUDA_LIB", "/nowhere/libcuda.so"}, []string{"cpu goroutines", "not cuda mpi-staged", "not cuda mpi", "not cuda nccl"},
			map[string]string{"cuda mpi-staged": "/nowhere/libcuda.so", "cuda mpi": "/nowhere/libcuda.so", "cuda nccl": "/nowhere/libcuda.so"}},
	} {
		t.Setenv(c.set[0], c.set[1])
		var text, errs bytes.Buffer
		err := commtest.Ranks(2, func(world comm.Comm) error {
			a := &cli.App{Report: progress.Discard(), World: world}
			if world.Rank() == 0 {
				a.Report = progress.New(progress.Options{Out: &text, Err: &errs, JSON: true})
			}
			own := *cfg
			own.Comm.Fallback = "none"
			b := &backends{app: a, cfg: &own, o: backendsOptions{iterations: 1}}
			b.o.first, b.o.last, b.o.engine = "1KiB", "4KiB", "cuda"
			if err := b.o.check(false); err != nil {
				return err
			}
			return b.run(context.Background())
		})
		if err != nil {
			t.Fatalf("%s=%s: %v\n%s", c.set[0], c.set[1], err, text.String())
		}
		var ways []string
		sums, why := map[string]int{}, map[string]string{}
		for line := range strings.Lines(text.String()) {
			var e struct{ Event, Engine, Backend, Why string }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			switch way := e.Engine + " " + e.Backend; e.Event {
			case "collective":
				sums[way]++
			case "not_measured":
				ways, why[way] = append(ways, "not "+way), e.Why
			case "backend":
				ways = append(ways, way)
			}
		}
		if !slices.Equal(ways, c.ways) {
			t.Errorf("%s=%s: ways %q, want %q", c.set[0], c.set[1], ways, c.ways)
		}
		for way, want := range c.why {
			if !strings.Contains(why[way], want) {
				t.Errorf("%s=%s: %s: not said %q: %q", c.set[0], c.set[1], way, want, why[way])
			}
		}
		for _, way := range c.ways {
			if !strings.HasPrefix(way, "not ") && sums[way] != 2 {
				t.Errorf("%s=%s: %s: %d sizes, want 2", c.set[0], c.set[1], way, sums[way])
			}
		}
	}
}

// Images that differ by more than is promised, and wrong sums, are a numerical error that
// names them.
func TestBenchBackendsVerdict(t *testing.T) {
	image := func(v float32) []float32 { return []float32{1, v} }
	for name, c := range map[string]struct {
		cuda, nccl   float32 // of the images; the cpu's is 1
		reproducible string
		wrong        int64
		want         string // "" for none
	}{
		"same bits":       {1 + 1e-5, 1 + 1e-5, "ranks", 0, ""},
		"other bits":      {1 + 1e-5, 1 + 2e-5, "ranks", 0, "images of cuda nccl and cuda mpi-staged have not the same bits"},
		"any order":       {1 + 1e-5, 1 + 2e-5, "off", 0, ""},
		"any, but other":  {1, 1.1, "off", 0, "images of cuda nccl and cuda mpi-staged differ by 7.1e-02"},
		"far from cpu":    {1.1, 1.1, "ranks", 0, "images of cuda mpi-staged and cpu mpi differ by 7.1e-02, of at most 1e-04"},
		"a sum is wrong":  {1, 1, "ranks", 3, "3 elements of sums are wrong"},
		"several reasons": {1.1, 1.2, "ranks", 1, "; images of cuda nccl"},
	} {
		cfg := &config.Config{}
		cfg.Solver.Reproducible = c.reproducible
		b := &backends{app: &cli.App{Report: progress.Discard(), World: comm.Self()}, cfg: cfg, wrong: c.wrong}
		for _, w := range []struct {
			engine, backend string
			v               float32
		}{{"cpu", "mpi", 1}, {"cuda", "mpi-staged", c.cuda}, {"cuda", "nccl", c.nccl}} {
			trial := &pipeline.Trial{Plain: 2, Iteration: 1, Alone: 0.5, Left: 0.1, Last: 1. / 6, Hidden: 0.8, Sequential: 0.25,
				Image: image(w.v), Digest: h5.ImageDigest([]int{2}, image(w.v))}
			b.ways = append(b.ways, &way{engine: w.engine, backend: w.backend, trial: trial})
		}
		err := b.verdict()
		if c.want == "" && err != nil || c.want != "" && (status.Code(err) != status.NotNumerical || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// The verdict names what bounds the overlap.
func TestBenchBackendsLimit(t *testing.T) {
	for _, c := range []struct {
		engine, backend string
		trial           pipeline.Trial
		threads         int
		want            string
	}{
		{"cpu", "self", pipeline.Trial{Plain: 1}, 0, ""},
		{"cpu", "mpi", pipeline.Trial{Plain: 1, Alone: 0.1, Sequential: 0.1, Last: 1}, 0,
			"sums take 10.0 % of an iteration without overlap. Each is one piece, which no kernel runs beside, so overlap hides nothing."},
		{"cpu", "mpi", pipeline.Trial{Plain: 1, Alone: 0.1, Sequential: 0.1, Last: 1. / 5, Hidden: 0.4}, 0,
			"Overlap hides 40 % of that, of about 80 % that it could: the last piece of a sum has no kernel beside it. The kernels use all processors, so the sums share these with them."},
		{"cpu", "mpi", pipeline.Trial{Plain: 1, Alone: 0.1, Sequential: 0.1, Last: 1. / 5, Hidden: 0.4}, 1, "no kernel beside it."},
		{"cuda", "nccl", pipeline.Trial{Plain: 1, Alone: 0.8, Sequential: 0.8, Last: 1. / 4, Hidden: 0.2}, 0,
			"Overlap hides 20 % of that, of about 25 % that it could: the sums take longer than the kernels."},
		{"cuda", "nccl", pipeline.Trial{Plain: 1, Alone: 0.5, Sequential: 0.5, Last: 1. / 4, Hidden: 0.8}, 0,
			"Overlap hides 80 % of that, all that it can: the last piece of a sum has no kernel beside it."},
		{"cuda", "mpi-staged", pipeline.Trial{Plain: 1, Alone: 0.5, Sequential: 0.5, Last: 1. / 4, Hidden: 0.2}, 0,
			"Overlapped sums are copied to the host and back, and the card waits for these copies."},
	} {
		cfg := &config.Config{}
		cfg.Machine.Threads = c.threads
		b := &backends{cfg: cfg, threads: 2}
		if got := b.limit(&way{engine: c.engine, backend: c.backend, trial: &c.trial}); got != c.want && (c.want == "" || !strings.HasSuffix(got, c.want)) {
			t.Errorf("%s %s: %q, want %q", c.engine, c.backend, got, c.want)
		}
	}
}
