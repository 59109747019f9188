//go:build mpi

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// claiming builds a library to be loaded before MPI. It says in MPI's place that memory of
// CUDA's GPUs is taken. more is further C.
func claiming(t *testing.T, more string) string {
	t.Helper()
	library := filepath.Join(t.TempDir(), "claims.so")
	text := "int MPIX_Query_cuda_support(void) { return 1; }\n" + more
	if err := os.WriteFile(library+".c", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-O0", "-o", library, library+".c").CombinedOutput(); err != nil {
		t.Skipf("no library can be made that answers in place of MPI: %v\n%s", err, out)
	}
	return library
}

// With comm.backend = "auto" ranks with cards measure NCCL and all ways of MPI, among them
// the direct one only if MPI takes memory of GPUs. The image has the bits of a process alone.
func TestCarriersOfMPI(t *testing.T) {
	emulatedCards(t, 2)
	folder := smallCase(t)
	solve := func(ranks int, file string, env ...string) (said string) {
		l := onRanks(t, folder, ranks, "run", filepath.Join(folder, "config.toml"), "--set", "kirchhoff.engine=cuda", "--set", "image.origin=0,0",
			"--set", "image.spacing=50,50", "--set", "image.shape=40,20", "--set", "solver.iterations=13", "--set", "output.file="+file)
		l.Env = append(l.Env, env...)
		if code := l.code(t); code != status.Done {
			t.Fatalf("status %d\n%s%s", code, &l.out, &l.errs)
		}
		return l.out.String() + l.errs.String()
	}
	solve(1, "alone.h5")
	want := imageOf(t, filepath.Join(folder, "alone.h5"))
	row := regexp.MustCompile(`(?m)^  (\S+) +with overlap +\S+ s$`)
	for file, c := range map[string]struct{ env, carriers []string }{
		"host.h5":   {nil, []string{"nccl", "mpi-staged", "mpi-onesided"}},
		"direct.h5": {[]string{"LD_PRELOAD=" + claiming(t, "")}, []string{"nccl", "mpi", "mpi-staged", "mpi-onesided"}},
	} {
		said := solve(2, file, c.env...)
		var carriers []string
		for _, m := range row.FindAllStringSubmatch(said, -1) {
			carriers = append(carriers, m[1])
		}
		if !slices.Equal(carriers, c.carriers) {
			t.Errorf("%s: measured %v, want %v in\n%s", file, carriers, c.carriers, said)
		}
		sameImage(t, file, imageOf(t, filepath.Join(folder, file)), want)
	}
}
