package mpi

// #include "shim.h"
import "C"

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// window is this rank's stretch of the sums that all ranks add to. Creating a window is
// collective and slow, so a group keeps its last one.
type window struct {
	c       *C.lsm_window
	numbers C.size_t // of the whole vector
	kind    C.int
	length  C.size_t // of a stretch
}

// Accumulate sums x through one-sided access with a passive target: the window stays open
// for all ranks (MPI_Win_lock_all), without a fence. Each rank puts its x into the stretch
// that it owns and adds it to the stretches of the others (MPI_Accumulate and
// MPI_Win_flush_all). Once all have done so, each fetches the sums (MPI_Get). A window takes
// 1/ranks of the vector's memory. If the library refuses, all ranks get the same error,
// marked as a lack of resources.
func (g *group) Accumulate(x device.Buf) error {
	if g.size == 1 {
		return nil // Open MPI makes no window for one rank
	}
	b, err := g.world.reach(x, false)
	if err != nil {
		return err
	}
	if err := g.needWindow(b.numbers); err != nil || b.n == 0 {
		return b.finish(err)
	}
	w := g.window
	return b.finish(g.call("one-sided sum", func() C.int {
		return C.lsm_accumulate(w.c, b.at, b.n, w.length, C.int(g.rank), C.int(g.size), C.int(limit))
	}))
}

// needWindow makes a window if the last one was for a vector of another length or type.
func (g *group) needWindow(b numbers) error {
	if b.n == 0 || g.window != nil && g.window.numbers == b.n && g.window.kind == b.kind {
		return nil
	}
	ranks := C.size_t(g.size)
	w := &window{numbers: b.n, kind: b.kind, length: (b.n + ranks - 1) / ranks}
	if err := g.makeWindow(w); err != nil {
		return err
	}
	// The old window is freed now, and the new one at the end of the run.
	if old := g.window; old != nil {
		g.world.do(func() C.int {
			g.world.windows = slices.DeleteFunc(g.world.windows, func(win *window) bool { return win == old })
			return C.lsm_window_free(old.c)
		})
	}
	g.window = w
	return nil
}

// makeWindow makes a window of w.length numbers, which lasts until the run ends.
func (g *group) makeWindow(w *window) error {
	f := g.world.do(func() C.int { return C.lsm_window_create(g.buffers, w.length, w.kind, &w.c) })
	refused, err := comm.Any(g, f.code != 0)
	switch {
	case err != nil:
		return err
	case refused:
		return status.Hint(status.Resource(fmt.Errorf("mpi: rank %d of %d: %s refuses a window for one-sided access: %s",
			g.rank, g.size, nameLibrary(), cmp.Or(f.text, "it does so on another rank"))),
			`set comm.accumulate = "allreduce", or choose another way for windows, with Open MPI OMPI_MCA_osc=pt2pt or OMPI_MCA_osc=ucx`)
	}
	g.world.do(func() C.int {
		g.world.windows = append(g.world.windows, w)
		return 0
	})
	return nil
}

// shared is a window that its ranks use as they like.
type shared struct {
	window
	group  *group
	memory device.Buf
}

func (g *group) NewWindow(n int, t device.Type) (comm.Window, error) {
	w := &shared{window: window{kind: kinds[t], length: C.size_t(n)}, group: g}
	if err := g.makeWindow(&w.window); err != nil {
		return nil, err
	}
	var err error
	w.memory, err = device.WrapMemory(processor, C.lsm_window_memory(w.c), n, t)
	return w, err
}

func (w *shared) Memory() device.Buf { return w.memory }

func (w *shared) Sync() error {
	return w.group.call("synchronising a window", func() C.int { return C.lsm_window_sync(w.c) })
}

func (w *shared) Put(x device.Buf, to int) error {
	b, err := w.reach(x)
	if err != nil {
		return err
	}
	defer b.release()
	return w.group.call("one-sided put", func() C.int { return C.lsm_put(w.c, b.at, b.n, C.int(to), C.int(limit)) })
}

func (w *shared) Get(x device.Buf, from int) error {
	b, err := w.reach(x)
	if err != nil {
		return err
	}
	return b.finish(w.group.call("one-sided get", func() C.int { return C.lsm_get(w.c, b.at, b.n, C.int(from), C.int(limit)) }))
}

// reach returns x in host memory.
func (w *shared) reach(x device.Buf) (*reached, error) {
	if x.Type() != w.memory.Type() || x.Len() > w.memory.Len() {
		return nil, fmt.Errorf("mpi: %d %v, a window has %d %v", x.Len(), x.Type(), w.memory.Len(), w.memory.Type())
	}
	return w.group.world.reach(x, false)
}
