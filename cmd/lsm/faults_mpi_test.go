package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm/mpi"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// fault is something that goes wrong in a run by two ranks on two cards that sum by NCCL.
type fault struct {
	name         string
	all          string // a variable of the environment of all ranks
	last         string // of rank 1 alone
	engine       string
	says         string // in the warning
	communicator string // in the image file
	likeOn       string // the engine of the undisturbed run with the same bits
}

// faults in the order in which a run meets them.
var faults = []fault{
	{"no GPU on a rank, engine auto", "", "GPUEMU_CARDS=0", "auto",
		`carries buffers of a GPU; the cpu computes, and sums go by mpi: rank 1 has no GPU: `, "mpi", "cpu"},
	{"no library on a rank", "", "LSM_NCCL_LIB=/nowhere/libnccl.so.2", "cuda",
		"rank 1: NCCL cannot be loaded: there is no /nowhere/libnccl.so.2", "mpi", "cuda"},
	{"start fails on a rank", "GPUEMU_NCCL_FAULT=error:1:0:2", "", "cuda",
		"rank 1: ncclCommInitRankConfig: unhandled system error: ", "mpi", "cuda"},
	{"start hangs on a rank", "GPUEMU_NCCL_FAULT=hang:1:0", "", "cuda",
		"ncclCommInitRankConfig was not done after 5s on ranks 0 and 1", "mpi", "cuda"},
	{"call fails on a rank", "", "GPUEMU_FAULT=cuLaunchHostFunc:3:999", "cuda",
		"rank 1: ncclAllReduce: unhandled cuda error: ", "nccl, mpi", "cuda"},
	{"asynchronous error on a rank", "GPUEMU_NCCL_FAULT=error:1:2:6", "", "cuda",
		"rank 1: NCCL 2.30.3 (libnccl.so.2): a collective failed: ncclCommGetAsyncError: remote process exited ", "nccl, mpi", "cuda"},
	{"collective hangs on a rank", "GPUEMU_NCCL_FAULT=hang:1:2", "", "cuda",
		"AllReduce of 7680 bytes did not end for 5", "nccl, mpi", "cuda"},
}

// faultyRun is what a run said and wrote.
type faultyRun struct {
	warnings []string
	seconds  float64 // from when the fault was noticed to going on, -1 without a fallback
	lost     float64 // seconds that the slowest iteration took longer than the fastest
	digest   string  // of the image
	wrote    string  // the communicator in the image file
}

// runFaulty runs lsm on two ranks, each with a card, with a fault.
func runFaulty(t *testing.T, folder string, f fault) faultyRun {
	t.Helper()
	image := filepath.Join(folder, "image.h5")
	args := []string{"run", "config.toml", "--force", "--json"}
	for _, set := range []string{"kirchhoff.engine=" + f.engine, "comm.backend=nccl", "comm.fallback=mpi", "comm.timeout=5",
		"comm.overlap=on", "machine.threads=1", "solver.iterations=3", "image.origin=0,0", "image.spacing=50,50", "image.shape=40,20"} {
		if f.engine == "cpu" && strings.HasPrefix(set, "comm.backend") {
			continue
		}
		args = append(args, "--set", set)
	}
	l := onRanks(t, folder, 2, args...)
	// The launchers tell each rank its number.
	at := slices.Index(l.Args, "run") - 1
	l.Args = slices.Insert(l.Args, at, "sh", "-c",
		`test "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 && export "$0"; exec "$@"`, "LSM_TEST_LAST="+f.last)
	if f.last != "" {
		l.Args[at+3] = f.last
	}
	l.Env = append(l.Env, "GPUEMU_NCCL_SILENT=1") // the others' cards learn nothing of a failure
	if f.all != "" {
		l.Env = append(l.Env, f.all)
	}
	if code := l.code(t); code != status.Done {
		t.Fatalf("%s: status %d\n%s%s", f.name, code, &l.out, &l.errs)
	}
	r := faultyRun{seconds: -1, digest: digestOf(t, image, "/image")}
	var iterations []float64
	for line := range strings.Lines(l.out.String()) {
		var e struct {
			Event, Message string
			Seconds        float64
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v: %s", f.name, err, line)
		}
		switch e.Event {
		case "warning":
			r.warnings = append(r.warnings, e.Message)
		case "fallback":
			r.seconds = e.Seconds
		case "iteration":
			iterations = append(iterations, e.Seconds)
		}
	}
	r.lost = slices.Max(iterations) - slices.Min(iterations)
	for _, a := range imageOf(t, image).Attrs {
		if a.Name == "communicator" {
			r.wrote = fmt.Sprint(a.Value)
		}
	}
	return r
}

// Whatever NCCL does wrong, when it starts or later, the run goes on by MPI, says why, and
// finds the image of a run in which nothing goes wrong. The log is a table of that.
func TestFaultsOverMPI(t *testing.T) {
	gputest.Cards(t, 2)
	folder := smallCase(t)
	undisturbed := map[string]faultyRun{}
	for engine, want := range map[string]string{"cuda": "nccl", "cpu": "mpi"} {
		r := runFaulty(t, folder, fault{name: "undisturbed on " + engine, engine: engine})
		if r.seconds >= 0 || r.wrote != want {
			t.Errorf("without a fault on %s: fallback after %g s, sums by %s, warnings %q", engine, r.seconds, r.wrote, r.warnings)
		}
		undisturbed[engine] = r
	}
	var table strings.Builder
	for _, f := range faults {
		r := runFaulty(t, folder, f)
		want := undisturbed[f.likeOn].digest
		if r.digest != want {
			t.Errorf("%s: the image has the digest %s, want %s", f.name, r.digest, want)
		}
		if len(r.warnings) != 1 || !strings.Contains(r.warnings[0], f.says) {
			t.Errorf("%s: warnings %q, want one with %q", f.name, r.warnings, f.says)
		}
		if r.seconds < 0 || r.wrote != f.communicator {
			t.Errorf("%s: fallback after %g s, sums by %s, want %s", f.name, r.seconds, r.wrote, f.communicator)
		}
		fmt.Fprintf(&table, "%-30s %9.3f %12.3f  %.12s %.12s  %s\n", f.name, r.seconds, r.lost, r.digest, want, strings.Join(r.warnings, "; "))
	}
	t.Logf("%s: a run of 3 iterations on 2 ranks, each with an emulated GPU\n"+
		"%-30s %9s %12s  %-12s %-12s  message\n%-30s %9s %12s  %-12s %-12s\n%s", mpi.About(),
		"fault", "goes on", "slowest less", "digest", "without", "", "after, s", "fastest it.", "", "the fault", &table)
}

// Without a fallback a collective that never ends is left to the watch.
func TestHangWithoutFallback(t *testing.T) {
	gputest.Cards(t, 2)
	folder := smallCase(t)
	l := onRanks(t, folder, 2, "run", "config.toml", "--set", "kirchhoff.engine=cuda", "--set", "comm.backend=nccl", "--set", "comm.timeout=5",
		"--set", "comm.overlap=on", "--set", "machine.threads=1", "--set", "solver.iterations=3", "--set", "image.origin=0,0",
		"--set", "image.spacing=50,50", "--set", "image.shape=40,20")
	l.Env = append(l.Env, "GPUEMU_NCCL_SILENT=1", "GPUEMU_NCCL_FAULT=hang:1:2")
	if code := l.code(t); !launchedStatus(code, status.PeerLost) || !strings.Contains(l.errs.String(), "no rank has moved for ") {
		t.Errorf("status %d, want %d\n%s%s", code, status.PeerLost, &l.out, &l.errs)
	}
}
