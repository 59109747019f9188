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

// Space says whose addresses a device's are: a library that takes those of one kind of
// GPUs need not take those of another.
type Space int

// The kinds of GPUs.
const (
	CUDA Space = iota // NVIDIA's
	ROCm              // AMD's
)

func (s Space) String() string { return [...]string{"CUDA", "ROCm"}[s] }

// Stager is a device with memory of the host that it copies to and from by itself.
type Stager interface {
	// Stage returns n elements of such memory, with anything in them, as a buffer of
	// the host; done gives them back.
	Stage(n int, t Type) (b Buf, done func(), err error)
}
