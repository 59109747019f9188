package child_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/child"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
)

// What tells a process that it is a rank, in the words of every launcher that this
// program understands.
var ranks = []string{
	"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2",
	"MV2_COMM_WORLD_RANK=1", "MV2_COMM_WORLD_SIZE=2", "MV2_COMM_WORLD_LOCAL_RANK=1", "MV2_COMM_WORLD_LOCAL_SIZE=2",
	"PMI_RANK=1", "PMI_SIZE=2", "PMI_FD=7", "PMIX_RANK=1", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2",
	"PALS_LOCAL_RANKID=1", "PALS_LOCAL_SIZE=2", "FLUX_TASK_LOCAL_ID=1",
	"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_LOCALID=1",
}

// A child sees itself as rank of nothing, and keeps all else.
func TestEnvironment(t *testing.T) {
	own := []string{"PATH=/bin", "CUDA_VISIBLE_DEVICES=1", "ROCR_VISIBLE_DEVICES=0", "LSM_HIP_LIB=x", "OMP_NUM_THREADS=3"}
	for _, r := range ranks {
		if got := child.Environment([]string{r}); len(got) != 0 {
			t.Errorf("%s reaches a child", r)
		}
	}
	got := child.Environment(append(slices.Clone(ranks), own...))
	if !slices.Equal(got, own) {
		t.Errorf("a child has %q, want %q", got, own)
	}
	l := machine.ReadLauncher(got)
	if l.Rank != 0 || l.Ranks != 1 || l.Name != "" {
		t.Errorf("a child takes itself for rank %d of %d of %s", l.Rank, l.Ranks, l.Name)
	}
	if l.LocalRank != 0 || l.LocalRanks != 1 {
		t.Errorf("a child takes itself for rank %d of %d of its machine", l.LocalRank, l.LocalRanks)
	}
}

// The command has that environment.
func TestCommand(t *testing.T) {
	for _, r := range ranks {
		name, value, _ := strings.Cut(r, "=")
		t.Setenv(name, value)
	}
	t.Setenv("LSM_TEST_KEPT", "1")
	cmd := child.Command(context.Background(), os.Args[0], "-test.run=none")
	if l := machine.ReadLauncher(cmd.Environ()); l.Rank != 0 || !slices.Contains(cmd.Environ(), "LSM_TEST_KEPT=1") {
		t.Errorf("a child is rank %d, its environment %q", l.Rank, cmd.Environ())
	}
}
