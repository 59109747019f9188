// Package comm lets the ranks of a run talk to each other.
//
// Two channels lie side by side, as large codes found useful: Comm moves device
// buffers (NCCL, MPI or nothing at all), Host moves small values in host memory
// (MPI or nothing at all). Kernels never see either; only package dist and the
// driver do. All methods but Abort are collective: every rank of the
// communicator must make the same calls in the same order.
package comm

import "github.com/kirchhoff-lsm/lsm/internal/device"

// Op is the operation of a reduction.
type Op uint8

const (
	Sum Op = iota
	Max
	Min
)

func (o Op) String() string { return [...]string{"sum", "max", "min"}[o] }

// Comm is a group of ranks that share device buffers.
// Package commtest holds what every implementation must do. Values can be
// compared with ==: two that are equal are the same group.
type Comm interface {
	// Name is the backend's name in the configuration: "self", "mpi", …
	Name() string
	Rank() int
	Size() int

	// Split makes one communicator for each color, with ranks ordered by key.
	Split(color, key int) (Comm, error)
	// AllReduce combines x over all ranks, in place, ordered on x's stream.
	// Every rank gets the same bits: solvers decide by them whether to go on.
	AllReduce(x device.Buf, op Op) error
	// Bcast copies x from the root to all ranks.
	Bcast(x device.Buf, root int) error

	Host() Host
	// Abort ends all ranks of the run with the exit status code.
	Abort(code int, why error)
}

// Host exchanges small values in host memory.
type Host interface {
	// AllReduce combines x over all ranks, in place.
	AllReduce(x []float64, op Op) error
	// Bcast copies x from the root to all ranks.
	Bcast(x []byte, root int) ([]byte, error)
	// Agree returns the union of all ranks' flags. It is how a run decides to
	// stop: a rank that left a collective loop alone would deadlock the rest.
	Agree(flags uint64) (uint64, error)
	Barrier() error
}
