package job

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/comm/watch"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	kernels "github.com/kirchhoff-lsm/lsm/kirchhoff/gpu"
)

// joinCards lets the ranks' GPUs talk to each other by NCCL or RCCL, where the
// configuration asks for it, or asks for nothing and there is a library; all else
// goes by the communicator that the run has. It says what it chose and why.
func (j *Job) joinCards() error {
	want := j.Config.Comm.Backend
	asked := want == "nccl" || want == "rccl"
	stages := want == "mpi-staged"
	if j.card == nil {
		if asked || stages {
			return status.Hint(status.Usage(fmt.Errorf("comm.backend: %q carries buffers of a GPU, the engine is %q", want, j.Engine)),
				fmt.Sprintf("kirchhoff.engine = %q computes on one", map[string]string{"nccl": "cuda", "rccl": "hip", "mpi-staged": "cuda"}[want]))
		}
		return nil
	}
	if stages {
		j.shots, j.blocks = comm.Staged(j.shots), comm.Staged(j.blocks)
		return nil
	}
	if !asked && (want != "auto" || j.world.Size() == 1) {
		return nil
	}
	if name := nccl.Backend(j.card.Engine()); asked && want != name {
		return status.Usage(fmt.Errorf("comm.backend: %q does not carry buffers of engine %q, %q does", want, j.Engine, name))
	}
	g, err := nccl.New(j.world, j.card)
	if err != nil {
		if asked && j.Config.Comm.Fallback != "mpi" {
			return status.Hint(fmt.Errorf("comm.backend: %q: %w", want, err),
				`fallback = "mpi" goes on by MPI; `+status.HintOf(err))
		}
		text := fmt.Sprintf("sums between GPUs go by %s, through the host where that does not know GPUs: %v", j.world.Name(), err)
		if asked {
			j.report.Warn(text)
		} else {
			j.report.Infof("%s", text)
		}
		return nil
	}
	why := "it was found"
	if asked {
		why = "comm.backend asks for it"
	}
	j.report.Infof("communicator of the GPUs: %s: %s", g.About(), why)
	j.nccl, j.unwatch = g, watch.OnVerdict(j.world, g.Cut)
	if j.world.Size() == 1 {
		j.shots, j.blocks = comm.Comm(g), comm.Comm(g)
		return nil
	}
	if j.shots, err = g.Split(j.world.Rank()%j.grid[1], j.world.Rank()); err != nil {
		return err
	}
	if j.blocks, err = g.Split(j.world.Rank()/j.grid[1], j.world.Rank()); err != nil {
		return err
	}
	watch.Name(j.shots, "shots")
	watch.Name(j.blocks, "blocks")
	return nil
}

// registerSums tells the cards' library of the buffers that an engine sums over ranks,
// once for all applications, and reports how.
func (j *Job) registerSums(e *kernels.Engine) error {
	if j.nccl == nil {
		return nil
	}
	image, traces, err := e.Sums(j.exact())
	if err := comm.Together(j.world, err); err != nil {
		return err
	}
	for _, s := range []struct {
		name string
		buf  device.Buf
		over comm.Comm
	}{{"image", image, j.shots}, {"data", traces, j.blocks}} {
		g, ok := s.over.(*nccl.Group)
		if !ok || g.Size() == 1 {
			continue
		}
		how, err := g.Register(s.buf)
		if err != nil {
			return err
		}
		j.report.Infof("sums of the %s over %d ranks: %s", s.name, g.Size(), how)
	}
	return nil
}

// carrier is the communicator that sums over ranks go by.
func (j *Job) carrier() string {
	if j.nccl != nil {
		return j.nccl.Name()
	}
	return j.shots.Name()
}
