// Package driver calls a GPU's driver and its run-time compiler: CUDA with
// NVRTC, or HIP with hiprtc.
//
// Both are shared libraries found at run time, so a build needs neither, and a
// machine without them gets an error that names what is missing. One table of
// function pointers serves both makers; its two columns of symbols are in
// calls.h.
//
// A [Context] is one card. Its commands run in the order they were given on one
// goroutine locked to an OS thread, since a driver's context belongs to a
// thread. What only asks the card to do something (a launch, a copy from pinned
// memory) is posted and costs the caller no wait; the first of these that fails
// makes every later [Context.Do] and [Context.Finish] return its error. Ends of
// work are found by polling events; there are no callbacks, as a driver would
// run them on threads that Go does not know.
//
// Addresses on the card are integers of type [Memory] and may be offset by
// adding bytes. Nothing here is freed by the garbage collector.
package driver

// Engine says whose driver.
type Engine int

const (
	CUDA Engine = iota // NVIDIA: libcuda and libnvrtc
	HIP                // AMD: libamdhip64 and libhiprtc
)

// String is the engine's name in a configuration.
func (e Engine) String() string {
	if e == HIP {
		return "hip"
	}
	return "cuda"
}
