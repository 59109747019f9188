package pipeline

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/comm/watch"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// solveBack solves with a backend for GPUs that fails, and returns what rank 0 says.
func (p *problem) solveBack(t *testing.T, ranks int, set ...string) (result *solved, said string, err error) {
	t.Helper()
	said, err = p.watched(t, ranks, 0.3, set, func(j *Job, op *Operator, d *dist.Vector) error {
		r, err := j.whole(j.Solve(context.Background(), d, false))
		if j.Ranks.Root() {
			result = r
		}
		return err
	})
	return result, said, err
}

// watched runs body on ranks that a watch guards, with comm.timeout in s, and returns what
// rank 0 says.
func (p *problem) watched(t *testing.T, ranks int, timeout float64, set []string, body func(j *Job, op *Operator, d *dist.Vector) error) (said string, err error) {
	t.Helper()
	cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), set, nil)
	must(t, err)
	cfg.Comm.Timeout = timeout
	var out bytes.Buffer
	err = commtest.Ranks(ranks, func(c comm.Comm) error {
		report := progress.Discard()
		if c.Rank() == 0 {
			report = progress.New(progress.Options{Out: &out, Err: &out})
		}
		world, w, err := watch.Guard(c, watch.Options{})
		if err != nil {
			return err
		}
		defer w.Close(nil)
		j, err := Open(world, cfg, NeedTraces, report)
		if err != nil {
			return err
		}
		defer j.Close()
		return withData(body)(j)
	})
	return out.String(), err
}

// A library that does not start leaves the sums to the ranks' communicator, with a warning
// that names the reason, and the image keeps its bits. Without a fallback it is an error.
// One key is enough to choose the library.
func TestStartFallsBack(t *testing.T) {
	gputest.NeedEmulator(t)
	t.Setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1")
	p := wide(t)
	for _, c := range []struct {
		fault, want string
		ranks       int
	}{
		{"hang:1:0", "ncclCommInitRankConfig was not done after 300ms on ranks 0 and 1", 2},
		{"hang:-1:0", "ncclCommInitRankConfig was not done after 300ms on ranks 0, 1 and 2", 3},
		{"error:2:0:2", "unhandled system error", 3},
	} {
		t.Run(c.fault, func(t *testing.T) {
			set := []string{"comm.backend=nccl", "solver.iterations=2"}
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

// A library that fails on one rank in mid-run, of which the others' cards learn nothing,
// leaves the sums to the ranks' communicator. The iteration under way is made again, and
// the image keeps its bits.
func TestGoesOnAfterAFailure(t *testing.T) {
	gputest.NeedEmulator(t)
	t.Setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1")
	t.Setenv("GPUEMU_NCCL_SILENT", "1")
	solve := func(j *Job, d *dist.Vector) (*solved, error) { return j.whole(j.Solve(context.Background(), d, false)) }
	migrate := func(j *Job, d *dist.Vector) (*solved, error) { return j.whole(j.op.Migrate(context.Background(), d)) }
	for name, c := range map[string]struct {
		ranks int
		fault string
		do    func(j *Job, d *dist.Vector) (*solved, error)
		set   []string
	}{
		"cgls":          {2, "error:1:2:6", solve, nil},
		"start":         {2, "error:0:1:6", solve, nil},
		"started sums":  {3, "error:0:3:6", solve, []string{"comm.overlap=on"}},
		"checkpoint":    {2, "error:1:3:6", solve, []string{"comm.overlap=off", "checkpoint.iterations=1"}},
		"grid":          {4, "error:1:2:6", solve, []string{"comm.grid=2,2", "solver.method=cg"}},
		"messages":      {3, "error:1:2:6", solve, []string{"comm.grid=3,1", "kirchhoff.aperture=150"}},
		"true residual": {2, "error:1:2:6", solve, []string{"solver.true_residual_every=1"}},
		"cg":            {2, "error:1:2:6", solve, []string{"solver.method=cg"}},
		"streamed":      {2, "error:1:2:6", solve, []string{"data.read=stream"}},
		"migrate":       {3, "error:2:1:6", migrate, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := wide(t)
			var r *solved
			body := func(j *Job, op *Operator, d *dist.Vector) error {
				got, err := c.do(j, d)
				if j.Ranks.Root() {
					r = got
				}
				return err
			}
			set := append([]string{"comm.backend=nccl", "comm.fallback=mpi", "solver.iterations=3"}, c.set...)
			said, err := p.watched(t, c.ranks, 30, set, body)
			must(t, err)
			if strings.Contains(said, "failed and is left") {
				t.Fatalf("without a fault:\n%s", said)
			}
			want := r
			t.Setenv("GPUEMU_NCCL_FAULT", c.fault)
			said, err = p.watched(t, c.ranks, 30, set, body)
			must(t, err)
			if strings.Count(said, "failed and is left: sums between GPUs go by goroutines, and work goes on from the iteration's start after ") != 1 ||
				!strings.Contains(said, "a collective failed: ncclCommGetAsyncError: ") {
				t.Errorf("not said:\n%s", said)
			}
			equal(t, "image", r.Image, want.Image)
			if r.History.Residual != nil {
				sameResult(t, "after the failure", r, want)
			}
		})
	}
}
