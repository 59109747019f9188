package gpu

import (
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
)

// These constants and structs must agree with the CUDA C++ text. TestKernelsAgree
// compares them.
const (
	fractionBits = 20   // FRACTION: bits of a time behind the point
	never        = 2047 // NEVER: whole samples of a time that does not count

	groupTiles = 8   // GROUP: tiles that a block of the adjoint's threads owns
	threads    = 256 // THREADS: of a block of the adjoint, and of most of ends.cu

	lanes        = 128 // LANES: threads of a block of the forward, its most traces
	blockSources = 16  // SOURCES of a block of the forward
	blockTargets = 32  // TARGETS: its receivers
	blockPlaces  = blockSources + blockTargets

	narrow  = 128        // WIDTH: threads of the filters and of bounds
	segment = 7 * narrow // SEGMENT: samples that a block of the filters makes
	steps   = 64         // STEPS: points that a thread of magnitude adds up
)

// receivers is the number of receivers in a cell of the adjoint, for tables of the given
// number of fields (RECEIVERS in the kernels).
func receivers(fields int) int32 {
	if fields == 1 {
		return 16
	}
	return 8
}

// adjointStage is the size in bytes of the adjoint's Stage.
func adjointStage(fields int) int {
	const points = groupTiles * 64
	window := 192 // WINDOW
	if fields == 1 {
		window = 128
	}
	return 8*window*int(receivers(fields)) + 4*points*fields
}

// forwardStage is the size in bytes of a stage of the forward, which has STAGE words.
func forwardStage(fields int) int {
	chunk := 16 // CHUNK
	if fields == 1 {
		chunk = 32
	}
	return 4 * (blockPlaces*(chunk+4)*fields + chunk)
}

// operator is the kernels' struct Operator.
type operator struct {
	table, span, groups, boxes driver.Memory
	tiles, ngroups, nboxes, nt int32
}

// traces is the kernels' struct Traces.
type traces struct{ groups, runs, rows, receivers, parts driver.Memory }

// blocks is the kernels' struct Blocks.
type blocks struct{ places, traces, tiles, parts driver.Memory }

func memory(b device.Buf) driver.Memory { return b.(*card.Buf).Memory() }

// launch launches x × y blocks of the given number of threads, with shared bytes of
// shared memory in addition to the kernel's own. It does nothing if there are no blocks.
// Arguments are buffers, nil for a null pointer, and what [driver.Context.Launch] takes.
func (e *Engine) launch(name string, x, y, threads, shared int, args ...any) {
	if x == 0 || y == 0 {
		return
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
			args[i] = driver.Memory(0)
		case device.Buf:
			args[i] = memory(v)
		}
	}
	e.context.Launch(e.kernels[name], driver.Shape{Blocks: [3]int{x, y, 1}, Threads: [3]int{threads, 1, 1}, Shared: shared}, args...)
}

// elements launches a kernel over n elements.
func (e *Engine) elements(name string, n int, args ...any) {
	e.launch(name, (n+threads-1)/threads, 1, threads, 0, append([]any{int64(n)}, args...)...)
}

// buffers holds all that an engine has on its card. Without a card it only counts, so
// that the code that allocates also tells how much it would allocate. After an error it
// allocates nothing more.
type buffers struct {
	dev   *card.Device // nil: count
	bytes int64
	list  []device.Buf
	err   error
}

// alloc returns n zeroed elements. It returns nil after an error and without a card.
func (b *buffers) alloc(n int, t device.Type) device.Buf {
	b.bytes += int64(n) * int64(t.Size())
	if b.dev == nil || b.err != nil {
		return nil
	}
	buf, err := b.dev.Alloc(n, t)
	if err != nil {
		b.err = err
		return nil
	}
	b.list = append(b.list, buf)
	return buf
}

// words copies 32-bit words to the card. It returns 0 after an error and without a card.
func words[T int32 | float32](b *buffers, list []T) driver.Memory {
	buf := b.alloc(len(list), device.F32)
	if buf == nil {
		return 0
	}
	b.err = put(buf, list)
	return memory(buf)
}

// put copies n 32-bit words, in elements of any size, to a buffer.
func put[T any](to device.Buf, list []T) error {
	if to.Len() == 0 {
		return nil
	}
	src := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(list))), to.Len())
	return to.Device().Copy(to, device.Wrap(device.NewHost(0), src))
}

func (b *buffers) free() {
	for _, buf := range b.list {
		b.dev.Free(buf)
	}
	b.list = nil
}
