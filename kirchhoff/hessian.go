package kirchhoff

import (
	"context"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/workers"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Target is a window of the image: its points have grid indices in [Lo[a], Hi[a]) along each
// axis a.
type Target struct{ Lo, Hi []int }

// Validate returns an error if t is empty or leaves the grid.
func (t Target) Validate(g grid.Grid) error {
	if len(t.Lo) != g.Dim() || len(t.Hi) != g.Dim() {
		return fmt.Errorf("kirchhoff: a target from %v to %v, the image has %d axes", t.Lo, t.Hi, g.Dim())
	}
	for a, n := range g.Shape {
		if t.Lo[a] < 0 || t.Hi[a] > n || t.Lo[a] >= t.Hi[a] {
			return fmt.Errorf("kirchhoff: a target from point %d up to %d along axis %d, the image has %s there", t.Lo[a], t.Hi[a], a, readable.Count(n, "point"))
		}
	}
	return nil
}

// holds reports whether grid point i lies in t.
func (t Target) holds(g grid.Grid, i int) bool {
	for a := g.Dim() - 1; a >= 0; a-- {
		if at := i % g.Shape[a]; at < t.Lo[a] || at >= t.Hi[a] {
			return false
		}
		i /= g.Shape[a]
	}
	return true
}

// Hessian makes blocks of H = AᵀW²A over a target, exactly and without any data. With the columns
// c_b[k] = W C T_b e[k] of the convolution over the record, T_b the smoothing of band b,
//
//	H_xy = Σ_traces a_x a_y ⟨(1−w_x) c_b[k_x] + w_x c_b[k_x+1], (1−w_y) c_b'[k_y] + w_y c_b'[k_y+1]⟩
//
// where k, w and the weight a say how the trace meets a point, and b and b' are the bands in
// which it meets x and y. Inner products of columns are all that is needed of the wavelet: away
// from the record's ends the autocorrelation of the smoothed wavelet.
//
// A row of H is a point of the target. Rows are in the order of Points: tile by tile, so that
// neighbouring rows are neighbouring points. H is symmetric to the bit, and its elements have the
// same bits in whatever block and on however many threads they are computed.
type Hessian struct {
	arrivals
	threads int
	traces  []int32 // those that count in the target, in runs
	cuts    []int   // first row of each tile, and the number of rows
	used    int     // bands
	h       []float64
	zero    int
	pairs   *pairs // of the cpu engine; nil for the reference
}

// NewHessian prepares the Hessian of a target over the traces of p on the named engine, cpu or reference.
// It makes times and weights of the target's points. For each place they take 8 bytes a point, with
// Dynamic 24 (2-D) or 40 (3-D, or of unequal slownesses), and up to twice that with limits of dip or
// opening angle and while they are made. Traveltimes are solved as for the engine's operator. The target
// must lie in the slab. NewHessian returns the errors of Validate, of the traveltime method and of ctx.
func NewHessian(ctx context.Context, engine string, p *Problem, t Target) (*Hessian, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if engine != "cpu" && engine != "reference" {
		return nil, fmt.Errorf("kirchhoff: the cpu and the reference engine make the Hessian of a target, the %s engine does not", engine)
	}
	if p.several() {
		return nil, fmt.Errorf("kirchhoff: the Hessian of a target is that of one arrival at each point, the traveltimes (%s) have several", p.Times.Name())
	}
	if err := t.Validate(p.Grid); err != nil {
		return nil, err
	}
	if lo, hi := p.slab(); t.Lo[0] < lo || t.Hi[0] > hi {
		return nil, fmt.Errorf("kirchhoff: a target of points %d up to %d along x, in a slab of points %d up to %d", t.Lo[0], t.Hi[0], lo, hi)
	}
	p = p.whole()
	taps := p.Taps()
	h := &Hessian{arrivals: newArrivals(p), threads: p.threads(), h: taps.Samples, zero: taps.Zero}
	h.arrange(t)
	all, opt := p.TimesNeeded()
	if engine == "reference" {
		opt.Windows = nil
	}
	var places []int
	for _, place := range h.places() {
		if _, needed := slices.BinarySearch(all, place); needed {
			places = append(places, place)
		}
	}
	if len(places) > 0 {
		if err := p.Arrivals(ctx, places, opt, h.sink(p)); err != nil {
			return nil, err
		}
	}
	h.traces = slices.DeleteFunc(h.traces, func(trace int32) bool { // at the aperture's very edge
		return h.time[p.Positions.Source[trace]] == nil || h.time[p.Positions.Receiver[trace]] == nil
	})
	if h.used = h.usedBands(); engine == "reference" {
		return h, nil
	}
	h.trim()
	var err error
	h.pairs, err = h.newPairs(ctx)
	return h, err
}

// arrange puts the points of a target and the traces that count there in order.
func (h *Hessian) arrange(t Target) {
	var points []int32
	lo, hi := h.p.slab()
	points, h.cuts = t.rows(h.p.Grid, [2]int{lo, hi})
	h.only(points)
	for _, trace := range inRuns(h.p.Positions, adjointCells.receivers) {
		if t.metBy(&h.p, int(trace)) {
			h.traces = append(h.traces, trace)
		}
	}
}

func (t Target) rows(g grid.Grid, slab [2]int) (points []int32, cuts []int) {
	tiling := newTiling(g, slab, &memory{})
	for tile := range tiling.Tiles {
		n := len(points)
		for _, slot := range tiling.slots(tile) {
			if i := tiling.first + int(slot); slot >= 0 && t.holds(g, i) {
				points = append(points, int32(i))
			}
		}
		if len(points) > n {
			cuts = append(cuts, n)
		}
	}
	return points, append(cuts, len(points))
}

// metBy reports whether the aperture of a trace may reach t.
func (t Target) metBy(p *Problem, trace int) bool {
	s, r := p.Positions.At(int(p.Positions.Source[trace])), p.Positions.At(int(p.Positions.Receiver[trace]))
	for axis, a := range p.Aperture {
		c := 0.5 * (s[axis] + r[axis])
		lo, hi := p.Grid.Coord(axis, t.Lo[axis]), p.Grid.Coord(axis, t.Hi[axis]-1)
		if a > 0 && max(lo-c, c-hi) >= a {
			return false
		}
	}
	return true
}

// places lists, in ascending order, those of the traces that count in the target.
func (h *Hessian) places() []int {
	of := h.p.Positions.Of(h.traces)
	return listDistinct(of.Len(), of.Source, of.Receiver)
}

// usedBands is one more than the highest band in which a trace may meet the target.
func (h *Hessian) usedBands() int {
	if h.bands.n == 1 {
		return 1
	}
	steepest := make([]float32, len(h.slope))
	for place, slopes := range h.slope {
		for _, tile := range h.tile {
			if slopes != nil {
				steepest[place] = max(steepest[place], slopes[tile])
			}
		}
	}
	most := 0
	for _, trace := range h.traces {
		s, r := h.p.Positions.Source[trace], h.p.Positions.Receiver[trace]
		most = max(most, simd.Band(h.bands.n, steepest[s], steepest[r]))
	}
	return most + 1
}

// Len is the number of rows.
func (h *Hessian) Len() int { return len(h.some) }

// Points are the grid points of the rows, numbered in C order over the whole image.
func (h *Hessian) Points() []int32 { return h.some }

// Cuts are the first rows of the tiles, followed by the number of rows. For a block that begins and
// ends at cuts, Add computes only the elements that it returns.
func (h *Hessian) Cuts() []int { return h.cuts }

// Add adds the block of rows [rows[0], rows[1]) and columns [cols[0], cols[1]) of H to dst, row by
// row. w2 holds squared weights, none negative: nil for ones, [ntrace] of traces or [ntrace, nt]
// of samples. Blocks of several hundred rows and columns take the least time for an element. It
// returns ctx's error if it ends first, with dst half filled, and an error if memory does not
// suffice: the cpu engine needs 430 KB for each tile of the block's rows and columns.
func (h *Hessian) Add(ctx context.Context, dst []float64, rows, cols [2]int, w2 []float32) error {
	b := block{dst: dst, rows: rows, cols: cols}
	if err := h.check(b, w2); err != nil {
		return err
	}
	if want := (rows[1] - rows[0]) * (cols[1] - cols[0]); len(dst) != want {
		return fmt.Errorf("kirchhoff: %d elements for a block of the Hessian that has %d", len(dst), want)
	}
	if h.pairs == nil {
		return h.addPlain(ctx, b, w2)
	}
	return h.addPairs(ctx, b, w2)
}

// Close gives memory back.
func (h *Hessian) Close() {
	if h.pairs != nil {
		h.pairs.free()
	}
}

// check returns the first fault of a block and of weights.
func (h *Hessian) check(b block, w2 []float32) error {
	n, traces := h.Len(), h.p.NumTraces()
	for _, r := range [2][2]int{b.rows, b.cols} {
		if r[0] < 0 || r[0] > r[1] || r[1] > n {
			return fmt.Errorf("kirchhoff: rows %d up to %d of a Hessian that has %d", r[0], r[1], n)
		}
	}
	if w2 != nil && len(w2) != traces && len(w2) != traces*h.p.NT {
		return fmt.Errorf("kirchhoff: %d weights for %d traces of %d samples", len(w2), traces, h.p.NT)
	}
	return nil
}

// block is a part of H, row by row.
type block struct {
	dst        []float64
	rows, cols [2]int
}

// at is where b has the element of a row and a column, −1 where it has not.
func (b *block) at(row, col int) int {
	if row < b.rows[0] || row >= b.rows[1] || col < b.cols[0] || col >= b.cols[1] {
		return -1
	}
	return (row-b.rows[0])*(b.cols[1]-b.cols[0]) + col - b.cols[0]
}

// needs reports whether b has a row or a column of a point.
func (b *block) needs(x int) bool {
	return b.rows[0] <= x && x < b.rows[1] || b.cols[0] <= x && x < b.cols[1]
}

// arrival is where a point falls on a trace: with the weights lo and hi on samples k and k+1 of a
// band. k is −1 where it does not.
type arrival struct {
	k, band int
	lo, hi  float64
}

// arrival returns that of a held point.
func (h *Hessian) arrival(trace, i int) arrival {
	k, w, a := h.arrivals.at(trace, i, pairing{})
	if k < 0 {
		return arrival{k: k}
	}
	return arrival{k, h.band(trace, i, pairing{}), a * (1 - w), a * w}
}

// addPlain is Add in loops that read like the formula. The element of two points is computed once,
// from the row of the first.
func (h *Hessian) addPlain(ctx context.Context, b block, w2 []float32) error {
	even := h.gram(nil)
	falls := make([]arrival, h.Len())
	for _, trace := range h.traces {
		scale, g := 1.0, even
		switch nt := h.p.NT; len(w2) {
		case 0:
		case h.p.NumTraces():
			scale = float64(w2[trace])
		default:
			g = h.gram(w2[int(trace)*nt : (int(trace)+1)*nt])
		}
		err := workers.Each(ctx, h.threads, len(falls), func(_, x int) error {
			if falls[x].k = -1; b.needs(x) {
				falls[x] = h.arrival(int(trace), x)
			}
			return nil
		})
		if err != nil {
			return err
		}
		rows := make([][2]*gramRow, len(falls))
		for x, f := range falls {
			if f.k >= 0 {
				rows[x] = [2]*gramRow{g.row(f.band, f.k), g.row(f.band, f.k+1)}
			}
		}
		err = workers.Each(ctx, h.threads, len(falls), func(_, x int) error {
			if falls[x].k >= 0 {
				b.addRow(x, falls, rows[x], scale)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addRow adds what a trace brings to the elements of point x and those from it on.
func (b *block) addRow(x int, falls []arrival, of [2]*gramRow, scale float64) {
	at := falls[x]
	for y := x; y < len(falls); y++ {
		f, up, down := falls[y], b.at(x, y), b.at(y, x)
		if f.k < 0 || up < 0 && down < 0 {
			continue
		}
		v := scale * (at.lo*(f.lo*of[0].at(f.band, f.k)+f.hi*of[0].at(f.band, f.k+1)) +
			at.hi*(f.lo*of[1].at(f.band, f.k)+f.hi*of[1].at(f.band, f.k+1)))
		if up >= 0 {
			b.dst[up] += v
		}
		if down >= 0 && down != up {
			b.dst[down] += v
		}
	}
}
