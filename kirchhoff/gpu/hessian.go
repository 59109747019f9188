package gpu

import (
	"context"
	_ "embed"
	"fmt"
	"sync"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

//go:embed hessian.cu
var hessianText string

// HessianProgram is the program that pairs the points of a target.
func HessianProgram() driver.Source { return driver.Source{Name: "hessian.cu", Text: hessianText} }

// Hessian makes blocks of the Hessian of a target on a card. Where traces fall on the target's tiles
// is found by the processor, as for the cpu engine, so that there is one implementation of weights. A
// fall takes 13 bytes for a trace and point to copy, and serves a pair with each point of the block,
// or if all falls are kept on the card, of the target: that of n points takes 26/(n+1) bytes a
// pair. Sums over 32 traces are float32, and those over them float64. An element has the same bits in
// whatever block it is computed.
type Hessian struct {
	*kirchhoff.Hessian
	meet, gather *driver.Function
	traces, nt   int // of the problem
	most         int // sums of a pair of tiles and a part that are held at once

	held  buffers
	even  driver.Memory // a gram for all traces
	falls device.Buf    // [tile][trace that counts][FallWords], where they are kept
	made  []bool        // tiles that have them

	room sync.Mutex // guards falls, made and the card's work
}

// These constants and structs must agree with the CUDA C++ text. TestHessianKernelsAgree compares
// them.
const (
	meetThreads = 128 // THREADS
	meetPart    = 32  // PART: traces that are summed in float
)

type (
	tileThere struct {
		falls      int64
		first, end int32
	}
	gramThere struct {
		v, row                    driver.Memory
		rows, bands, wide, stride int32
	}
	blockThere struct {
		out        driver.Memory
		rows, cols [2]int32
	}
)

const (
	fallBatch = 512  // traces whose falls are found at once
	mostSums  = 4096 // Hessian.most
	tilePairs = simd.TileSize * simd.TileSize
)

// NewHessian makes what the Hessian of a target over the traces of p needs, with times and weights of
// its points on the host: see kirchhoff.NewHessian, also for errors. The falls of all traces are kept
// on the card if they take at most the given number of bytes. If the card has too little memory,
// the error is a missing resource that states what is needed and what there is.
func NewHessian(ctx context.Context, dev *card.Device, p *kirchhoff.Problem, t kirchhoff.Target, keep int64) (*Hessian, error) {
	if err := kirchhoff.Refuse(dev.Engine().String(), p, kirchhoff.Work{}); err != nil {
		return nil, err
	}
	module, err := dev.Build(HessianProgram())
	if err != nil {
		return nil, err
	}
	h := &Hessian{traces: p.NumTraces(), nt: p.NT, most: mostSums, held: buffers{dev: dev}}
	if h.meet, err = module.Function("meet"); err != nil {
		return nil, err
	}
	if h.gather, err = module.Function("gather"); err != nil {
		return nil, err
	}
	if h.Hessian, err = kirchhoff.NewHessian(ctx, "cpu", p, t); err != nil {
		return nil, err
	}
	h.even = putProducts(&h.held, h.Products())
	tiles, traces := len(h.Cuts())-1, len(h.Traces())
	if words := tiles * traces * kirchhoff.FallWords; 4*int64(words) <= keep {
		h.falls, h.made = h.held.alloc(words, device.F32), make([]bool, tiles)
	}
	if h.held.err != nil {
		h.Close()
		return nil, fmt.Errorf("kirchhoff: the Hessian needs %s on the card: %w", humanize.IBytes(uint64(h.held.bytes)), h.held.err)
	}
	return h, nil
}

// Close gives memory back.
func (h *Hessian) Close() {
	h.held.free()
	h.Hessian.Close()
}

// HessianBytes is the memory on a card that blocks of at most so many rows and columns take, for a
// target with the given cuts, without products of columns and without falls that are kept.
func HessianBytes(cuts []int, most int) int64 {
	n := 0 // tiles of so many rows
	for i, first := 0, 0; i < len(cuts)-1; i++ {
		for cuts[first+1] <= cuts[i+1]-most {
			first++
		}
		n = max(n, i+1-first+1)
	}
	w := &pairing{Hessian: &Hessian{most: mostSums}, tiles: make([]tileThere, 2*n), pairs: make([][2]int32, n*n), batch: fallBatch}
	w.allocate(fallBatch, false)
	return w.bytes + 8*int64(most)*int64(most)
}

// Add adds a block of H to dst, see kirchhoff.Hessian. It takes the block's elements on the card too.
func (h *Hessian) Add(ctx context.Context, dst []float64, rows, cols [2]int, w2 []float32) error {
	out, err := h.held.dev.Alloc(len(dst), device.F64)
	if err != nil {
		return err
	}
	defer h.held.dev.Free(out)
	if err := h.AddTo(ctx, out, rows, cols, w2); err != nil {
		return err
	}
	part := make([]float64, len(dst))
	if err := device.Download(part, out); err != nil {
		return err
	}
	for i, v := range part {
		dst[i] += v
	}
	return nil
}

// AddTo is Add to a buffer of the card, float64, row by row. Like those of the engine, its operations
// run in order and may go on after it has returned.
func (h *Hessian) AddTo(ctx context.Context, dst device.Buf, rows, cols [2]int, w2 []float32) error {
	tiles, pairs, err := h.Pairs(rows, cols, w2)
	if err != nil {
		return err
	}
	if want := (rows[1] - rows[0]) * (cols[1] - cols[0]); dst.Len() != want || dst.Type() != device.F64 {
		return fmt.Errorf("kirchhoff: %d elements of %v for a block of the Hessian that has %d of %v", dst.Len(), dst.Type(), want, device.F64)
	}
	if dst.Device() != device.Device(h.held.dev) {
		return device.Foreign(h.held.dev, "Hessian", dst)
	}
	if len(pairs) == 0 || len(h.Traces()) == 0 {
		return ctx.Err()
	}
	h.room.Lock()
	defer h.room.Unlock()
	defer h.held.dev.Clock.Main(device.MarkHessian)()
	w := h.newPairing(tiles, pairs, w2)
	defer w.free()
	w.block = blockThere{memory(dst), [2]int32(int32s(rows[:])), [2]int32(int32s(cols[:]))}
	if w.err != nil {
		return w.failed(w.err)
	}
	if err := w.run(ctx); err != nil {
		return err
	}
	return h.held.dev.Context().Err()
}
