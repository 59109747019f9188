package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Kernels on a card stand beside what the card can do.
func TestBenchKernelOnCard(t *testing.T) {
	gputest.Cards(t, 1)
	for _, kind := range []string{"--dynamic=false", "--dynamic"} {
		args := []string{"bench", "kernel", "--engine", "cuda", "--sources", "2", "--receivers", "6", "--shape", "30,20",
			"--samples", "120", "--runs", "1", kind, "--json"}
		var out, errs bytes.Buffer
		if code := run(args, &out, &errs); code != status.Done {
			t.Fatalf("status %d: %s", code, errs.String())
		}
		var e struct {
			Engine  string
			Triples float64
			Forward float64 `json:"forward_ns"`
			Adjoint float64 `json:"adjoint_ns"`
			Tables  float64 `json:"table_bytes"`
			Card    struct {
				Copy  float64 `json:"copy_bytes"`
				Issue float64
			}
			ForwardCopy  float64 `json:"forward_copy_share"`
			AdjointCopy  float64 `json:"adjoint_copy_share"`
			ForwardIssue float64 `json:"forward_issue_share"`
			AdjointIssue float64 `json:"adjoint_issue_share"`
			Verdict      string
		}
		first, _, _ := strings.Cut(out.String(), "\n")
		if err := json.Unmarshal([]byte(first), &e); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		forward, adjoint := 17.1, 11.1 // instructions in kirchhoff/gpu/counted.txt: sm_90, NVRTC 12.9
		if kind == "--dynamic" {
			forward, adjoint = 22.9, 17.9
		}
		bytes := e.Tables + 4*(30*20+2*6*120)
		copied, issue := 1e9*bytes/e.Triples/e.Card.Copy, 1e9/e.Card.Issue
		for name, c := range map[string][2]float64{
			"forward copy": {e.ForwardCopy, copied / e.Forward}, "adjoint copy": {e.AdjointCopy, copied / e.Adjoint},
			"forward issue": {e.ForwardIssue, forward * issue / e.Forward}, "adjoint issue": {e.AdjointIssue, adjoint * issue / e.Adjoint},
		} {
			if got, want := c[0], c[1]; !(got > 0) || math.Abs(got/want-1) > 1e-9 {
				t.Errorf("%s, %s: share %g, want %g", kind, name, got, want)
			}
		}
		if e.Triples != 2*6*30*20 || e.Verdict != "OK" || !strings.HasPrefix(e.Engine, "cuda 0") {
			t.Errorf("%+v", e)
		}
	}
}

// A library that cannot be had is an error that names it.
func TestBenchCommWithoutNCCL(t *testing.T) {
	gputest.Cards(t, 1)
	t.Setenv("LSM_NCCL_LIB", filepath.Join(t.TempDir(), "libnccl.so"))
	var errs bytes.Buffer
	if code := run([]string{"bench", "comm", "--backend", "nccl"}, &bytes.Buffer{}, &errs); code != status.NoResource ||
		!strings.Contains(errs.String(), "libnccl.so") {
		t.Errorf("status %d: %s", code, errs.String())
	}
}

// Products on a card, by a library that must be there.
func TestBenchMatmulOnCard(t *testing.T) {
	gputest.Cards(t, 1)
	matmul := func() (code int, out string) {
		var text bytes.Buffer
		code = run([]string{"bench", "matmul", "--engine", "hip", "--size", "40", "--tile", "16", "--runs", "1", "--json"}, &text, &text)
		return code, text.String()
	}
	if code, out := matmul(); code != status.Done || !strings.Contains(out, `"library":"hipblas","engine":"hip","carrier":"self","verdict":"OK"`) {
		t.Errorf("status %d: %s", code, out)
	}
	t.Setenv("LSM_HIPBLAS_LIB", "/nowhere/libhipblas.so")
	if code, out := matmul(); code != status.NoResource || !strings.Contains(out, "hipBLAS cannot be loaded: there is no /nowhere/libhipblas.so") {
		t.Errorf("status %d: %s", code, out)
	}
}

// A rank that is not the first compiles its kernels too: the child that does it is no
// rank.
func TestChildrenOfARank(t *testing.T) {
	gputest.Cards(t, 1)
	folder := t.TempDir()
	if code := run([]string{"synth", "points", "-o", folder, "--shots", "2", "--channels", "6", "--quiet"}, &bytes.Buffer{}, os.Stderr); code != status.Done {
		t.Fatalf("synth: status %d", code)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	migrate := func(rank int) (string, error) {
		image := filepath.Join(folder, fmt.Sprintf("image%d.h5", rank))
		cmd := exec.Command(program, "migrate", filepath.Join(folder, "config.toml"), "--set", "comm.backend=self",
			"--set", "kirchhoff.engine=hip", "--set", "image.shape=20,20", "--set", "output.file="+image)
		cmd.Env = append(os.Environ(), asRank+"=1", "SLURM_STEP_NUM_TASKS=2", fmt.Sprintf("SLURM_PROCID=%d", rank),
			"XDG_CACHE_HOME="+t.TempDir()) // no kernel is compiled yet
		out, err := cmd.CombinedOutput()
		if err == nil {
			_, err = os.Stat(image)
		}
		return string(out), err
	}
	for rank := range 2 {
		if out, err := migrate(rank); err != nil {
			t.Errorf("rank %d: %v\n%s", rank, err, out)
		}
	}
}

// Doctor says which libraries it would load for cards: those that the environment names.
func TestDoctorOnCards(t *testing.T) {
	gputest.Cards(t, 1)
	t.Setenv(asRank, "1") // what tries libraries is lsm too
	folder := os.Getenv("GPUEMU_FOLDER")
	doctor := func() (text string, build map[string]any) {
		var out, js bytes.Buffer
		if code := run([]string{"doctor"}, &out, os.Stderr); code != status.Done {
			t.Fatalf("status %d", code)
		}
		if code := run([]string{"doctor", "--json"}, &js, os.Stderr); code != status.Done {
			t.Fatalf("status %d", code)
		}
		for line := range strings.Lines(js.String()) {
			var e map[string]any
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			if e["event"] == "build" {
				build = e
			}
		}
		return out.String(), build
	}
	text, build := doctor()
	for _, want := range []string{
		"  NCCL                     " + filepath.Join(folder, gputest.NCCL) + "\n",
		"  RCCL                     " + filepath.Join(folder, gputest.RCCL) + "\n",
		"  engine cuda: CUDA 12.4 (" + filepath.Join(folder, "libcuda.so.1") + "); 1 GPU copied and added numbers\n",
		"  engine hip: HIP 6.2.41134 (", "  engine cuda: GPU 0, emulated GPU, 1.0 GiB\n",
		"  communicator nccl: NCCL 2.30.3 (libnccl.so.2); it summed numbers on GPU 0\n",
		"  communicator rccl: RCCL of NCCL 2.22.3 (librccl.so.1); it summed numbers on GPU 0\n",
		"  cuBLAS                   " + filepath.Join(folder, "libcublas.so.12") + "\n",
		"  matrices by cublas: cuBLAS 12.4.5 (libcublas.so.12); it multiplied matrices on GPU 0\n",
		"  matrices by hipblas: hipBLAS (libhipblas.so.2); it multiplied matrices on GPU 0\n",
		"  engine cuda: programs compiled by ", "  engine hip: programs compiled by ",
		"  kirchhoff.engine = \"auto\"          cuda or cpu, whichever takes less time for a sample of the survey\n",
		"  kirchhoff.engine = \"hip\"           hip\n", "  comm.backend = \"auto\"              self\n",
		"  comm.backend = \"nccl\"              nccl between GPUs, self beside it\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("not said: %q in\n%s", want, text)
		}
	}
	for _, what := range []string{"cuda", "nccl", "hip", "rccl", "cublas", "hipblas"} {
		if build[what] != true {
			t.Errorf("%s is %v", what, build[what])
		}
	}
	t.Setenv("GPUEMU_NCCL_FAULT", "kill:0:1")
	t.Setenv("LSM_RCCL_LIB", "/nowhere/lib.so")
	text, build = doctor()
	for _, want := range []string{
		"  not communicator nccl: NCCL 2.30.3 (libnccl.so.2): it ended the process that tried it: signal: killed\n",
		"  comm.backend = \"nccl\"              an error\n", "  comm.backend = \"nccl\", fallback = \"mpi\" self\n",
	} {
		if !strings.Contains(text, want) || build["cuda"] != true || build["nccl"] != false {
			t.Errorf("not said: %q in\n%s%v", want, text, build)
		}
	}
	for _, variable := range []string{"LSM_NVRTC_LIB", "LSM_NCCL_LIB", "LSM_HIPRTC_LIB", "LSM_RCCL_LIB", "LSM_CUBLAS_LIB"} {
		t.Setenv(variable, "/nowhere/lib.so")
	}
	text, build = doctor()
	for _, want := range []string{
		"  NCCL                     not found (/nowhere/lib.so)\n", "  not communicator nccl: NCCL cannot be loaded: there is no /nowhere/lib.so\n",
		"  not matrices by cublas: cuBLAS cannot be loaded: there is no /nowhere/lib.so\n",
		"  RCCL                     not found (/nowhere/lib.so)\n", "  not communicator rccl: RCCL cannot be loaded: there is no /nowhere/lib.so\n",
		"  engine cuda: programs carried as PTX for compute_80 and finished by the driver: NVIDIA's run-time compiler (NVRTC) cannot be loaded",
		"  not engine hip: HIP 6.2.41134 (", "AMD's run-time compiler (hiprtc) cannot be loaded",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("not said: %q in\n%s", want, text)
		}
	}
	if build["cuda"] != true || build["nccl"] != false || build["hip"] != false || build["rccl"] != false {
		t.Errorf("build %v", build)
	}
}

// lsm run finds on a card the image that it finds on the processor, with the options that
// change the operator's weights and with the illumination that needs its diagonal.
func TestRunOnCard(t *testing.T) {
	gputest.Cards(t, 1)
	folder := t.TempDir()
	if code := run([]string{"synth", "points", "-o", folder, "--shots", "4", "--channels", "6", "--quiet"}, &bytes.Buffer{}, os.Stderr); code != status.Done {
		t.Fatalf("synth: status %d", code)
	}
	common := []string{"image.shape=40,30", "solver.iterations=2", "image.gathers=offset", "image.gather_bins=[0,300,3000]", "kirchhoff.dynamic=true", "kirchhoff.dip_limit=[30,70]",
		"kirchhoff.opening_limit=110", "kirchhoff.aperture=600"}
	for _, last := range []string{"image.gather_normalize=illumination", "kirchhoff.antialias=triangle"} {
		image := func(engine string) []float32 {
			path := filepath.Join(t.TempDir(), "image.h5")
			args := []string{"run", filepath.Join(folder, "config.toml"), "--quiet"}
			for _, set := range append(common, last, "kirchhoff.engine="+engine, "output.file="+path) {
				args = append(args, "--set", set)
			}
			var errs bytes.Buffer
			if code := run(args, &bytes.Buffer{}, &errs); code != status.Done {
				t.Fatalf("%s, %s: status %d: %s", engine, last, code, errs.String())
			}
			im, err := h5.ReadImage(path)
			if err != nil {
				t.Fatal(err)
			}
			return im.Data
		}
		got, want := image("cuda"), image("cpu")
		most, worst := 0.0, 0.0
		for i, v := range want {
			most = max(most, math.Abs(float64(v)))
			worst = max(worst, math.Abs(float64(got[i]-v)))
		}
		if !(most > 0 && worst <= 1e-4*most) {
			t.Errorf("%s: images differ by %g of %g", last, worst, most)
		}
	}
}
