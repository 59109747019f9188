package operator

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/comm/watch"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	kernels "github.com/kirchhoff-lsm/lsm/kirchhoff/gpu"
)

// joinCards lets the ranks' GPUs talk to each other by NCCL or RCCL, where the
// configuration asks for it, or asks for nothing and there is a library; all else
// goes by the communicator that the run has. It says what it chose and why.
func (h *Here) joinCards(cfg *config.Config) error {
	want := cfg.Comm.Backend
	asked := want == "nccl" || want == "rccl"
	stages := want == "mpi-staged"
	if h.Card == nil {
		if asked || stages {
			return status.Hint(status.Usage(fmt.Errorf("comm.backend: %q carries buffers of a GPU, the engine is %q", want, h.hardware.Engine)),
				fmt.Sprintf("kirchhoff.engine = %q computes on one", map[string]string{"nccl": "cuda", "rccl": "hip", "mpi-staged": "cuda"}[want]))
		}
		return nil
	}
	if stages {
		h.ShotAxis, h.BlockAxis = comm.Staged(h.ShotAxis), comm.Staged(h.BlockAxis)
		return nil
	}
	if !asked && (want != "auto" || h.World.Size() == 1) {
		return nil
	}
	if name := nccl.Backend(h.Card.Engine()); asked && want != name {
		return status.Usage(fmt.Errorf("comm.backend: %q does not carry buffers of engine %q, %q does", want, h.hardware.Engine, name))
	}
	g, err := nccl.New(h.World, h.Card)
	if err != nil {
		if asked && cfg.Comm.Fallback != "mpi" {
			return status.Hint(fmt.Errorf("comm.backend: %q: %w", want, err),
				`fallback = "mpi" goes on by MPI; `+status.HintOf(err))
		}
		text := fmt.Sprintf("sums between GPUs go by %s, through the host where that does not know GPUs: %v", h.World.Name(), err)
		if asked {
			h.Report.Warn(text)
		} else {
			h.Report.Infof("%s", text)
		}
		return nil
	}
	why := "it was found"
	if asked {
		why = "comm.backend asks for it"
	}
	h.Report.Infof("communicator of the GPUs: %s: %s", g.About(), why)
	h.nccl, h.unwatch = g, watch.OnVerdict(h.World, g.Cut)
	if h.World.Size() == 1 {
		h.ShotAxis, h.BlockAxis = comm.Comm(g), comm.Comm(g)
		return nil
	}
	return h.split(g)
}

// registerSums tells the cards' library of the buffers that an engine sums over ranks,
// once for all applications, and reports how.
func (h *Here) registerSums(e *kernels.Engine, exact bool) error {
	if h.nccl == nil {
		return nil
	}
	image, traces, err := e.Sums(exact)
	if err := comm.Together(h.World, err); err != nil {
		return err
	}
	for _, s := range []struct {
		name string
		buf  device.Buf
		over comm.Comm
	}{{"image", image, h.ShotAxis}, {"data", traces, h.BlockAxis}} {
		g, ok := s.over.(*nccl.Group)
		if !ok || g.Size() == 1 {
			continue
		}
		how, err := g.Register(s.buf)
		if err != nil {
			return err
		}
		h.Report.Infof("sums of the %s over %d ranks: %s", s.name, g.Size(), how)
	}
	return nil
}

// Carrier is the communicator that sums over ranks go by.
func (h *Here) Carrier() string {
	if h.nccl != nil {
		return h.nccl.Name()
	}
	return h.ShotAxis.Name()
}
