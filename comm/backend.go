package comm

import (
	"fmt"
	"strings"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Backend makes the communicator over all ranks of a run.
type Backend struct {
	// Open joins the run that a launcher started. It is called once.
	Open func() (Comm, error)
	// Close leaves it again, after the last collective.
	Close func()
	// About names the library, such as "Open MPI 4.1.4".
	About func() string
	// Aware reports whether the library accepts addresses of GPU memory of the given
	// kind. It may be called once the run is open.
	Aware func(device.Space) bool
}

// MPI is the backend "mpi". Package comm/mpi sets it where it is built in.
var MPI *Backend

// Lookup finds a backend by its name in the configuration.
func Lookup(name string) (Backend, bool) {
	if name != "mpi" || MPI == nil {
		return Backend{}, false
	}
	return *MPI, true
}

// Built lists the names of the communicators in this program.
func Built() []string {
	if MPI == nil {
		return []string{"self"}
	}
	return []string{"self", "mpi"}
}

// Missing is the error for a backend that is not built in.
func Missing(name string) error {
	return fmt.Errorf("comm.backend: %q is not built into this lsm, which has %s", name, strings.Join(Built(), ", "))
}
