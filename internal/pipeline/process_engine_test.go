package pipeline

import (
	"bytes"
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

// settled is what rank 0 says of a choice, and what it takes, which must be the same on all
// ranks.
func settled(t *testing.T, ranks int, kept string, set ...string) (engine, choice, said string, err error) {
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
		if p, err = h.Settle(p, share, kept); err != nil {
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

// The GPU is taken where every rank has one that can do the run, and the run says so.
func TestAutoTakesTheGPU(t *testing.T) {
	gputest.NeedEmulator(t)
	for name, c := range map[string]struct {
		ranks int
		set   []string
	}{
		"one rank":         {1, nil},
		"three ranks":      {3, nil},
		"tables made anew": {2, []string{"kirchhoff.tables=recompute"}},
		"in 16 bits":       {1, []string{"kirchhoff.tables=uint16", "solver.reproducible=off"}},
		"classes":          {2, []string{"image.gathers=offset", "image.gather_bins=0,30,100", "kirchhoff.aperture=60", "kirchhoff.dynamic=true"}},
	} {
		t.Run(name, func(t *testing.T) {
			engine, choice, said, err := settled(t, c.ranks, "", c.set...)
			if err != nil || engine != "cuda" || !strings.Contains(choice, "has the memory for this run") || strings.Count(said, "kirchhoff.engine: auto takes "+choice) != 1 ||
				strings.Contains(said, "share the GPU") != (c.ranks > 1) {
				t.Errorf("%s: %s\n%s%v", engine, choice, said, err)
			}
		})
	}
}

// A checkpoint, a backend, or a GPU that lacks something decides.
func TestAutoDecides(t *testing.T) {
	gputest.NeedEmulator(t)
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
		"a rank without a GPU":    {ranks: 3, environ: [2]string{"GPUEMU_FAULT", "cuDevicePrimaryCtxRetain:2:2"}, want: "cpu", choice: "has no GPU"},
		"NCCL":                    {ranks: 2, set: []string{"comm.backend=nccl"}, environ: [2]string{"NCCL_MULTI_RANK_GPU_ENABLE", "1"}, want: "cuda"},
		"MPI through the host":    {ranks: 2, set: []string{"comm.backend=mpi-staged"}, want: "cuda"},
		"RCCL":                    {ranks: 1, set: []string{"comm.backend=rccl"}, want: "hip"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.environ[0] != "" {
				t.Setenv(c.environ[0], c.environ[1])
			}
			engine, choice, said, err := settled(t, c.ranks, c.kept, c.set...)
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
		if engine, choice, said, err := settled(t, 2, ""); err != nil || engine != "cpu" || choice+said != "" {
			t.Errorf("%s: %s\n%s%v", engine, choice, said, err)
		}
	}
	for _, backend := range []string{"nccl", "rccl", "mpi-staged"} {
		if _, _, _, err := settled(t, 1, "", "comm.backend="+backend); status.Code(err) != status.NoResource ||
			!strings.Contains(err.Error(), `comm.backend: "`+backend+`" carries buffers of a GPU`) || !strings.Contains(err.Error(), "/none/lib") {
			t.Errorf("%s: status %d: %v", backend, status.Code(err), err)
		}
	}
	engine, _, said, err := settled(t, 2, "", "comm.backend=nccl", "comm.fallback=mpi")
	if want := `comm.backend: "nccl" carries buffers of a GPU; the cpu computes, and sums go by goroutines: rank 0 has no GPU: `; err != nil ||
		engine != "cpu" || !strings.Contains(said, want) || !strings.Contains(said, "/none/lib") {
		t.Errorf("with a fallback: %s\n%s%v", engine, said, err)
	}
}
