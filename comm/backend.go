package comm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Backend makes the communicator over all ranks of a run. Packages that need a
// library register theirs where they are built in.
type Backend struct {
	Name string // in the configuration
	// Open joins the run that a launcher started. It is called once.
	Open func() (Comm, error)
	// Close leaves it again, after the last collective.
	Close func()
	// About names the library, such as "Open MPI 4.1.4".
	About func() string
	// Aware tells, once it is open, whether the library takes memory of such GPUs.
	Aware func(device.Space) bool
}

var backends []Backend

// Register adds a backend; packages call it when they are loaded.
func Register(b Backend) { backends = append(backends, b) }

// Lookup finds a backend by name.
func Lookup(name string) (Backend, bool) {
	i := slices.IndexFunc(backends, func(b Backend) bool { return b.Name == name })
	if i < 0 {
		return Backend{}, false
	}
	return backends[i], true
}

// Built lists the names of the backends in this program, "self" first.
func Built() []string {
	names := []string{"self"}
	for _, b := range backends {
		names = append(names, b.Name)
	}
	return names
}

// Missing is the error for a backend that is not built in.
func Missing(name string) error {
	return fmt.Errorf("comm.backend: %q is not built into this lsm, which has %s", name, strings.Join(Built(), ", "))
}
