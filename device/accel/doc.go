// Package accel is the interface of GPUs to the program: the calls that the driver of every
// maker offers, and the queue in which they are made.
//
// A [Context] is one card. Its commands run in the order they were given on one
// goroutine locked to an OS thread, since a driver's context belongs to a
// thread. Commands to the card (a launch, a copy from pinned memory) are posted and cost
// the caller no wait. The first of these that fails makes every later [Context.Do] and
// [Context.Finish] return its error. Ends of work are found by polling events; there are
// no callbacks, as a driver would run them on threads that Go does not know.
//
// Addresses on the card are integers of type [Memory] and may be offset by
// adding bytes. Nothing here is freed by the garbage collector.
//
// The package of a maker implements [Engine], [Driver], [Compiler] and [Calls]. Package
// device/gpu lists the engines.
package accel
