package driver

/*
#include <stdlib.h>
#include "calls.h"
*/
import "C"

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device/accel"
)

// card is a card in use. Its context is the primary one, which libraries such as NCCL and MPI use
// too. Its exported methods implement accel.Calls.
type card struct {
	*Driver
	about  accel.Card
	handle unsafe.Pointer   // of the context; nil before it is bound
	events []unsafe.Pointer // all that were made
}

var _ accel.Calls = (*card)(nil)

// Use makes a card ready and starts the thread that owns its context.
func (d *Driver) Use(c accel.Card) (*accel.Context, error) {
	return accel.Start(c, &card{Driver: d, about: c})
}

func (c *card) Bind() error {
	if c.handle == nil {
		dev, err := c.device()
		if err != nil {
			return err
		}
		var handle unsafe.Pointer
		if err := c.check(C.gpu_retain(c.calls, &handle, dev), "retain"); err != nil {
			return err
		}
		c.handle = handle
	}
	return c.check(C.gpu_set_current(c.calls, c.handle), "set_current")
}

func (c *card) device() (dev C.int, err error) {
	err = c.check(C.gpu_device(c.calls, &dev, C.int(c.about.Index)), "device")
	return dev, err
}

func (c *card) Close() {
	for _, e := range c.events {
		C.gpu_event_destroy(c.calls, e)
	}
	if dev, err := c.device(); err == nil && c.handle != nil {
		C.gpu_release(c.calls, dev)
	}
}

func (c *card) Alloc(bytes int64) (accel.Memory, error) {
	var a C.address
	code := C.gpu_alloc(c.calls, &a, C.size_t(bytes))
	return accel.Memory(a), c.check(code, "alloc")
}

func (c *card) Free(m accel.Memory) error {
	return c.check(C.gpu_free(c.calls, C.address(m)), "free")
}

const hostPortable = 1 // pinned for every card

func (c *card) AllocPinned(bytes int) ([]byte, error) {
	var m unsafe.Pointer
	if err := c.check(C.gpu_host_alloc(c.calls, &m, C.size_t(bytes), hostPortable), "host_alloc"); err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(m), bytes), nil
}

func (c *card) MemoryInfo() (free, total int64, err error) {
	var f, t C.size_t
	code := C.gpu_memory_info(c.calls, &f, &t)
	return int64(f), int64(t), c.check(code, "memory_info")
}

func (c *card) ToDevice(stream unsafe.Pointer, dst accel.Memory, src []byte) error {
	return c.check(C.gpu_to_device(c.calls, C.address(dst), unsafe.Pointer(unsafe.SliceData(src)), C.size_t(len(src)), stream), "to_device")
}

func (c *card) ToHost(stream unsafe.Pointer, dst []byte, src accel.Memory) error {
	return c.check(C.gpu_to_host(c.calls, unsafe.Pointer(unsafe.SliceData(dst)), C.address(src), C.size_t(len(dst)), stream), "to_host")
}

func (c *card) Within(stream unsafe.Pointer, dst, src accel.Memory, bytes int64) error {
	return c.check(C.gpu_within(c.calls, C.address(dst), C.address(src), C.size_t(bytes), stream), "within")
}

func (c *card) Fill(stream unsafe.Pointer, dst accel.Memory, value byte, bytes int64) error {
	return c.check(C.gpu_fill(c.calls, C.address(dst), C.uchar(value), C.size_t(bytes), stream), "fill")
}

// Attributes of a kernel. Both drivers give them the same numbers.
const (
	functionShared     = 1
	functionMaxDynamic = 8
	functionCarveout   = 9
)

// freeShared is the shared memory, in bytes, that a block may have without special
// permission, its kernel's static memory included.
const freeShared = 48 << 10

// carveoutMost, in percent, asks a processor to use as much of its memory as possible as
// shared memory. The rest is cache.
const carveoutMost = 100

// kernel holds the data of a function that Launch needs.
type kernel struct {
	handle  unsafe.Pointer
	allowed int  // bytes of shared memory that a launch may add
	carved  bool // the driver knows that shared memory is preferred
}

func (c *card) Load(image []byte) (find func(name string) (any, int, error), err error) {
	text := C.CBytes(append(image[:len(image):len(image)], 0)) // PTX is a C string
	defer C.free(text)
	var module unsafe.Pointer
	err = c.check(C.gpu_module_load(c.calls, &module, text), "module_load")
	return func(name string) (any, int, error) { return c.function(module, name) }, err
}

func (c *card) function(module unsafe.Pointer, name string) (*kernel, int, error) {
	k := new(kernel)
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	if err := c.check(C.gpu_module_function(c.calls, &k.handle, module, s), "module_function"); err != nil {
		return nil, 0, err
	}
	var shared C.int
	err := c.check(C.gpu_function_get(c.calls, &shared, functionShared, k.handle), "function_get")
	k.allowed = max(0, freeShared-int(shared))
	return k, int(shared), err
}

func (c *card) Launch(stream unsafe.Pointer, f *accel.Function, s accel.Shape, cells []uint64, starts []int32) error {
	k := f.Kernel.(*kernel)
	if err := c.allow(f, k, s.Shared); err != nil {
		return err
	}
	var grid, block [3]C.uint
	for i := range 3 {
		grid[i], block[i] = C.uint(max(s.Blocks[i], 1)), C.uint(max(s.Threads[i], 1))
	}
	err := c.check(C.launch_kernel(c.calls, k.handle, &grid[0], &block[0], C.uint(s.Shared),
		stream, (*C.uint64_t)(unsafe.SliceData(cells)), (*C.int32_t)(unsafe.SliceData(starts)), C.int(len(starts))), "launch")
	if e, ok := err.(*Error); ok {
		e.During = fmt.Sprintf("kernel %s, %v blocks of %v threads, %d bytes shared", f.Name, grid, block, s.Shared)
	}
	return err
}

// allow prepares a kernel for launches with additional shared memory. If the driver
// requires it, it raises the kernel's limit and asks for the largest share of shared
// memory, so that several blocks fit on a processor.
func (c *card) allow(f *accel.Function, k *kernel, shared int) error {
	if most := c.about.Shared; most > 0 && f.Shared+shared > most {
		return fmt.Errorf("kernel %s needs %d bytes of shared memory a block, of which %d are its own; the card has %d", f.Name, f.Shared+shared, f.Shared, most)
	}
	if shared == 0 || c.Engine == HIP {
		return nil
	}
	set := func(which, value C.int) error {
		return c.check(C.gpu_function_set(c.calls, k.handle, which, value), "function_set")
	}
	if !k.carved {
		if err := set(functionCarveout, carveoutMost); err != nil {
			return err
		}
		k.carved = true
	}
	if shared <= k.allowed {
		return nil
	}
	// Others may launch the driver's same function with less, or more: all of them ask for all there is.
	shared = max(shared, c.about.Shared-f.Shared)
	err := set(functionMaxDynamic, C.int(shared))
	if err == nil {
		k.allowed = shared
	}
	return err
}

const (
	streamNonBlocking  = 1 // does not wait for the driver's default stream
	eventDisableTiming = 2
)

func (c *card) NewStream() (stream unsafe.Pointer, err error) {
	err = c.check(C.gpu_stream_create(c.calls, &stream, streamNonBlocking), "stream_create")
	return stream, err
}

func (c *card) CloseStream(stream unsafe.Pointer) error {
	return c.check(C.gpu_stream_destroy(c.calls, stream), "stream_destroy")
}

func (c *card) NewEvent(timed bool) (event unsafe.Pointer, err error) {
	flags := C.uint(eventDisableTiming)
	if timed {
		flags = 0
	}
	if err = c.check(C.gpu_event_create(c.calls, &event, flags), "event_create"); err == nil {
		c.events = append(c.events, event)
	}
	return event, err
}

func (c *card) Record(event, stream unsafe.Pointer) error {
	return c.check(C.gpu_event_record(c.calls, event, stream), "event_record")
}

// Wait refers to the present state of the event, which can be used again.
func (c *card) Wait(stream, event unsafe.Pointer) error {
	return c.check(C.gpu_stream_wait(c.calls, stream, event, 0), "stream_wait")
}

func (c *card) Passed(event unsafe.Pointer) (bool, error) {
	code := C.gpu_event_query(c.calls, event)
	if code == notReady {
		return false, nil
	}
	return code == 0, c.check(code, "event_query")
}

func (c *card) Elapsed(from, to unsafe.Pointer) (time.Duration, error) {
	var ms C.float
	err := c.check(C.gpu_event_elapsed(c.calls, &ms, from, to), "event_elapsed")
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}
