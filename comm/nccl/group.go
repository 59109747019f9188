package nccl

/*
#include "calls.h"
*/
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Group is a communicator of the library beside one of the control, whose ranks and host
// values it has. It implements [comm.Comm].
type Group struct {
	control
	world *world
	link  unsafe.Pointer // the library's communicator, for the main stream

	started int            // all-reduces, in the order of calls
	id      []float64      // the identifier of the second communicator
	second  unsafe.Pointer // communicator, for started all-reduces; nil before the first
}

type control = comm.Comm

var _ comm.Comm = (*Group)(nil)

// Options of a world of groups.
type Options struct {
	// Timeout is how long the library may take to make a communicator (45 s).
	Timeout time.Duration
}

// New makes a communicator over the ranks of control, each with its card. All ranks call
// it. An error of one is an error of all; a start that takes too long is an error too. It
// loads the library that goes with the device's engine. Two ranks on one card are an
// error, unless NCCL is 2.30 or newer and NCCL_MULTI_RANK_GPU_ENABLE=1 allows it.
func New(control comm.Comm, dev *gpu.Device, o Options) (*Group, error) {
	lib, err := Open(dev.Engine())
	var w *world
	if err == nil {
		w, err = newWorld(lib, dev, cmp.Or(o.Timeout, 45*time.Second))
	}
	if err := together(control, err); err != nil {
		if w != nil {
			w.close()
		}
		return nil, err
	}
	g := &Group{world: w, control: control}
	w.groups = append(w.groups, g)
	if err = comm.Together(control, g.checkNeighbours()); err == nil {
		g.link, err = g.open(control)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	go w.look()
	return g, nil
}

// together is [comm.Together] with an error that names its rank.
func together(control comm.Comm, err error) error {
	if err != nil && control.Size() > 1 {
		err = fmt.Errorf("rank %d: %w", control.Rank(), err)
	}
	return comm.Together(control, err)
}

// checkNeighbours makes sure that all ranks have the same library and each a card of its own.
func (g *Group) checkNeighbours() error {
	w := g.world
	type neighbour struct{ Library, Place string }
	all, err := comm.GatherJSON(g.Host().AllGather, neighbour{w.lib.String(), gpu.Place(w.dev.Card())})
	if err != nil {
		return err
	}
	places := make([]string, len(all))
	for r, n := range all {
		if n.Library != w.lib.String() {
			return status.Resource(fmt.Errorf("rank %d has %s, rank %d has %s", g.Rank(), w.lib, r, n.Library))
		}
		places[r] = n.Place
	}
	if w.lib.Version >= sharing && os.Getenv("NCCL_MULTI_RANK_GPU_ENABLE") == "1" {
		return nil
	}
	if shared := gpu.SharedCards(places); shared != "" {
		return status.Resource(status.Hint(fmt.Errorf("%s wants a card for every rank, but %s", w.lib, shared),
			"start as many ranks as there are GPUs, or choose comm.backend = \"mpi\"; NCCL 2.30 or newer shares cards with NCCL_MULTI_RANK_GPU_ENABLE=1"))
	}
	return nil
}

// open makes a communicator over all ranks, using an identifier from the first rank. The
// ranks of all wait for each other.
func (g *Group) open(all comm.Comm) (link unsafe.Pointer, err error) {
	var id C.unique_id
	if g.Rank() == 0 {
		err = g.world.lib.check(C.nccl_GetUniqueId(g.world.lib.calls, &id), "GetUniqueId")
	}
	if err := comm.Together(g.control, err); err != nil {
		return nil, err
	}
	b, err := comm.FromFirst(g.control, C.GoBytes(unsafe.Pointer(&id), C.int(unsafe.Sizeof(id))))
	if err != nil {
		return nil, err
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&id)), unsafe.Sizeof(id)), b)
	return g.world.join(id, g.Size(), g.Rank()).awaitAll(all)
}

// About says which library was loaded and which of its optional features are used or missing.
func (g *Group) About() string {
	l := g.world.lib
	start, split := "the start cannot be aborted", "groups are made by identifiers"
	if l.startsUnblocked() {
		start = "the start can be aborted"
	}
	if l.canSplit() {
		split = "groups are split by the library"
	}
	return fmt.Sprintf("%v: %s; %s", l, start, split)
}

// Name is "nccl" or "rccl".
func (g *Group) Name() string { return Backend(g.world.lib.Engine) }

// Control is the communicator beside which the library carries buffers of cards.
func (g *Group) Control() comm.Comm { return g.control }

// Cut ends the library's communicators on this rank, within two seconds. Its card stops
// waiting in them. Callers that wait for the card get an error. All later calls get it
// too.
func (g *Group) Cut() { g.world.fail(status.Peer(errAborted)) }

// Abort first ends the library's communicators, so that no card waits for ever, and then
// all ranks.
func (g *Group) Abort(code int, why error) {
	g.world.abort()
	g.control.Abort(code, why)
}

// Close waits for the card and frees the communicators, with all groups that were split
// off. All ranks call it, on the group that New returned.
func (g *Group) Close() error {
	g.world.drain()
	err := g.world.dev.Sync()
	return errors.Join(err, g.world.close())
}

// Split divides the ranks: by the library itself if it can, otherwise with a new
// identifier for each part. It waits for the card. A negative color is an error.
func (g *Group) Split(color, key int) (comm.Comm, error) {
	var err error
	if color < 0 {
		err = fmt.Errorf("comm: split with color %d", color)
	}
	if err := g.agree("split", err); err != nil {
		return nil, err
	}
	control, err := g.control.Split(color, key)
	if err != nil {
		return nil, err
	}
	part := &Group{world: g.world, control: control}
	g.world.groups = append(g.world.groups, part)
	g.world.drain()
	if err := comm.Together(g.control, g.world.dev.Sync()); err != nil {
		return nil, err
	}
	if g.world.lib.canSplit() {
		rank := C.int(part.Rank())
		part.link, err = g.world.begin("CommSplit", g.link, func(made *unsafe.Pointer) C.int {
			return C.nccl_CommSplit(g.world.lib.calls, g.link, C.int(color), rank, made, nil)
		}).awaitAll(g.control)
	} else {
		part.link, err = part.open(g.control)
	}
	if err != nil {
		return nil, err
	}
	return part, nil
}

// ownBuffer returns a buffer of this rank's card as a *gpu.Buf, or an error if it is not one
// or the world has failed.
func (g *Group) ownBuffer(what string, x device.Buf) (*gpu.Buf, error) {
	b, ok := x.(*gpu.Buf)
	if !ok || b.Device() != device.Device(g.world.dev) {
		return nil, fmt.Errorf("comm: %s of a buffer on %s: %s takes those of %s",
			what, x.Device().Name(), g.Name(), g.world.dev.Name())
	}
	return b, g.world.card.Err()
}
