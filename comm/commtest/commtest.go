// Package commtest tests every communicator: a conformance suite that each backend's
// tests run. Its Ranks start several ranks in one process, to test distributed code with.
//
// Beyond the letter of package comm the suite asks for what the rest relies on:
//
//   - AllReduce gives every rank the same bits. Solvers decide by their scalars
//     whether to go on; ranks that saw different ones would part company.
//   - Buffers of any length work, zero and slices of larger ones included.
//   - A NaN or an infinity on one rank reaches all.
//   - Communicators can be compared with ==.
package commtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
)

// World runs body on the given number of ranks at once, each with a communicator
// over all of them, and returns the first error. A backend whose ranks are
// processes ignores ranks it cannot have: it calls body once, with the
// communicator over the processes there are, and is given that size only.
type World func(ranks int, body func(c comm.Comm) error) error

// Run runs the suite on worlds of the given sizes.
func Run(t *testing.T, w World, sizes ...int) {
	for _, n := range sizes {
		for _, c := range cases {
			t.Run(fmt.Sprintf("%d ranks/%s", n, c.name), func(t *testing.T) {
				err := w(n, func(world comm.Comm) error {
					if world.Size() != n {
						return fmt.Errorf("size is %d, want %d", world.Size(), n)
					}
					return caught(func() { c.body(world) })
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

var cases = []struct {
	name string
	body func(c comm.Comm)
}{
	{"identity", identity},
	{"all-reduce", allReduce},
	{"all-reduce of a slice", allReduceSlice},
	{"all-reduce has the same bits everywhere", sameBits},
	{"all-reduce carries nan", carriesNaN},
	{"non-blocking all-reduce", started},
	{"non-blocking all-reduces under way", underWay},
	{"non-blocking all-reduce out of step", outOfStep},
	{"non-blocking all-reduce has the same bits everywhere", sameBitsUnderWay},
	{"all-gather", allGather},
	{"messages in a ring", ring},
	{"messages along a line", line},
	{"messages in pairs", pairs},
	{"messages of a wrong length", wrongLength},
	{"one-sided sum", oneSided},
	{"one-sided messages", putAndGet},
	{"misuse", misuse},
	{"broadcast", broadcast},
	{"broadcast from nowhere", nowhere},
	{"host all-reduce", hostAllReduce},
	{"host maximum carries nan", hostMaxCarriesNaN},
	{"host values of rank 0", fromFirst},
	{"host all-gather", hostAllGather},
	{"agree", agree},
	{"split", split},
	{"split by key", splitByKey},
	{"process grid", processGrid},
}

// failure carries the error with which a rank's part of a case ends early.
type failure struct{ error }

// try ends this rank's part of a case if err is not nil.
func try(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must returns v. It ends this rank's part of a case if err is not nil.
func must[T any](v T, err error) T {
	try(err)
	return v
}

func failf(format string, args ...any) { try(fmt.Errorf(format, args...)) }

// caught runs body and returns the error that ended it early, or nil.
func caught(body func()) (err error) {
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case failure:
			err = fault.error
		default:
			panic(fault)
		}
	}()
	body()
	return nil
}

// all runs this rank's part and waits for the other ranks, so that no rank leaves a case
// while others are inside it.
func all(c comm.Comm, part func()) {
	err := caught(part)
	failed, agreeErr := comm.Any(c, err != nil)
	try(errors.Join(err, agreeErr))
	if failed {
		failf("another rank failed")
	}
}
