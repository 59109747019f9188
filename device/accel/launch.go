package accel

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
	find    func(name string) (kernel any, shared int, err error)
}

// Function is a kernel with the properties that the compiler gave it.
type Function struct {
	Name   string
	Shared int // bytes a block, without what a launch adds
	Kernel any // what the driver's own calls know it by
}

// Load loads a compiled binary onto the card.
func (c *Context) Load(name string, image []byte) (*Module, error) {
	m := &Module{context: c, name: name}
	err := c.Do(func() (err error) { m.find, err = c.calls.Load(image); return err })
	if err != nil {
		return nil, status.Resource(fmt.Errorf("%s: %w", name, err))
	}
	return m, nil
}

// Function finds a kernel by its extern "C" name.
func (m *Module) Function(name string) (*Function, error) {
	f := &Function{Name: name}
	err := m.context.Do(func() (err error) { f.Kernel, f.Shared, err = m.find(name); return err })
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
	cells, starts := packArguments(args)
	c.Post(func() error { return c.calls.Launch(on.handle, f, s, cells, starts) })
}

// packArguments lays out the arguments in cells of 8 bytes. starts holds the first cell of each.
func packArguments(args []any) (cells []uint64, starts []int32) {
	for _, arg := range args {
		first := len(cells)
		v := reflect.ValueOf(arg)
		cells = append(cells, make([]uint64, (v.Type().Size()+7)/8)...)
		reflect.NewAt(v.Type(), unsafe.Pointer(&cells[first])).Elem().Set(v)
		starts = append(starts, int32(first))
	}
	return cells, starts
}
