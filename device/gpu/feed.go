package gpu

import (
	"sync"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
)

// Feed brings stretches of data from the host to the card one after the other, into two
// rooms in turn. A stretch is copied while the card works on the one before.
type Feed struct {
	dev    *Device
	copies *accel.Stream
	rooms  [2]device.Buf
	sent   int // stretches since Start

	lock  sync.Mutex
	taken []*accel.Event // where the card's work stood when stretches were taken, one for each that was not yet waited for
}

// NewFeed makes a feed of stretches of at most n elements.
func (d *Device) NewFeed(n int, t device.Type) (f *Feed, err error) {
	f = &Feed{dev: d}
	for i := range f.rooms {
		if f.rooms[i], err = d.Alloc(n, t); err != nil {
			return nil, err
		}
	}
	f.copies, err = d.context.NewStream(device.LaneGPUCopies)
	return f, err
}

// Start begins again with a first stretch, once the card has done what it was asked so far.
func (f *Feed) Start() {
	f.sent, f.taken = 0, nil
	f.dev.context.Follow(f.copies, f.dev.context.Main())
}

// Take says that all work on earlier stretches was given to the card. It comes before the
// next stretch is taken, and may run beside Send.
func (f *Feed) Take() {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.taken = append(f.taken, f.dev.context.Mark(f.dev.context.Main()))
}

// Send copies the next stretch, best from pinned memory (Stage), and returns it when it is
// on the card. It comes after the stretch before was taken, and waits for the card's work on
// stretches before that one alone.
func (f *Feed) Send(x device.Buf) (device.Buf, error) {
	if f.sent > 0 {
		f.lock.Lock()
		f.dev.context.After(f.copies, f.taken[0])
		f.taken = f.taken[1:]
		f.lock.Unlock()
	}
	to := f.rooms[f.sent%2].Slice(0, x.Len())
	f.sent++
	return to, f.dev.Send(f.copies, to, x)
}

// Close frees the rooms, after the last Send.
func (f *Feed) Close() {
	for _, b := range f.rooms {
		f.dev.Free(b)
	}
	f.dev.context.CloseStream(f.copies)
}
