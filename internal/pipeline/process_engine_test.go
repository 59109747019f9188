package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"

	"github.com/kirchhoff-lsm/lsm/internal/machine"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// TestMain also serves as the child that compiles kernels for HIP.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == CompileCommand {
		if driver.ServeCompile(os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(gputest.Main(m))
}

// measured stands for the times of a sample, s, on a rank's cpu and GPU.
type measured func(rank int) (cpu, gpu float64, err error)

// settled is what rank 0 says of a choice, and what it takes, which must be the same on all
// ranks. A nil measured measures.
func settled(t *testing.T, ranks int, kept string, times measured, set ...string) (engine, choice, said string, err error) {
	t.Helper()
	folder := t.TempDir()
	s := &survey.Survey{Dim: 2, Fixed: true, NT: 40, DT: 0.004, Sources: []float64{0, 0, 50, 0, 90, 0}, Receivers: []float64{10, 0, 30, 0, 70, 0},
		Data: make([]float32, 9*40), Wavelet: survey.Wavelet{Samples: []float64{1}, DT: 0.004}}
	if err := h5.WriteSurvey(filepath.Join(folder, "survey.h5"), s, h5.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	const text = "[survey]\nfile = \"survey.h5\"\n[velocity]\nconstant = 2000.0\n[image]\norigin = [0.0, 0.0]\nspacing = [5.0, 5.0]\nshape = [20, 15]\n[output]\nfile = \"image.h5\"\n"
	cfg, err := config.Parse(filepath.Join(folder, "config.toml"), []byte(text), set, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	engines := make([]string, ranks)
	err = commtest.Ranks(ranks, func(world comm.Comm) error {
		rank, report := world.Rank(), progress.Discard()
		if rank == 0 {
			report = progress.New(progress.Options{Out: &out, Err: &out})
		}
		h, hardware, err := JoinRanks(world, cfg, report)
		if err != nil {
			return err
		}
		defer h.Leave()
		in, err := ReadInputs(h.Ranks, cfg)
		if err != nil {
			return err
		}
		defer in.Close()
		p, err := NewPlan(cfg, in, hardware, NeedGeometry)
		if err != nil {
			return err
		}
		share, err := p.Geometry.Share(h.Grid, rank)
		if err != nil {
			return err
		}
		m := timeEngine(h.timeSample)
		if times != nil {
			m = func(p *Plan, _ *Sample, remake bool) (float64, error) {
				if remake != (cfg.Kirchhoff.Tables == "recompute") {
					t.Errorf("tables made anew: %v", remake)
				}
				cpu, gpu, err := times(rank)
				if p.Hardware.Card == nil {
					return cpu, nil
				}
				return gpu, err
			}
		}
		if p, err = h.settle(p, share, kept, m); err != nil {
			return err
		}
		if rank == 0 {
			choice = h.Choice
		}
		engines[rank] = p.Hardware.Engine
		if card := p.Hardware.Engine != "cpu"; card != (h.Card != nil) || card != (p.Hardware.Card != nil) || card == (h.Device == h.Host) || card == (h.ISA != "") {
			return fmt.Errorf("engine %s with GPU %v, device %v, instruction set %q", p.Hardware.Engine, h.Card, h.Device, h.ISA)
		}
		return nil
	})
	for _, e := range engines {
		if err == nil && e != engines[0] {
			t.Errorf("ranks take %v", engines)
		}
	}
	return engines[0], choice, out.String(), err
}

// The engine that takes less time on its slowest rank is taken, on all ranks, and the run
// says so with both times.
func TestAutoTakesTheFaster(t *testing.T) {
	gputest.NeedEmulator(t)
	at := func(cpu, gpu float64, slow int, slower float64) measured {
		return func(rank int) (float64, float64, error) {
			if rank == slow {
				return cpu, slower, nil
			}
			return cpu, gpu, nil
		}
	}
	for name, c := range map[string]struct {
		ranks  int
		times  measured
		want   string
		choice string
		set    []string
	}{
		"GPU":            {1, at(3, 2, -1, 0), "cuda", "3 s on the cpu, 2 s on cuda 0", nil},
		"cpu":            {1, at(2, 3, -1, 0), "cpu", "2 s on the cpu, 3 s on cuda 0", nil},
		"GPU on three":   {3, at(3, 1, 1, 2), "cuda", "3 s on the cpu, 2 s on cuda 0", nil},
		"a slow rank":    {3, at(3, 1, 2, 4), "cpu", "3 s on the cpu, 4 s on cuda 0", nil},
		"GPU, made anew": {2, at(3, 2, -1, 0), "cuda", "3 s on the cpu, 2 s on cuda 0", []string{"kirchhoff.tables=recompute"}},
		"a GPU fails":    {2, func(rank int) (float64, float64, error) { return 2, 1, []error{nil, errors.New("broken")}[rank] }, "cpu", "the GPU failed: broken", nil},
		"it is measured": {2, nil, "", " s on the cpu, ", []string{"image.gathers=offset", "image.gather_bins=0,30,100", "kirchhoff.aperture=60", "kirchhoff.dynamic=true"}},
		"made anew":      {1, nil, "", " s on the cpu, ", []string{"kirchhoff.tables=recompute"}},
		"in any order":   {1, nil, "", " s on the cpu, ", []string{"solver.reproducible=off"}},
	} {
		t.Run(name, func(t *testing.T) {
			engine, choice, said, err := settled(t, c.ranks, "", c.times, c.set...)
			if err != nil || c.want != "" && engine != c.want || !strings.HasPrefix(choice, engine+": ") || !strings.Contains(choice, c.choice) || strings.Count(said, "kirchhoff.engine: auto takes "+choice) != 1 ||
				strings.Contains(said, "share the GPU") != (engine == "cuda" && c.ranks > 1) {
				t.Errorf("%s, want %s with %q: %s\n%s%v", engine, c.want, c.choice, choice, said, err)
			}
		})
	}
}

// Nothing is measured where something else decides.
func TestAutoWithoutMeasuring(t *testing.T) {
	gputest.NeedEmulator(t)
	never := func(int) (float64, float64, error) {
		t.Error("measured")
		return 1, 1, nil
	}
	resident, _ := ProgramMemory()
	little := float64(resident+60<<20) / (1 << 30) // GiB: the tables alone are 36 MB
	for name, c := range map[string]struct {
		ranks   int
		kept    string
		set     []string
		environ [2]string
		want    string
		choice  string
	}{
		"a checkpoint of the cpu": {ranks: 2, kept: "cpu", want: "cpu", choice: "checkpoint"},
		"a checkpoint of a GPU":   {ranks: 2, kept: "cuda", want: "cuda", choice: "checkpoint"},
		"memory of the GPU":       {ranks: 2, environ: [2]string{"GPUEMU_MEMORY", "20000"}, want: "cpu", choice: "free on the GPU"},
		"memory of the cpu": {ranks: 1, set: []string{"kirchhoff.tables=full", "image.shape=1500,1000", "machine.threads=1", fmt.Sprintf("machine.memory_gib=%g", little)},
			want: "cuda", choice: "memory: this run needs"},
		"a rank without a GPU": {ranks: 3, environ: [2]string{"GPUEMU_FAULT", "cuDevicePrimaryCtxRetain:2:2"}, want: "cpu", choice: "has no GPU"},
		"NCCL":                 {ranks: 2, set: []string{"comm.backend=nccl"}, environ: [2]string{"NCCL_MULTI_RANK_GPU_ENABLE", "1"}, want: "cuda"},
		"MPI through the host": {ranks: 2, set: []string{"comm.backend=mpi-staged"}, want: "cuda"},
		"RCCL":                 {ranks: 1, set: []string{"comm.backend=rccl"}, want: "hip"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.environ[0] != "" {
				t.Setenv(c.environ[0], c.environ[1])
			}
			engine, choice, said, err := settled(t, c.ranks, c.kept, never, c.set...)
			if err != nil || engine != c.want || !strings.Contains(choice, c.choice) || c.choice == "" && choice != "" || !strings.Contains(said, choice) {
				t.Errorf("%s, want %s with %q: %s\n%s%v", engine, c.want, c.choice, choice, said, err)
			}
		})
	}
}

// Without a GPU the cpu computes, without a word. A backend for GPUs is an error.
func TestAutoWithoutGPU(t *testing.T) {
	t.Setenv("LSM_CUDA_LIB", "/none/libcuda.so")
	t.Setenv("LSM_HIP_LIB", "/none/libamdhip64.so")
	if list := machine.Accelerators("/dev"); len(list) == 0 {
		if engine, choice, said, err := settled(t, 2, "", nil); err != nil || engine != "cpu" || choice+said != "" {
			t.Errorf("%s: %s\n%s%v", engine, choice, said, err)
		}
	}
	for _, backend := range []string{"nccl", "rccl", "mpi-staged"} {
		if _, _, _, err := settled(t, 1, "", nil, "comm.backend="+backend); status.Code(err) != status.NoResource ||
			!strings.Contains(err.Error(), `comm.backend: "`+backend+`" carries buffers of a GPU`) || !strings.Contains(err.Error(), "/none/lib") {
			t.Errorf("%s: status %d: %v", backend, status.Code(err), err)
		}
	}
	engine, _, said, err := settled(t, 2, "", nil, "comm.backend=nccl", "comm.fallback=mpi")
	if want := `comm.backend: "nccl" carries buffers of a GPU; the cpu computes, and sums go by goroutines: rank 0 has no GPU: `; err != nil ||
		engine != "cpu" || !strings.Contains(said, want) || !strings.Contains(said, "/none/lib") {
		t.Errorf("with a fallback: %s\n%s%v", engine, said, err)
	}
}
