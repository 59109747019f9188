package driver

/*
#include <stdlib.h>
#include "calls.h"
*/
import "C"

import (
	"bytes"
	"cmp"
	"fmt"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver/ahead"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Driver is a driver's library with its functions found. Engine says whose it is, and
// Library is the name it was loaded under.
type Driver struct{ functions }

// attributes holds the drivers' numbers of the card attributes that this package asks for.
var attributes = [...]struct{ shared, processors, major, minor C.int }{
	CUDA: {97, 16, 75, 76},
	HIP:  {74, 63, 23, 61},
}

// Open implements accel.Engine.
func (e Engine) Open() (accel.Driver, error) {
	l := driverLibraries[e]
	f, err := load(l, e, func(calls *C.gpu_calls, handle unsafe.Pointer) *C.char { return C.driver_load(calls, handle, C.int(e)) })
	if err != nil {
		return nil, err
	}
	d := &Driver{f}
	if err := d.check(C.gpu_init(d.calls, 0), "init"); err != nil {
		return nil, status.Resource(fmt.Errorf("%s: %w", l.What, err))
	}
	return d, nil
}

// About describes the driver, with its file: "CUDA 12.4 (libcuda.so.1)", or HIP's own
// version, "HIP 6.2.41134 (libamdhip64.so.6)".
func (d *Driver) About() (string, error) {
	var n C.int
	if err := d.check(C.gpu_driver_version(d.calls, &n), "driver_version"); err != nil {
		return "", status.Resource(err)
	}
	if v := int(n); d.Engine == HIP {
		return fmt.Sprintf("HIP %d.%d.%d (%s)", v/10_000_000, v/100_000%100, v%100_000, d.Library), nil
	}
	return fmt.Sprintf("CUDA %d.%d (%s)", n/1000, n%1000/10, d.Library), nil
}

// Compiler loads the run-time compiler. Only HIP's compiler runs in a child.
func (d *Driver) Compiler(child []string) (accel.Compiler, error) {
	k, err := OpenCompiler(d.Engine)
	if err != nil {
		return nil, err
	}
	if d.Engine == HIP {
		k.Child = child
	}
	return k, nil
}

// Carried returns the program that was made ahead, for NVIDIA's cards alone.
func (d *Driver) Carried(src accel.Source) (accel.Binary, error) { return ahead.PTX(src) }

// Cards describes the visible cards. It is an error if there are none.
func (d *Driver) Cards() ([]accel.Card, error) {
	var n C.int
	if err := d.check(C.gpu_count(d.calls, &n), "count"); err != nil {
		return nil, status.Resource(err)
	}
	if n == 0 {
		return nil, status.Resource(status.Hint(fmt.Errorf("%s finds no card", driverLibraries[d.Engine].What),
			"CUDA_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES may hide them"))
	}
	cards := make([]accel.Card, n)
	for i := range cards {
		var err error
		if cards[i], err = d.card(i); err != nil {
			return nil, status.Resource(fmt.Errorf("card %d: %w", i, err))
		}
	}
	return cards, nil
}

func (d *Driver) card(index int) (accel.Card, error) {
	c := accel.Card{Index: index}
	var dev C.int
	if err := d.check(C.gpu_device(d.calls, &dev, C.int(index)), "device"); err != nil {
		return c, err
	}
	name, bus := make([]byte, 256), make([]byte, 256)
	var id [16]byte
	var bytes C.size_t
	err := cmp.Or(
		d.check(C.gpu_device_name(d.calls, (*C.char)(unsafe.Pointer(&name[0])), C.int(len(name)), dev), "device_name"),
		d.check(C.gpu_device_bus(d.calls, (*C.char)(unsafe.Pointer(&bus[0])), C.int(len(bus)), dev), "device_bus"),
		d.check(C.gpu_device_uuid(d.calls, unsafe.Pointer(&id[0]), dev), "device_uuid"),
		d.check(C.gpu_device_memory(d.calls, &bytes, dev), "device_memory"))
	if err != nil {
		return c, err
	}
	c.Name, c.Bus, c.ID = cut(name), cut(bus), fmt.Sprintf("%x", id)
	c.Memory = int64(bytes)
	return c, d.numbers(&c, dev)
}

// numbers sets the numeric properties of a card and the name to compile for.
func (d *Driver) numbers(c *accel.Card, dev C.int) error {
	a := attributes[d.Engine]
	var major, minor int
	for _, ask := range []struct {
		which C.int
		to    *int
	}{
		{a.shared, &c.Shared}, {a.processors, &c.Multiprocessors}, {a.major, &major}, {a.minor, &minor},
	} {
		var v C.int
		if err := d.check(C.gpu_attribute(d.calls, &v, ask.which, dev), "attribute"); err != nil {
			return err
		}
		*ask.to = int(v)
	}
	c.Arch = fmt.Sprintf("sm_%d%d", major, minor)
	if d.Engine == HIP {
		return d.gfx(c, dev)
	}
	return nil
}

// gfx finds the target's name in HIP's structure of properties. Its place
// differs between versions; the card's own name comes first, in 256 bytes.
func (d *Driver) gfx(c *accel.Card, dev C.int) error {
	properties := make([]byte, 16<<10)
	if err := d.check(C.gpu_properties(d.calls, unsafe.Pointer(&properties[0]), dev), "properties"); err != nil {
		return err
	}
	at := bytes.Index(properties[256:], []byte("gfx"))
	if at < 0 {
		return fmt.Errorf("%s does not say what to compile for", c.Name)
	}
	c.Arch = cut(properties[256+at:])
	return nil
}

// cut is a C string in a buffer.
func cut(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}
