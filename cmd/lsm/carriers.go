package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/comm/watch"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// besideEachOther refuses backends that cannot be measured one after the other over the
// same ranks.
func besideEachOther(backends []string) error {
	for i, b := range backends {
		if len(backends) > 1 && !slices.Contains([]string{"mpi", "mpi-staged", "nccl", "rccl"}, b) {
			return status.Usage(fmt.Errorf("bench: --backend has %q among others, want mpi, mpi-staged, nccl or rccl", b))
		}
		if slices.Contains(backends[:i], b) {
			return status.Usage(fmt.Errorf("bench: --backend has %q twice", b))
		}
	}
	return nil
}

// checkBackends refuses backends that do not go together, and settles the engine whose
// memory they carry where it is left open.
func checkBackends(backends []string, engine *string) error {
	if err := besideEachOther(backends); err != nil {
		return err
	}
	need := map[string]string{"nccl": "cuda", "rccl": "hip"}
	for _, b := range backends {
		want := need[b]
		switch {
		case want != "" && *engine == "":
			*engine = want
		case want != "" && *engine != want:
			return status.Usage(fmt.Errorf("bench: --backend %s carries memory of engine %s, not of %s", b, want, *engine))
		}
	}
	switch {
	case *engine == "" && slices.Contains(backends, "mpi-staged"):
		*engine = "cuda"
	case *engine == "":
		*engine = "cpu"
	case *engine == "cpu" && slices.Contains(backends, "mpi-staged"):
		return status.Usage(errors.New("bench: --backend mpi-staged carries memory of a GPU, --engine is cpu"))
	case !slices.Contains([]string{"cpu", "cuda", "hip"}, *engine):
		return status.Usage(fmt.Errorf("bench: --engine is %q, want cpu, cuda or hip", *engine))
	}
	return nil
}

// controlOf is the comm.backend of the ranks that backends stand on.
func controlOf(backends []string) string {
	if slices.ContainsFunc(backends, func(b string) bool { return strings.HasPrefix(b, "mpi") }) {
		return "mpi"
	}
	return backends[0]
}

// carriers are the communicators of some backends, all over the ranks of the world; done
// closes what was opened for them. With a card, and a world that is not aware of GPUs,
// the world itself is left out, unless nothing else is.
func carriers(a *app, world comm.Comm, backends []string, card *gpu.Device, aware bool) (list []comm.Comm, done func(), err error) {
	done = func() {}
	for _, b := range backends {
		switch {
		case b == "nccl" || b == "rccl":
			g, err := nccl.New(world, card)
			if err != nil {
				done()
				return nil, nil, status.Hint(fmt.Errorf("bench: --backend %s: %w", b, err), status.HintOf(err))
			}
			before, unwatch := done, watch.OnVerdict(world, g.Cut)
			done = func() { unwatch(); g.Close(); before() }
			a.report.Printf("# %s\n", g.About())
			list = append(list, g)
		case b == "mpi-staged":
			list = append(list, comm.Staged(world))
		case card != nil && !aware && world.Size() > 1 && len(backends) > 1:
			a.report.Infof("%s: its library does not take memory of a GPU: it is left out; mpi-staged goes through the host", b)
		case card != nil && !aware && world.Size() > 1:
			return nil, nil, status.Resource(fmt.Errorf("bench: the library of backend %s does not take memory of engine %v; mpi-staged goes through the host",
				world.Name(), card.Engine()))
		default:
			list = append(list, world)
		}
	}
	if len(list) == 0 {
		return nil, nil, status.Resource(errors.New("bench: no backend is left"))
	}
	return list, done, nil
}
