// Package comm lets the ranks of a run talk to each other.
//
// There are two channels: Comm moves device buffers, by NCCL, by MPI or within one rank,
// and Host moves small values in host memory, by MPI or within one rank. Kernels see
// neither; package dist and the driver do. All methods but Abort are collective: every
// rank of the communicator must make the same calls in the same order.
package comm

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Op is the operation of a reduction of host values.
type Op uint8

const (
	Sum Op = iota
	Max
)

func (o Op) String() string {
	if o > Max {
		return fmt.Sprintf("operation %d", o)
	}
	return [...]string{"sum", "max"}[o]
}

// None stands for "no rank" in calls that allow it, such as SendRecv.
const None = -1

// Comm is a group of ranks that share device buffers.
// Package commtest holds what every implementation must do. Values can be
// compared with ==: two that are equal are the same group. Buffers may be of
// any element type.
type Comm interface {
	// Name is the backend's name in the configuration: "self", "mpi", …
	Name() string
	Rank() int
	Size() int

	// Split makes one communicator for each color, with ranks ordered by key.
	Split(color, key int) (Comm, error)
	// AllReduce sums x over all ranks, in place, ordered on x's stream. Every rank gets
	// the same bits, because solvers decide by these sums whether to go on.
	AllReduce(x device.Buf) error
	// StartAllReduce begins an AllReduce and returns at once. x must not be touched until
	// Wait has returned. Several may be under way at once; all ranks start and wait for
	// them in the same order.
	StartAllReduce(x device.Buf) (Request, error)
	// Bcast copies x from the root to all ranks.
	Bcast(x device.Buf, root int) error
	// AllGather joins the src buffers of all ranks in rank order and writes the result to
	// dst on every rank. Rank r contributes counts[r] elements.
	AllGather(dst, src device.Buf, counts []int) error
	// SendRecv sends one buffer to a rank and receives another from a rank, both at once,
	// so that a ring of such calls does not deadlock. If to is None, send is nil and
	// nothing is sent; if from is None, recv is nil and nothing is received.
	SendRecv(send device.Buf, to int, recv device.Buf, from int) error

	Host() Host
	// Abort ends all ranks of the run with the exit status code. It prints why unless why
	// is nil.
	Abort(code int, why error)
}

// Meeter is a Comm whose ranks must leave work together if a library below it fails.
type Meeter interface {
	Comm
	// Meet returns an error, on all ranks of the run, if the work under way is worth
	// nothing and will be made again. It comes before messages that not all ranks send.
	Meet() error
}

// Meet is the Meet of a Meeter. For other communicators it does nothing.
func Meet(c Comm) error {
	if m, ok := c.(Meeter); ok {
		return m.Meet()
	}
	return nil
}

// Control returns the communicator that carries the host values of c, of the same ranks: the
// one beside which c was put for buffers of cards, or c itself.
func Control(c Comm) Comm {
	if b, ok := c.(interface{ Control() Comm }); ok {
		return b.Control()
	}
	return c
}

// Request is a collective under way.
type Request interface {
	// Wait returns once the collective is done. It must be called once.
	Wait() error
}

// OneSided is a Comm that can also sum by writing into the memory of other ranks.
type OneSided interface {
	Comm
	// Accumulate is AllReduce through one-sided access: each rank adds its x to the
	// stretches that the ranks own, then fetches the sums. The order of the additions is
	// not fixed, but all ranks get the same bits.
	Accumulate(x device.Buf) error
	// NewWindow gives every rank n zeroed elements of host memory that the others can write
	// and read. It is there until the run ends. If the library refuses it, all ranks get an
	// error that is marked as a lack of resources.
	NewWindow(n int, t device.Type) (Window, error)
}

// Window is host memory of each rank that other ranks write and read while that rank does
// something else. Its methods are not collective. Ranks agree by other means who may touch
// what, such as by messages.
type Window interface {
	// Memory is this rank's part.
	Memory() device.Buf
	// Sync shows other ranks what this rank has written to its part, and this rank what
	// others have put there.
	Sync() error
	// Put writes x to the beginning of a rank's part. It returns when x has arrived.
	Put(x device.Buf, to int) error
	// Get reads x from the beginning of a rank's part.
	Get(x device.Buf, from int) error
}

// Host exchanges small values in host memory.
type Host interface {
	// AllReduce combines x over all ranks, in place. A NaN on one rank gives NaN on all ranks.
	AllReduce(x []float64, op Op) error
	// AllGather returns the messages of all ranks, indexed by rank.
	AllGather(x []byte) ([][]byte, error)
	// Agree returns the union of the flags of all ranks. It is a collective. A run uses
	// it to decide whether to stop, because a rank that left a collective loop alone
	// would deadlock the others.
	Agree(flags uint64) (uint64, error)
}

// Claim describes the support of a library for one kind of GPU memory.
type Claim struct {
	Takes bool
	Why   string // who says so, such as "MPIX_Query_cuda_support says no"
}
