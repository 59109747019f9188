// Package device is where vectors live: in the host's memory or on one GPU.
//
// A Device allocates buffers and does the handful of vector operations that
// solvers need, in place, without moving anything. The element type is a value,
// not a type parameter, because device memory is not Go memory. Scalars are
// float64 throughout.
//
// Every sum over a buffer is accumulated in float64 over chunks of a fixed
// length which are added in order, so a result does not depend on the number
// of threads.
package device

import "fmt"

// Type is the element type of a buffer.
type Type uint8

const (
	F32 Type = iota + 1 // float32
	F64                 // float64
	I64                 // int64, for reproducible sums
)

var types = [...]struct {
	name string
	size int
}{F32: {"float32", 4}, F64: {"float64", 8}, I64: {"int64", 8}}

// Size is the size of one element in bytes.
func (t Type) Size() int {
	if t < F32 || t > I64 {
		panic(fmt.Sprintf("device: unknown element type %d", t))
	}
	return types[t].size
}

func (t Type) String() string {
	if t < F32 || t > I64 {
		return fmt.Sprintf("type(%d)", uint8(t))
	}
	return types[t].name
}

// Buf is a run of elements of one type on one device. Slices share memory with
// the buffer they were cut from.
type Buf interface {
	Len() int
	Type() Type
	Device() Device
	Slice(off, n int) Buf
}

// Device owns memory and does arithmetic on it. Lengths and types that do not
// fit are programming errors and panic; a buffer of another device is an error,
// never a silent copy.
type Device interface {
	Name() string

	// Alloc returns n zeroed elements. Its error states the requested memory and the free
	// memory.
	Alloc(n int, t Type) (Buf, error)
	// Free gives the memory of a buffer returned by Alloc back.
	Free(b Buf)

	// Copy sets dst to src; one of the two may be a host buffer. Every copy
	// that crosses between host and device is counted.
	Copy(dst, src Buf) error
	// Zero sets x to zero.
	Zero(x Buf) error
	// Axpby sets y = a·x + b·y; with b = 0 the old y is not read.
	Axpby(a float64, x Buf, b float64, y Buf) error
	// Multiply sets dst = dst·x, element by element.
	Multiply(dst, x Buf) error
	// Stencil applies s to src and writes dst. Both hold Outer·N·Inner elements of one
	// type. before and after are the rows of Inner elements next to this part of the
	// axis; they are nil at the ends of the axis and, for Outer > 1, on an axis that is
	// not split.
	Stencil(s Stencil, dst, src, before, after Buf) error
	// Run sets dst to what k makes of src. Both are in floating point; a card takes single precision.
	Run(k Kernel, dst, src Buf) error
	// Dots returns ⟨x, y⟩ = Σ x·y for each pair, in float64. A NaN or an
	// infinity anywhere in a pair shows in its dot product.
	Dots(pairs ...[2]Buf) ([]float64, error)

	// Sync waits until all posted work of the device is done.
	Sync() error
	// Mark books the time of the caller until end is called, by the host's clock, under a
	// name of [MarkAllReduce] and the others.
	Mark(name string) (end func())
	// Traffic is the number of bytes that crossed between host and device.
	Traffic() (toDevice, toHost int64)
}

// Addressed is a buffer whose memory has an address that libraries outside Go
// can use: that of a GPU, handed to a communication library that is aware of
// GPUs. Earlier work of the device must be done (Sync) when the address is used, and the
// buffer must not be freed meanwhile.
type Addressed interface {
	Buf
	Pointer() uintptr
	Space() Space
}

// Bound is a device whose memory is handed to libraries outside Go on threads that are bound to
// it. Bind binds the calling thread of the system, to which the goroutine must be locked.
type Bound interface {
	Device
	Bind() error
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
	// Stage returns n elements of such memory, not initialised, as a host buffer. done frees
	// them.
	Stage(n int, t Type) (b Buf, done func(), err error)
}

// Match panics if two buffers differ in length or type.
func Match(op string, x, y Buf) {
	if x.Type() != y.Type() || x.Len() != y.Len() {
		panic(fmt.Sprintf("device: %s of %d %v with %d %v", op, x.Len(), x.Type(), y.Len(), y.Type()))
	}
}

// Foreign returns the error of a device that was asked to work on buffers of another device.
func Foreign(d Device, op string, bufs ...Buf) error {
	names := make([]string, len(bufs))
	for i, b := range bufs {
		names[i] = fmt.Sprintf("%v on %s", b.Type(), b.Device().Name())
	}
	return fmt.Errorf("device: %s on %s of buffers %v", op, d.Name(), names)
}
