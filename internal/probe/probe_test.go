package probe_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/probe"
)

// asChild makes this test's executable the child: "compile" compiles a kernel, "hang" never
// ends, all else is a library to try.
const asChild = "LSM_TEST_AS_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) == "" {
		os.Exit(gputest.Main(m))
	}
	var err error
	switch what := os.Args[1]; what {
	case "compile":
		err = driver.ServeCompile(os.Stdin, os.Stdout)
	case "hang":
		select {}
	default:
		err = probe.Serve(what, []string{os.Args[0], "compile"}, os.Stdout)
	}
	if err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	os.Exit(0)
}

// tried is what comes back of a library, with more in its environment.
func tried(t *testing.T, patience time.Duration, subject string, environ ...string) *probe.Report {
	t.Helper()
	t.Setenv(asChild, "1")
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return probe.Child(context.Background(), []string{program}, subject, patience)
}

// Every library says what it is and does its task.
func TestWorks(t *testing.T) {
	gputest.NeedEmulator(t)
	for subject, want := range map[string][2]string{
		"cuda": {"CUDA 12.4 (", "2 GPUs copied and added numbers"}, "hip": {"HIP 6.2.41134 (", "2 GPUs copied and added numbers"},
		"nccl": {"NCCL 2.30.3 (", "it summed numbers on GPU 0"}, "rccl": {"RCCL of NCCL 2.22.3 (", "it summed numbers on GPU 0"},
		"cublas": {"cuBLAS 12.4.5 (", "it multiplied matrices on GPU 0"}, "hipblas": {"hipBLAS (", "it multiplied matrices on GPU 0"},
	} {
		r := tried(t, probe.Patience, subject, "GPUEMU_CARDS=2")
		if !r.Works() || !strings.HasPrefix(r.About, want[0]) || r.Did != want[1] {
			t.Errorf("%s: %+v", subject, r)
		}
		if driver := subject == "cuda" || subject == "hip"; driver && (len(r.Cards) != 2 || !strings.HasPrefix(r.Programs, "programs compiled by ")) {
			t.Errorf("%s: %+v", subject, r)
		}
	}
}

// A library that crashes or hangs, at whatever point, is reported with what it said before.
func TestEndsAndHangs(t *testing.T) {
	gputest.NeedEmulator(t)
	for _, c := range []struct {
		subject, fault string
		about          string // begins what was known of the library by then
		err            string
	}{
		{"cuda", "GPUEMU_FAULT=cuInit:1:-11", "", "it ended the process that tried it: SIGSEGV"},
		{"cuda", "GPUEMU_FAULT=cuDevicePrimaryCtxRetain:1:-9", "CUDA 12.4", "it ended the process that tried it: signal: killed"},
		{"cuda", "GPUEMU_FAULT=cuMemAlloc:1:999", "CUDA 12.4", "GPU 0: "},
		{"cuda", "LSM_CUDA_LIB=/none", "", "the CUDA driver cannot be loaded: there is no /none"},
		{"cublas", "GPUEMU_FAULT=cublasDgemm:1:-11", "cuBLAS 12.4.5", "it ended the process that tried it: SIGSEGV"},
		{"openblas", "LSM_OPENBLAS_LIB=/none", "", "OpenBLAS cannot be loaded: there is no /none"},
		{"nccl", "GPUEMU_NCCL_FAULT=kill:0:1", "NCCL 2.30.3", "it ended the process that tried it: signal: killed"},
	} {
		t.Run(c.subject+" "+c.fault, func(t *testing.T) {
			r := tried(t, probe.Patience, c.subject, c.fault)
			if r.Works() || r.Loaded() != (c.about != "") || !strings.HasPrefix(r.About, c.about) || !strings.Contains(r.Error, c.err) {
				t.Errorf("%+v, want %q and error %q", r, c.about, c.err)
			}
		})
	}
	if r := tried(t, time.Second, "hang"); r.Works() || r.Error != "it hangs: a process that tried it did not end within 1s" {
		t.Errorf("%+v", r)
	}
	if r := tried(t, probe.Patience, "opengl"); !strings.Contains(r.Error, `library "opengl" is unknown, want one of [cublas cuda hip hipblas mpi`) {
		t.Errorf("%+v", r)
	}
}

// MPI is given a card's memory where it claims to take it and a trial did not show otherwise.
func TestJudge(t *testing.T) {
	claim := comm.Claim{Takes: true, Why: "it says so"}
	for _, c := range []struct {
		trial probe.Report
		want  comm.Claim
	}{
		{probe.Report{About: "MPI", Tried: true, Did: "it sent numbers"}, comm.Claim{Takes: true, Why: "it says so, and in a trial it sent numbers"}},
		{probe.Report{About: "MPI", Tried: true, Error: "it died"}, comm.Claim{Why: "it says so, but in a trial: it died"}},
		{probe.Report{About: "MPI", Tried: true, Did: "it sent numbers", Error: "wrong"}, comm.Claim{Why: "it says so, but in a trial: wrong"}},
		{probe.Report{About: "MPI", Error: "no GPU"}, comm.Claim{Takes: true, Why: "it says so, and it could not be tried: no GPU"}},
	} {
		if got := probe.Judge(claim, &c.trial); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.trial, got, c.want)
		}
	}
}
