package gpu

import (
	_ "embed"
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

var (
	//go:embed times.cu
	timesText string
	//go:embed weight.cu
	weightText string
	//go:embed aperture.cu
	apertureText string
	//go:embed adjoint.cu
	adjointText string
	//go:embed forward.cu
	forwardText string
	//go:embed ends.cu
	endsText string
)

// Programs returns the programs of an engine whose tables have the given layout: the
// operator, and what comes before and after it, which is the same for all kinds of tables.
func Programs(l kirchhoff.Layout) [2]accel.Source {
	src := operatorSource(l, false)
	src.Native = native(l)
	return [2]accel.Source{src, {Name: "ends.cu", Text: endsHeader() + lineOne("ends.cu") + endsText}}
}

// lineOne makes messages of compilers count lines from those of a file.
func lineOne(file string) string { return fmt.Sprintf("#line 1 %q\n", file) }

// SquaredProgram returns the program of the adjoint of Engine.Squared, which has no forward.
func SquaredProgram(l kirchhoff.Layout) accel.Source { return operatorSource(l, true) }

// operatorSource is the operator, or the adjoint of the one with all its elements squared. It joins
// five files, or four, and is compiled for one kind of tables.
func operatorSource(l kirchhoff.Layout, squared bool) accel.Source {
	text := operatorHeader(l)
	parts := []struct{ name, text string }{{"times.cu", timesText}, {"weight.cu", weightText},
		{"aperture.cu", apertureText}, {"adjoint.cu", adjointText}, {"forward.cu", forwardText}}
	if squared {
		parts = parts[:len(parts)-1]
	}
	for _, part := range parts {
		text += lineOne(part.name) + part.text
	}
	flag := map[bool]int{true: 1}
	return accel.Source{Name: "kirchhoff.cu", Text: text,
		Defines: []string{fmt.Sprintf("WEIGHTS=%d", l.Fields/2), fmt.Sprintf("LIMITS=%d", flag[l.Limits]), fmt.Sprintf("UNEQUAL=%d", flag[l.Unequal]),
			fmt.Sprintf("APERTURE=%d", l.Aperture), fmt.Sprintf("SQUARED=%d", flag[squared]), fmt.Sprintf("BANDS=%d", flag[l.Bands > 1])}}
}

// kernelNames lists the kernels of the two programs.
var kernelNames = [2][]string{{"adjoint", "forward"},
	{"convolve_f32", "convolve_f64", "correlate", "square", "smooth", "load", "collect_f32", "collect_f64", "unload_f32", "unload_f64", "largest", "magnitude"}}

// operator is the kernels' struct Operator.
type operator struct {
	table, groups      accel.Memory
	tiles, ngroups, nt int32
	bits, mask         int32
	one                float32

	// Programs without an aperture, limits or bands do not take these.
	columns, spots, middles accel.Memory
	taper                   [2]kirchhoff.Taper
	dip, opening            kirchhoff.Fade
	dynamic                 int32
	bands                   int32
	slope                   accel.Memory
}

// newOperator is the kernel's operator on tables, without what depends on lists of traces.
func (k *kernel) newOperator(t *tables) operator {
	boxes := len(k.engine.geometry.plan.Boxes)
	o := operator{table: memory(t.table), groups: memory(t.groups),
		tiles: int32(k.engine.geometry.plan.Tiles), ngroups: int32(k.engine.geometry.firstGroup[boxes]), nt: int32(k.engine.nt),
		bits: int32(k.engine.bits), mask: 1<<k.engine.bits - 1, one: k.engine.one(), spots: k.engine.spots, dip: k.image.Own.Dip().Fade(), opening: k.image.Own.Opening.Fade()}
	if k.image.Own.Dynamic {
		o.dynamic = 1
	}
	if k.engine.geometry.layout.Bands > 1 {
		o.bands, o.slope = int32(k.engine.geometry.layout.Bands), memory(t.slope)
	}
	tapers := k.image.Own.Tapers()
	copy(o.taper[:], tapers[2-k.engine.geometry.layout.Aperture:])
	return o
}

// one is the number whose float32 has 2^-bits as its last digit.
func (e *Engine) one() float32 { return float32(math.Ldexp(1, mostBits-e.bits)) }

// These structs must agree with the CUDA C++ text. TestKernelsAgree compares them.

// adjointStage is the size in bytes of the adjoint's Stage.
func adjointStage(l kirchhoff.Layout) int {
	receivers, window, _ := sizes(l)
	bytes := 8*window*receivers + 4*groupTiles*64*l.Fields
	if l.Aperture > 0 {
		bytes += 4 * tapers * receivers
	}
	return bytes
}

// forwardStage is the size in bytes of a stage of the forward, which has STAGE words.
func forwardStage(l kirchhoff.Layout) int {
	_, _, chunk := sizes(l)
	return 4 * (blockPlaces*(chunk*l.Fields+4) + chunk)
}

// traces is the kernels' struct Traces.
type traces struct{ groups, runs, rows, receivers, parts accel.Memory }

// blocks is the kernels' struct Blocks.
type blocks struct {
	places, traces, halves, parts accel.Memory
	visits, firsts                accel.Memory // with an aperture
}

func memory(b device.Buf) accel.Memory { return b.(*card.Buf).Memory() }

// launch launches x × y blocks of the given number of threads, with shared bytes of
// shared memory in addition to the kernel's own. It does nothing if there are no blocks.
// Arguments are buffers, nil for a null pointer, and what [accel.Context.Launch] takes.
func (e *Engine) launch(name string, x, y, threads, shared int, args ...any) {
	if x == 0 || y == 0 {
		return
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
			args[i] = accel.Memory(0)
		case device.Buf:
			args[i] = memory(v)
		}
	}
	e.context.Launch(e.context.Main(), e.functions[name], accel.Shape{Blocks: [3]int{x, y, 1}, Threads: [3]int{threads, 1, 1}, Shared: shared}, args...)
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
	round bool         // lengths are powers of two, so that later buffers take the memory again
	bytes int64
	list  []device.Buf
	err   error
}

// alloc returns n zeroed elements. It returns nil after an error and without a card.
func (b *buffers) alloc(n int, t device.Type) device.Buf {
	if b.round {
		n = 1 << bits.Len(uint(max(n, 64)-1))
	}
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

// words copies elements of whole 32-bit words to the card. It returns 0 after an error and
// without a card.
func words[T any](b *buffers, list []T) accel.Memory {
	var t T
	n := len(list) * int(unsafe.Sizeof(t)) / 4
	buf := b.alloc(n, device.F32)
	if buf == nil {
		return 0
	}
	b.err = put(b.dev.Context().Main(), buf.Slice(0, n), list)
	return memory(buf)
}

// put copies n 32-bit words, in elements of any size, to a buffer of a card.
func put[T any](s *accel.Stream, to device.Buf, list []T) error {
	if to.Len() == 0 {
		return nil
	}
	return to.Device().(*card.Device).Send(s, to, card.Words(list).Slice(0, to.Len()))
}

func (b *buffers) free() {
	for _, buf := range b.list {
		b.dev.Free(buf)
	}
	b.list = nil
}
