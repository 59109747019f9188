package device

// Addressed is a buffer whose memory has an address that libraries outside Go
// can use: that of a GPU, handed to a communication library that is aware of
// GPUs. What was asked of the device before must be done (Sync) when the address
// is used, and the buffer must not be freed meanwhile.
type Addressed interface {
	Buf
	Pointer() uintptr
}
