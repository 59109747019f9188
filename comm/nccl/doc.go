// Package nccl moves device buffers between GPUs by NCCL, or RCCL on AMD's: the
// backends "nccl" and "rccl" of package comm.
//
// The library is loaded at run time; a build needs nothing of it. It stands
// beside another communicator, the control: MPI, or goroutines in tests. That one
// carries the unique identifiers, the host values of Host, and what ranks agree
// on. Only buffers of the engine's card go through the library; a host buffer is
// an error. Nothing is copied to the host.
//
// # Order
//
// Collectives are asked of the card on its main stream, in the order of the calls,
// and return before they are done, like everything that a [gpu.Device] does; an
// error of the card or the library shows at the next call that waits for it. A
// StartAllReduce runs on a second stream, behind what the main stream was asked
// before; Wait makes the main stream, not the host, wait for it. It has a
// communicator of its own.
//
// Two communicators of one card must be used in one order by all ranks: the library
// does not allow another. Started all-reduces come from a thread of their own, all else
// from the card's, so each waits for the other: a collective for all all-reduces that
// were started before it to be given to the library, and they for what the card's
// thread was asked before them. That is the order of the calls, and with it the same on
// all ranks. A message waits likewise where both its ranks have started as many
// all-reduces, as ranks have that go through the same program. Else it overtakes those
// that one of them has not started: what a rank waits for before it starts may come.
//
// # Agreement
//
// Ranks that give NCCL different sizes or types hang. So every call is agreed on
// before it is made: ranks compare a hash of kind, type, length, root and
// counts in one host all-reduce of 16 bytes, and a difference, or an error of
// one rank, is an error of all that says who called what. Hosts thereby meet in
// each collective, cards do not. A StartAllReduce agrees by a non-blocking
// all-reduce of the control and waits for nothing: its Wait does, on the host,
// until all ranks have started it. Sender and receiver of a message exchange its
// length and type, and the receiver's consent. What ranks do not agree on and the
// control itself cannot see, such as a broadcast here and a message there, stays
// for package watch.
//
// # Numbers
//
// Complex numbers travel as twice as many reals. Gathers of unequal shares are
// grouped broadcasts, which need no padding.
//
// # Failure
//
// Asynchronous errors of the library are looked for several times a second. One
// aborts all communicators of the rank, which ends the kernels that wait in them,
// and makes everything after fail with exit status 6. A rank that is silent
// without such an error is found by package watch, whose verdict calls [Group.Cut].
//
// # Buffers
//
// Large buffers of the device come from the library's own allocator where it has
// one, and [Group.Register] makes a buffer known to it once, in the best way that
// the loaded library has; [Group.About] says which.
package nccl
