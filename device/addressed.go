package device

// Addressed is a buffer whose memory has an address that libraries outside Go
// can use: that of a GPU, handed to a communication library that is aware of
// GPUs. What was asked of the device before must be done (Sync) when the address
// is used, and the buffer must not be freed meanwhile.
type Addressed interface {
	Buf
	Pointer() uintptr
	Space() Space
}

// Space is the kind of GPU that a device's addresses belong to. A library that accepts
// addresses of one kind need not accept those of another.
type Space int

// The kinds of GPUs.
const (
	CUDA Space = iota // NVIDIA's
	ROCm              // AMD's
)

func (s Space) String() string { return [...]string{"CUDA", "ROCm"}[s] }

// Stager is a device with pinned host memory, which it copies to and from by itself.
type Stager interface {
	// Stage returns n elements of such memory, not initialised, as a host buffer. done
	// gives them back.
	Stage(n int, t Type) (b Buf, done func(), err error)
}
