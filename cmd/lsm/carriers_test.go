package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// With comm.backend = "auto" ranks with cards measure NCCL and all ways of MPI, among them
// the direct one only if MPI takes memory of GPUs. The image has the bits of a process alone.
func TestCarriersOfMPI(t *testing.T) {
	gputest.Cards(t, 2)
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
