package device

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/internal/workers"
)

// Host is the processor and its memory.
type Host struct {
	threads int

	// OnMark is called by Mark; nil: nothing. It is set before the host is used.
	OnMark func(name string) (end func())
}

// NewHost returns the host device working on the given number of threads; 0
// means all processors.
func NewHost(threads int) *Host {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return &Host{threads: threads}
}

// Number are the Go types of buffer elements.
type Number interface {
	float32 | float64 | int64
}

type hostBuf[T Number] struct {
	data []T
	dev  *Host
}

func (b *hostBuf[T]) Len() int       { return len(b.data) }
func (b *hostBuf[T]) Type() Type     { return TypeOf[T]() }
func (b *hostBuf[T]) Device() Device { return b.dev }
func (b *hostBuf[T]) Slice(off, n int) Buf {
	return &hostBuf[T]{b.data[off : off+n : off+n], b.dev}
}

// hosted is a hostBuf of any type: what does not depend on the type is done through it.
type hosted interface {
	Buf
	bytes() []byte
	axpby(h *Host, a float64, x Buf, b float64)
	multiply(h *Host, x Buf)
	stencil(s Stencil, src, before, after Buf)
}

func (b *hostBuf[T]) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(b.data))), len(b.data)*b.Type().Size())
}

// TypeOf is the element type that stores T.
func TypeOf[T Number]() Type {
	var z T
	switch any(z).(type) {
	case float32:
		return F32
	case float64:
		return F64
	}
	return I64
}

// Wrap returns a host buffer that shares memory with s.
func Wrap[T Number](h *Host, s []T) Buf { return &hostBuf[T]{s, h} }

// Slice returns the elements of a host buffer, shared. It panics if b is not on
// the host or has another element type.
func Slice[T Number](b Buf) []T {
	hb, ok := b.(*hostBuf[T])
	if !ok {
		panic(fmt.Sprintf("device: buffer of %v on %s is not %v on the host", b.Type(), b.Device().Name(), TypeOf[T]()))
	}
	return hb.data
}

// WrapMemory returns a host buffer of n elements on memory that begins at an address, which
// must be aligned for them.
func WrapMemory(h *Host, at unsafe.Pointer, n int, t Type) (Buf, error) {
	switch t {
	case F32:
		return Wrap(h, unsafe.Slice((*float32)(at), n)), nil
	case F64:
		return Wrap(h, unsafe.Slice((*float64)(at), n)), nil
	case I64:
		return Wrap(h, unsafe.Slice((*int64)(at), n)), nil
	}
	return nil, fmt.Errorf("device: unknown element type %d", t)
}

// Memory is the memory of a host buffer, shared. It panics if b is not on the host.
func Memory(b Buf) []byte {
	hb, ok := b.(hosted)
	if !ok {
		panic(fmt.Sprintf("device: buffer of %v on %s is not on the host", b.Type(), b.Device().Name()))
	}
	return hb.bytes()
}

func (h *Host) Name() string { return "cpu" }

// Threads is the number of threads the host works on.
func (h *Host) Threads() int { return h.threads }

func (h *Host) Alloc(n int, t Type) (Buf, error) {
	if n < 0 {
		panic(fmt.Sprintf("device: alloc of %d elements", n))
	}
	if t < F32 || t > I64 {
		return nil, fmt.Errorf("device: unknown element type %d", t)
	}
	words := make([]float64, (n*t.Size()+7)/8) // aligned for all types
	return WrapMemory(h, unsafe.Pointer(unsafe.SliceData(words)), n, t)
}

func (h *Host) Free(Buf) {} // the garbage collector's business

func (h *Host) Sync() error           { return nil }
func (h *Host) Traffic() (_, _ int64) { return 0, 0 }

func (h *Host) Mark(name string) (end func()) {
	if h.OnMark == nil {
		return func() {}
	}
	return h.OnMark(name)
}

func (h *Host) Zero(x Buf) error {
	b, ok := x.(hosted)
	if !ok {
		return Foreign(h, "zero", x)
	}
	to, size := b.bytes(), x.Type().Size()
	h.each(x.Len(), func(lo, hi int) { clear(to[lo*size : hi*size]) })
	return nil
}

// pair returns the two buffers of an operation, which must be on the host and agree in
// type and length.
func (h *Host) pair(op string, x, y Buf) (hx, hy hosted, err error) {
	hx, ok := x.(hosted)
	hy, too := y.(hosted)
	if !ok || !too {
		return nil, nil, Foreign(h, op, x, y)
	}
	Match(op, x, y)
	return hx, hy, nil
}

func (h *Host) Copy(dst, src Buf) error {
	d, s, err := h.pair("copy", dst, src)
	if err != nil {
		return err
	}
	to, from, size := d.bytes(), s.bytes(), src.Type().Size()
	h.each(src.Len(), func(lo, hi int) { copy(to[lo*size:hi*size], from[lo*size:hi*size]) })
	return nil
}

func (h *Host) Axpby(a float64, x Buf, b float64, y Buf) error {
	_, to, err := h.pair("axpby", x, y)
	if err == nil {
		to.axpby(h, a, x, b)
	}
	return err
}

func (h *Host) Multiply(dst, x Buf) error {
	to, _, err := h.pair("multiply", dst, x)
	if err == nil {
		to.multiply(h, x)
	}
	return err
}

func (h *Host) Dots(pairs ...[2]Buf) ([]float64, error) {
	var tasks []dotTask // all chunks of all pairs
	for i, p := range pairs {
		if _, _, err := h.pair("dots", p[0], p[1]); err != nil {
			return nil, err
		}
		dot, err := dotOf(p[0], p[1])
		if err != nil {
			return nil, err
		}
		for lo := 0; lo < p[0].Len(); lo += chunk {
			tasks = append(tasks, dotTask{pair: i, lo: lo, hi: min(lo+chunk, p[0].Len()), dot: dot})
		}
	}
	Share(h.threads, len(tasks), func(i int) { tasks[i].sum = tasks[i].dot(tasks[i].lo, tasks[i].hi) })
	out := make([]float64, len(pairs))
	for _, t := range tasks {
		out[t.pair] += t.sum
	}
	return out, nil
}

// dotTask is one chunk of one inner product.
type dotTask struct {
	pair, lo, hi int
	dot          func(lo, hi int) float64
	sum          float64
}

// dotOf is the inner product of a stretch of two buffers.
func dotOf(x, y Buf) (func(lo, hi int) float64, error) {
	switch x := x.(type) {
	case *hostBuf[float32]:
		y := Slice[float32](y)
		return func(lo, hi int) float64 { return dotProduct(x.data[lo:hi], y[lo:hi]) }, nil
	case *hostBuf[float64]:
		y := Slice[float64](y)
		return func(lo, hi int) float64 { return dotProduct(x.data[lo:hi], y[lo:hi]) }, nil
	}
	return nil, fmt.Errorf("device: dot product of %v", x.Type())
}

// chunk is the length over which sums are accumulated before they are added in
// order; fixed, so that the result does not depend on the number of threads.
const chunk = 1 << 15

// each calls f over [0, n) cut into chunks, on all threads.
func (h *Host) each(n int, f func(lo, hi int)) {
	Share(h.threads, (n+chunk-1)/chunk, func(c int) { f(c*chunk, min((c+1)*chunk, n)) })
}

// Share calls f for [0, n) on the given number of threads, i on thread i modulo that number.
func Share(threads, n int, f func(i int)) {
	threads = min(threads, n)
	if threads <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var group workers.Group
	for w := range threads {
		group.Go(func() error {
			for i := w; i < n; i += threads {
				f(i)
			}
			return nil
		})
	}
	group.Wait() // nothing fails
}

// axpby reads x and y once and writes y once.
func (y *hostBuf[T]) axpby(h *Host, fx float64, from Buf, fy float64) {
	a, b := T(fx), T(fy)
	all := Slice[T](from)
	h.each(len(y.data), func(lo, hi int) {
		x, y := all[lo:hi], y.data[lo:hi]
		if b == 0 {
			for i, v := range x {
				y[i] = a * v
			}
			return
		}
		for i, v := range x {
			y[i] = a*v + b*y[i]
		}
	})
}

func (y *hostBuf[T]) multiply(h *Host, by Buf) {
	x := Slice[T](by)
	h.each(len(x), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			y.data[i] *= x[i]
		}
	})
}

// dotProduct is the inner product of one chunk. Four running sums keep the adders
// busy; their order is fixed.
func dotProduct[T float32 | float64](x, y []T) float64 {
	var s [4]float64
	n := len(x) &^ 3
	y = y[:len(x)]
	for i := 0; i < n; i += 4 {
		s[0] += float64(x[i]) * float64(y[i])
		s[1] += float64(x[i+1]) * float64(y[i+1])
		s[2] += float64(x[i+2]) * float64(y[i+2])
		s[3] += float64(x[i+3]) * float64(y[i+3])
	}
	for i := n; i < len(x); i++ {
		s[0] += float64(x[i]) * float64(y[i])
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}
