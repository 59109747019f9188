package driver

/*
#include <stdlib.h>
#include "calls.h"
*/
import "C"

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Module is compiled code on the card.
type Module struct {
	context *Context
	name    string
	handle  unsafe.Pointer
}

// Function is a kernel with the properties that the compiler gave it.
type Function struct {
	Name    string
	Shared  int // bytes a block, without what a launch adds
	handle  unsafe.Pointer
	allowed int  // bytes of shared memory that a launch may add
	carved  bool // the driver knows that shared memory is preferred
}

// Load loads a compiled binary onto the card.
func (c *Context) Load(name string, image []byte) (*Module, error) {
	m := &Module{context: c, name: name}
	text := C.CBytes(append(image[:len(image):len(image)], 0)) // PTX is a C string
	defer C.free(text)
	err := c.Do(func() error {
		return c.driver.check(C.gpu_module_load(c.driver.calls, &m.handle, text), "module_load")
	})
	if err != nil {
		return nil, status.Resource(fmt.Errorf("%s: %w", name, err))
	}
	return m, nil
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

// Function finds a kernel by its extern "C" name.
func (m *Module) Function(name string) (*Function, error) {
	c := m.context
	f := &Function{Name: name}
	err := c.Do(func() error {
		s := C.CString(name)
		defer C.free(unsafe.Pointer(s))
		if err := c.driver.check(C.gpu_module_function(c.driver.calls, &f.handle, m.handle, s), "module_function"); err != nil {
			return err
		}
		var v C.int
		if err := c.driver.check(C.gpu_function_get(c.driver.calls, &v, functionShared, f.handle), "function_get"); err != nil {
			return err
		}
		f.Shared = int(v)
		f.allowed = max(0, freeShared-f.Shared)
		return nil
	})
	if err != nil {
		return nil, status.Resource(fmt.Errorf("%s: kernel %s: %w", m.name, name, err))
	}
	return f, nil
}

// Shape is the size of a launch. Sizes of 0 count as 1.
type Shape struct {
	Blocks  [3]int
	Threads [3]int // of a block
	Shared  int    // bytes of shared memory beside the kernel's own
}

// Line is the shape of a one-dimensional launch.
func Line(blocks, threads int) Shape {
	return Shape{Blocks: [3]int{blocks, 1, 1}, Threads: [3]int{threads, 1, 1}}
}

// Launch runs a kernel on a stream, without waiting. The arguments must have the
// types that the kernel declares, which cannot be checked: [Memory] for a pointer, int32,
// int64, float32, float64, and structures of these, which Go lays out as C does. They are
// copied.
func (c *Context) Launch(on *Stream, f *Function, s Shape, args ...any) {
	cells, starts := packed(args)
	var grid, block [3]C.uint
	for i := range 3 {
		grid[i], block[i] = C.uint(max(s.Blocks[i], 1)), C.uint(max(s.Threads[i], 1))
	}
	c.Post(func() error {
		if err := c.allow(f, s.Shared); err != nil {
			return err
		}
		err := c.driver.check(C.launch_kernel(c.driver.calls, f.handle, &grid[0], &block[0], C.uint(s.Shared),
			on.handle, (*C.uint64_t)(unsafe.SliceData(cells)), (*C.int32_t)(unsafe.SliceData(starts)), C.int(len(args))), "launch")
		if e, ok := err.(*Error); ok {
			e.During = fmt.Sprintf("kernel %s, %v blocks of %v threads, %d bytes shared", f.Name, grid, block, s.Shared)
		}
		return err
	})
}

// packed lays out the arguments in cells of 8 bytes. starts holds the first cell of each.
func packed(args []any) (cells []uint64, starts []int32) {
	for _, arg := range args {
		first := len(cells)
		v := reflect.ValueOf(arg)
		cells = append(cells, make([]uint64, (v.Type().Size()+7)/8)...)
		reflect.NewAt(v.Type(), unsafe.Pointer(&cells[first])).Elem().Set(v)
		starts = append(starts, int32(first))
	}
	return cells, starts
}

// allow prepares a kernel for launches with additional shared memory. If the driver
// requires it, it raises the kernel's limit and asks for the largest share of shared
// memory, so that several blocks fit on a processor.
func (c *Context) allow(f *Function, shared int) error {
	if most := c.Card.Shared; most > 0 && f.Shared+shared > most {
		return fmt.Errorf("kernel %s needs %d bytes of shared memory a block, of which %d are its own; the card has %d", f.Name, f.Shared+shared, f.Shared, most)
	}
	if shared == 0 || c.driver.Engine == HIP {
		return nil
	}
	set := func(which, value C.int) error {
		return c.driver.check(C.gpu_function_set(c.driver.calls, f.handle, which, value), "function_set")
	}
	if !f.carved {
		if err := set(functionCarveout, carveoutMost); err != nil {
			return err
		}
		f.carved = true
	}
	if shared <= f.allowed {
		return nil
	}
	// Others may launch the driver's same function with less, or more: all of them ask for all there is.
	shared = max(shared, c.Card.Shared-f.Shared)
	err := set(functionMaxDynamic, C.int(shared))
	if err == nil {
		f.allowed = shared
	}
	return err
}
