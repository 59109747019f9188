package job

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// solveBack solves with a backend for GPUs that fails, and returns what rank 0 says.
func (p *problem) solveBack(t *testing.T, ranks int, set ...string) (result *solved, said string, err error) {
	t.Helper()
	cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), set, nil)
	must(t, err)
	cfg.Comm.Timeout = 0.3
	var out bytes.Buffer
	err = commtest.Ranks(ranks, func(world comm.Comm) error {
		report := progress.Discard()
		if world.Rank() == 0 {
			report = progress.New(progress.Options{Out: &out, Err: &out})
		}
		j, err := Open(world, cfg, plan.Traces, report)
		if err != nil {
			return err
		}
		defer j.Close()
		op, err := built(context.Background(), j)
		if err != nil {
			return err
		}
		defer op.Engine.Close()
		r, err := j.solve(context.Background(), op, false)
		if j.Root() {
			result = r
		}
		return err
	})
	return result, out.String(), err
}

// A library that does not start leaves the sums to the ranks' communicator, with a warning
// that names the reason, and the image keeps its bits. Without a fallback it is an error.
// One key is enough to choose the library.
func TestStartFallsBack(t *testing.T) {
	gputest.NeedEmulator(t)
	t.Setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1")
	p := wide(t)
	for _, c := range []struct {
		backend, library, fault, want string
		ranks                         int
	}{
		{"nccl", gputest.NCCL, "hang:1:0", "ncclCommInitRankConfig was not done after 300ms on ranks 0 and 1", 2},
		{"nccl", gputest.NCCL, "hang:-1:0", "ncclCommInitRankConfig was not done after 300ms on ranks 0, 1 and 2", 3},
		{"nccl", gputest.NCCL, "error:2:0:2", "unhandled system error", 3},
		{"rccl", gputest.RCCL, "hang:0:0", "ncclCommInitRankConfig was not done after 300ms on ranks 0 and 1", 2},
	} {
		t.Run(c.backend+" "+c.fault, func(t *testing.T) {
			for _, v := range []string{"LSM_NCCL_LIB", "LSM_RCCL_LIB"} {
				t.Setenv(v, filepath.Join(os.Getenv("GPUEMU_FOLDER"), c.library))
			}
			t.Setenv("GPUEMU_NCCL_VERSION", "23003") // whose ranks share a card
			set := []string{"comm.backend=" + c.backend, "solver.iterations=2"}
			want, said, err := p.solveBack(t, c.ranks, set...)
			must(t, err)
			if !strings.Contains(said, "communicator of the GPUs: ") {
				t.Errorf("one key does not choose it:\n%s", said)
			}
			t.Setenv("GPUEMU_NCCL_FAULT", c.fault)
			got, said, err := p.solveBack(t, c.ranks, append(set, "comm.fallback=mpi")...)
			must(t, err)
			if !strings.Contains(said, "sums between GPUs go by goroutines") || !strings.Contains(said, c.want) {
				t.Errorf("not said: %s\n%s", c.want, said)
			}
			sameResult(t, "by the fallback", got, want)
			if _, _, err = p.solveBack(t, c.ranks, set...); status.Code(err) != status.PeerLost || !strings.Contains(err.Error(), c.want) {
				t.Errorf("without a fallback: status %d: %v", status.Code(err), err)
			}
		})
	}
}
