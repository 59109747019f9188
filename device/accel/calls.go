package accel

import (
	"time"
	"unsafe"
)

// Calls are the calls of a driver for one card. A [Context] makes them on one thread, one at a
// time; Bind alone is called on others as well. Streams and events are the driver's handles.
// Calls that give work to a stream return at once.
type Calls interface {
	// Bind makes the card current on the calling thread of the system.
	Bind() error
	// Close releases the card, and events with it.
	Close()

	// Alloc returns memory on the card, not initialised. Its error is ErrMemory where there is too little.
	Alloc(bytes int64) (Memory, error)
	// Free gives memory back. It waits for the card to finish its work.
	Free(m Memory) error
	// AllocPinned returns host memory that the card can read and write directly.
	AllocPinned(bytes int) ([]byte, error)
	// MemoryInfo returns the card's free and total memory in bytes.
	MemoryInfo() (free, total int64, err error)

	// ToDevice copies from, ToHost to pinned memory, and Within from one place on the card to another.
	ToDevice(stream unsafe.Pointer, dst Memory, src []byte) error
	ToHost(stream unsafe.Pointer, dst []byte, src Memory) error
	Within(stream unsafe.Pointer, dst, src Memory, bytes int64) error
	// Fill sets bytes on the card to a value.
	Fill(stream unsafe.Pointer, dst Memory, value byte, bytes int64) error

	// Load loads a compiled binary. find looks for a kernel by its extern "C" name, for Launch.
	// It returns the bytes of shared memory a block that the compiler gave it.
	Load(image []byte) (find func(name string) (kernel any, shared int, err error), err error)
	// Launch runs a kernel. Its arguments lie in cells of 8 bytes, each from a cell of starts on.
	Launch(stream unsafe.Pointer, f *Function, s Shape, cells []uint64, starts []int32) error

	// NewStream makes a queue of work that may overlap with others, and CloseStream frees it once
	// its work is done.
	NewStream() (stream unsafe.Pointer, err error)
	CloseStream(stream unsafe.Pointer) error
	// NewEvent makes a mark that Record sets at the end of a stream, again and again. Wait makes
	// another stream wait for it, and Passed reports whether the card has come to it.
	NewEvent(timed bool) (event unsafe.Pointer, err error)
	Record(event, stream unsafe.Pointer) error
	Wait(stream, event unsafe.Pointer) error
	Passed(event unsafe.Pointer) (bool, error)
	// Elapsed is the time between two timed events that the card has passed.
	Elapsed(from, to unsafe.Pointer) (time.Duration, error)
}
