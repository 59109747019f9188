package blas

/*
#cgo linux LDFLAGS: -ldl
#include <stdlib.h>
#include "card.h"
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"sync"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/dynlib"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Card is the Library of a GPU: cuBLAS or hipBLAS. Every tile is computed by one call of its own,
// since these libraries choose their kernels, and so the order of sums, by the shape of a call.
//
// It works in a stream of its own. Device work that is posted after a method of Library has
// returned waits, on the card, for the work of that method. Its methods may be called from any
// goroutine.
type Card struct {
	about dynlib.Library
	file  string // the name it was loaded under
	calls *C.card_calls

	dev    *gpu.Device
	card   *accel.Context
	stream *accel.Stream
	handle unsafe.Pointer

	turn sync.Mutex    // of the methods
	room [3]device.Buf // for tiles that do not lie as the library likes it, by their place in a product
}

var _ Starter = (*Card)(nil)

// NewCard loads the library that goes with a card. LSM_CUBLAS_LIB and LSM_HIPBLAS_LIB name
// another file. Its error is a missing resource that names the missing library or function, or
// says what the library refuses.
func NewCard(d *gpu.Device) (*Card, error) {
	sought := d.Engine().Facts().Matrices
	library, file, err := sought.Open()
	if err != nil {
		return nil, err
	}
	// In C's memory, never freed: a library stays loaded.
	c := &Card{about: sought, file: file, calls: (*C.card_calls)(C.calloc(1, C.sizeof_card_calls)), dev: d, card: d.Context()}
	hip := C.int(0)
	if sought.Name == "hipblas" {
		hip = 1
	}
	if missing := C.card_load(c.calls, library, hip); missing != nil {
		return nil, status.Resource(status.Hint(fmt.Errorf("%s: %s has no function %s", sought.What, file, C.GoString(missing)), sought.Hint))
	}
	if c.stream, err = c.card.NewStream(device.LaneGPUTiles); err != nil {
		return nil, err
	}
	err = c.card.Do(func() error {
		var call *C.char
		return c.check(C.card_open(c.calls, c.stream.Handle(), &c.handle, &call), call)
	})
	if err != nil {
		c.card.CloseStream(c.stream)
		return nil, err
	}
	return c, nil
}

// Close gives the library's memory and stream back. The library must not be used afterwards.
func (c *Card) Close() error {
	err := c.card.Finish(c.stream)
	for _, b := range c.room {
		if b != nil {
			c.dev.Free(b)
		}
	}
	if closed := c.card.Do(func() error {
		var call *C.char
		return c.check(C.card_close(c.calls, c.handle, &call), call)
	}); err == nil {
		err = closed
	}
	c.card.CloseStream(c.stream)
	return err
}

// check turns the status of a function into an error.
func (c *Card) check(code C.int, call *C.char) error {
	if code == 0 {
		return nil
	}
	return status.Resource(fmt.Errorf("%s: %s (status %d)", C.GoString(call), C.GoString(C.card_text(c.calls, code)), int(code)))
}

// Name is "cublas" or "hipblas".
func (c *Card) Name() string { return c.about.Name }

// About is the library with its version and file: "cuBLAS 12.4.5 (libcublas.so.12)". hipBLAS
// does not tell its version.
func (c *Card) About() string {
	file := filepath.Base(c.file)
	var v [3]C.int
	if C.card_version(c.calls, &v[0]) != 0 {
		return fmt.Sprintf("%s (%s)", c.about.What, file)
	}
	return fmt.Sprintf("%s %d.%d.%d (%s)", c.about.What, v[0], v[1], v[2], file)
}

// Serves implements Library.
func (c *Card) Serves(d device.Device) bool { return d == device.Device(c.dev) }

// aligned is the distance, in bytes, of addresses that are alike to the libraries: they choose
// kernels by the alignment of matrices too. A tile that begins elsewhere is copied.
const aligned = 256

// place is where the library finds a tile.
type place struct {
	at, of accel.Memory // of is the tile itself
	bytes  int64
}

// place finds a tile, or makes a copy of it in one of the rooms. It and the following calls run
// behind the earlier work of the main stream.
func (c *Card) place(room int, t Tile) (place, error) {
	b, ok := t.Buf.(*gpu.Buf)
	if !ok || b.Device() != device.Device(c.dev) {
		return place{}, device.Foreign(c.dev, c.Name(), t.Buf)
	}
	p := place{b.Memory(), b.Memory(), int64(b.Len()) * int64(b.Type().Size())}
	if p.of%aligned == 0 {
		return p, nil
	}
	if err := c.enlarge(room, b.Len(), b.Type()); err != nil {
		return p, err
	}
	p.at = c.room[room].(*gpu.Buf).Memory()
	c.card.Within(c.stream, p.at, p.of, p.bytes)
	return p, nil
}

// enlarge makes a room large enough. The main stream, in which memory is freed and
// cleared, waits for the library and the library for it.
func (c *Card) enlarge(room, n int, t device.Type) error {
	words := (n*t.Size() + 7) / 8
	if b := c.room[room]; b != nil {
		if b.Len() >= words {
			return nil
		}
		c.card.Follow(c.card.Main(), c.stream)
		c.room[room] = nil
		c.dev.Free(b)
	}
	b, err := c.dev.Alloc(words, device.F64)
	if err != nil {
		return err
	}
	c.room[room] = b
	c.card.Follow(c.stream, c.card.Main())
	return nil
}

// put brings a result from its room to the tile.
func (c *Card) put(p place) {
	if p.at != p.of {
		c.card.Within(c.stream, p.of, p.at, p.bytes)
	}
}

// begin has the library's stream follow all that the device was asked so far.
func (c *Card) begin(name string) (timed func()) {
	c.card.Follow(c.stream, c.card.Main())
	return c.dev.Clock.Time(c.stream, name)
}

// ask makes a call of the library.
func (c *Card) ask(call func(name **C.char) C.int) {
	c.card.Post(func() error {
		var name *C.char
		return c.check(call(&name), name)
	})
}

// Multiply implements Library.
func (c *Card) Multiply(alpha float64, products []Product) error {
	finish, err := c.Start(alpha, products)
	if err != nil {
		return err
	}
	return finish()
}

// Start implements Starter.
func (c *Card) Start(alpha float64, products []Product) (finish func() error, err error) {
	c.turn.Lock()
	defer c.turn.Unlock()
	checkProducts(products)
	timed := c.begin(device.MarkTiles)
	for _, p := range products {
		if err = c.multiply(alpha, p); err != nil {
			break
		}
	}
	timed()
	if err != nil {
		c.card.Follow(c.card.Main(), c.stream)
		return nil, err
	}
	done := c.card.Mark(c.stream)
	return func() error {
		c.card.After(c.card.Main(), done)
		return c.card.Err()
	}, nil
}

func (c *Card) multiply(alpha float64, p Product) error {
	if p.C.Rows == 0 || p.C.Columns == 0 || p.A.Columns == 0 {
		return nil
	}
	var at [3]place
	for i, t := range []Tile{p.A, p.B, p.C} {
		var err error
		if at[i], err = c.place(i, t); err != nil {
			return err
		}
	}
	kind, m, n, k := kinds[p.C.Buf.Type()], C.int(p.C.Rows), C.int(p.C.Columns), C.int(p.A.Columns)
	c.ask(func(name **C.char) C.int {
		return C.card_multiply(c.calls, c.handle, kind, m, n, k, C.double(alpha), addressOf(at[0]), addressOf(at[1]), addressOf(at[2]), name)
	})
	c.put(at[2])
	return nil
}

func addressOf(p place) C.card_address { return C.card_address(p.at) }
