// Package provenance records how an output came about, so that the output alone
// answers which program made it, from what, where, and why it stopped.
//
// A [Record] becomes the root attributes of an image or survey file, flat and
// in a fixed order, and is read back from them. The resolved configuration and
// the convergence history are datasets of the image file (see docs/format.md).
package provenance

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Record is what is known of one run. Empty fields are left out of a file.
type Record struct {
	Command      string    // "run", "migrate", ...
	Version      string    // of the program
	Commit       string    // hash, with "+changes" if the tree had uncommitted ones
	GoVersion    string    // such as "go1.24.1"
	HDF5Version  string    // such as "1.10.8"
	Host         string    // of rank 0
	Started      time.Time // stored in UTC, to the second
	Ranks        int
	Threads      int    // per rank
	Engine       string // "reference", "cpu", "cuda", "hip"
	ISA          string // instruction set of the cpu's kernels: "avx512", "avx2", "portable"; "" on a GPU
	Tables       string // precision of the traveltime tables: "exact", "uint16", "coarse"
	Device       string // name of the GPU; "" for none
	Communicator string // "self", "mpi", "nccl", "rccl", with its library's version if known
	MPI          string // the MPI library, such as "Open MPI 4.1.4"; "" for none
	Inputs       []Input
	Reason       string // why the run stopped, such as "stopped_iterations"
}

// New returns a record with everything filled in that the process knows of
// itself, started now, or at [Epoch] and then on no host. Version and commit are those that the Go tool stamped
// into the program; one that was told them when it was linked sets its own.
func New(command string) Record {
	r := Record{
		Command:   command,
		GoVersion: runtime.Version(), HDF5Version: h5.LibraryVersion(),
		Started: time.Now().UTC().Truncate(time.Second),
	}
	if epoch, set, _ := Epoch(); set {
		r.Started = epoch
	} else {
		r.Host, _ = os.Hostname() // a machine without a name has none to record
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		r.stamp(info)
	}
	return r
}

// stamp takes version and commit from the build.
func (r *Record) stamp(info *debug.BuildInfo) {
	r.Version = info.Main.Version
	changed := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			r.Commit = s.Value
		case "vcs.modified":
			changed = s.Value == "true"
		}
	}
	if r.Commit != "" && changed {
		r.Commit += "+changes"
	}
}
