package commtest

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// ring sends to the next rank and receives from the one before, then backwards.
func ring(c comm.Comm) {
	next, before := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	for _, t := range types {
		for _, n := range lengths {
			for _, way := range [][2]int{{next, before}, {before, next}} {
				got := buffer(t, 99, 0, n)
				try(c.SendRecv(buffer(t, c.Rank(), 2, n), way[0], got, way[1]))
				holds(fmt.Sprintf("message from rank %d", way[1]), got, way[1], 2)
			}
		}
	}
}

// line sends up a line of ranks, as a halo exchange does: the first receives
// nothing, the last sends nothing. Messages are of unequal length and type.
func line(c comm.Comm) {
	length := func(sender int) int { return 10*sender + 1 }
	kind := func(sender int) device.Type { return types[sender%len(types)] }
	var out, in device.Buf
	to, from := comm.None, comm.None
	if r := c.Rank() + 1; r < c.Size() {
		to, out = r, buffer(kind(c.Rank()), c.Rank(), 0, length(c.Rank()))
	}
	if r := c.Rank() - 1; r >= 0 {
		from, in = r, buffer(kind(r), 99, 0, length(r))
	}
	try(c.SendRecv(out, to, in, from))
	if in != nil {
		holds("message up the line", in, from, 0)
	}
}

// pairs has each rank exchange with its neighbour. With an odd number of ranks the last
// one takes no part.
func pairs(c comm.Comm) {
	peer := c.Rank() ^ 1
	if peer >= c.Size() {
		try(c.SendRecv(nil, comm.None, nil, comm.None))
		return
	}
	got := buffer(device.F64, 99, 0, 5)
	try(c.SendRecv(buffer(device.F64, c.Rank(), 0, 5), peer, got, peer))
	holds("message of the pair", got, peer, 0)
}

// wrongLength sends fewer elements than the receiver expects.
func wrongLength(c comm.Comm) {
	next, before := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	for _, n := range []int{0, 4} {
		err := c.SendRecv(buffer(device.F32, c.Rank(), 0, n), next, buffer(device.F32, 99, 0, 5), before)
		if err == nil {
			failf("%d elements came where 5 were waited for, without an error", n)
		}
	}
}

// putAndGet has each rank write to the next rank's window and read from the one after that.
// Messages tell when something has arrived.
func putAndGet(c comm.Comm) {
	o, ok := c.(comm.OneSided)
	if !ok {
		return
	}
	next, before := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	for _, t := range types {
		length := 20
		if t == device.F32 {
			length = 30011 // more than one call of some libraries takes
		}
		w := must(o.NewWindow(length, t))
		if w.Memory().Len() != length || w.Memory().Type() != t {
			failf("a window of %d %v, want %d %v", w.Memory().Len(), w.Memory().Type(), length, t)
		}
		for n := length; n > 0; n /= 9 {
			agree(c) // the window has no readers any more
			try(w.Put(buffer(t, c.Rank(), 3, n), next))
			try(c.SendRecv(buffer(device.F32, 0, 0, 1), next, buffer(device.F32, 99, 0, 1), before))
			try(w.Sync())
			holds("what was put", w.Memory().Slice(0, n), before, 3)
			agree(c) // all windows are written
			x := buffer(t, 99, 0, n)
			try(w.Get(x, next))
			holds("what was got", x, c.Rank(), 3)
		}
	}
}
