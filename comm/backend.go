package comm

import "github.com/kirchhoff-lsm/lsm/device"

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

// MPI is the backend "mpi", or nil if it is not built in. Package comm/mpi sets it.
var MPI *Backend

// Built lists the names of the communicators in this program, as the configuration has them.
func Built() []string {
	if MPI == nil {
		return []string{"self"}
	}
	return []string{"self", "mpi"}
}
