package mpi

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/printable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// limit is the most numbers in one call of MPI, which counts with C's int.
var limit = 1 << 30

// processors is how many a machine has for its ranks, 0 for those that they may use.
var processors = 0

// world is the state that all communicators of the process share.
type world struct {
	*owner
	rank    int                   // among all
	aware   map[device.Space]bool // whose memory the library takes
	abort   sync.Once
	windows []*window // in the order they were made, which is the same on all ranks
}

var (
	begun  atomic.Bool           // Open was called
	opened atomic.Pointer[world] // nil before Open has returned and after Close
)

// Open joins the run that a launcher started and returns the communicator over
// all its ranks. MPI can be initialised once in the life of a process.
func Open() (comm.Comm, error) {
	if begun.Swap(true) {
		return nil, errors.New("mpi: opened twice")
	}
	if _, err := Load(); err != nil {
		return nil, err
	}
	w := &world{owner: newOwner(), aware: map[device.Space]bool{}}
	var funneled C.int
	if f := w.do(func() C.int {
		C.lsm_keep_signals()
		err := C.lsm_init(&funneled)
		C.lsm_restore_signals()
		if err != 0 {
			return err
		}
		var direct C.int
		for s := range spaces {
			if s := device.Space(s); Claim(s).Takes {
				w.aware[s], direct = true, 1
			}
		}
		return C.lsm_crowd(C.int(processors), direct)
	}); f.code != 0 {
		return nil, status.Resource(fmt.Errorf("mpi: cannot be initialised: %s", f.text))
	}
	if funneled == 0 {
		return nil, status.Resource(errors.New("mpi: the library allows no threads, not even where one alone calls it (MPI_THREAD_FUNNELED)"))
	}
	g, err := w.newGroup(func(out *C.uintptr_t) C.int { return C.lsm_world(out) })
	if err != nil {
		return nil, err
	}
	w.rank = g.rank
	opened.Store(w)
	return g, nil
}

// Close leaves the run; all ranks must come to it. Communicators must not be
// used any more.
func Close() {
	w := opened.Swap(nil)
	if w == nil {
		return
	}
	w.do(func() C.int {
		for _, win := range w.windows {
			C.lsm_window_free(win.c)
		}
		return C.lsm_finalize()
	})
}

// About names the library, such as "Open MPI 4.1.4", and, once it is open, what it offers. It
// is "" where none can be loaded.
func About() string {
	about, w := nameLibrary(), opened.Load()
	if w == nil {
		return about
	}
	about += ", MPI_THREAD_FUNNELED"
	known := false
	for s := range spaces {
		if s := device.Space(s); w.aware[s] {
			about, known = fmt.Sprintf("%s, %v-aware", about, s), true
		}
	}
	if !known {
		about += ", not aware of GPUs"
	}
	return about
}

// Aware reports whether the library accepts addresses of GPU memory of the given kind. It
// may be called once the run is open.
func Aware(s device.Space) bool {
	w := opened.Load()
	return w != nil && w.aware[s]
}

const (
	// patience is how long MPI_Abort may take before the process exits by itself.
	patience = 5 * time.Second
	// lastWords is the time that launchers get to pass on output, since they drop the
	// rest when told to abort.
	lastWords = 500 * time.Millisecond
)

// end ends all ranks and does not return. It bypasses the owner, who may be waiting in a
// collective for a rank that never comes.
func (w *world) end(code int, why error) {
	w.abort.Do(func() {
		if why != nil { // otherwise another rank has reported it
			fmt.Fprintf(printable.Writer(os.Stderr), "lsm: rank %d: %v\n", w.rank, why)
		}
		time.Sleep(lastWords)
		time.AfterFunc(patience, func() { os.Exit(code) })
		C.lsm_abort(C.int(code))
		os.Exit(code)
	})
}
