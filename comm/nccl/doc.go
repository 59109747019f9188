// Package nccl moves device buffers between GPUs by NCCL, or RCCL on AMD's: the
// backends "nccl" and "rccl" of package comm.
//
// The library is loaded at run time; a build needs nothing of it. It works together with
// another communicator, the control: MPI, or goroutines in tests. That one carries the
// unique identifiers, the host values of Host, and what ranks agree on. Only buffers of
// the engine's card go through the library; a host buffer is an error. Nothing is copied
// to the host.
//
// # Order
//
// Collectives are posted on the card's main stream, in the order of the calls, and return
// before they are done, like all work of a [gpu.Device]. An error of the card or the
// library shows at the next call that waits for it. A StartAllReduce runs on a second
// stream, behind the earlier work of the main stream. Wait makes the main stream, not the
// host, wait for it. It has a communicator of its own.
//
// The library demands that all ranks use the two communicators of a card in the same
// order. Started all-reduces are given to the library by a thread of their own, and all
// other calls by the card's thread. The two threads keep the order of the calls, which is
// the same on all ranks. A collective waits until the library has got all all-reduces
// that were started before it. These wait for the earlier work of the card's thread. A
// message waits in the same way where both its ranks have started equally many
// all-reduces, as ranks have that run the same program. Otherwise the message goes first,
// since one rank may need it before it starts the next all-reduce.
//
// # Agreement
//
// Ranks that give NCCL different sizes or types hang, so all ranks agree on every call
// before it is made. They compare a hash of kind, type, length, root and
// counts in one host all-reduce of 16 bytes, and a difference, or an error of
// one rank, is an error of all that says who called what. So the hosts
// meet in each collective, and the cards do not. A StartAllReduce agrees by a
// non-blocking all-reduce of the control and does not wait; its Wait does, on the host,
// until all ranks have started it. Sender and receiver of a message exchange its length
// and type, and the receiver's consent. Where one rank broadcasts and another sends a
// message, the control cannot see that; package watch finds it.
//
// Gathers of unequal shares are grouped broadcasts, which need no padding.
//
// # Failure
//
// A library of NCCL 2.14 or newer starts without blocking. Ranks tell each other how far
// they are, and after Options.Timeout, or as soon as one fails, all abort the start with
// one error. An older library blocks a thread, which is given up.
//
// Asynchronous errors of the library are looked for several times a second. One
// aborts all communicators of the rank, which ends the kernels that wait in them,
// and makes everything after fail with exit status 6. A rank that is silent
// without such an error is found by package watch, whose verdict calls [Group.Cut].
//
// After [Group.Recover] such an error need not be the end. The rank that has it tells all
// others, beside the library and the control, and all abort their communicators. Their
// cards' waits then end with an error, since what was computed is worth nothing. A rank
// with that error leaves the work that [Group.Again] does and meets the others in a
// one-word agreement. The others make the same agreement before each collective of the
// host, so all ranks leave at the same place, and none waits for one that has left. Then
// Recovery.Left makes something else carry the buffers, as a [comm.Switch] does that drops
// the group, and the work is done once more. Errors of the card itself, and a rank that dies,
// still end the run.
package nccl
