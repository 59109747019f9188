package butterfly

import (
	"context"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/workers"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// spectra are those of a block's traces in a segment, [nf][source][width].
type spectra struct{ re, im []float32 }

type segmentOf struct{ block, segment int }

// stage is what is summed at once: the segments of blocks that the parts of all windows need.
func (o *Operator) stage() map[segmentOf]*spectra {
	out := map[segmentOf]*spectra{}
	for _, list := range o.parts {
		for _, p := range list {
			at := segmentOf{p.number, p.segment}
			if out[at] == nil {
				b := o.blocks[p.number]
				n := o.band.nf * o.sources(b) * b.width
				out[at] = &spectra{make([]float32, n), make([]float32, n)}
			}
		}
	}
	return out
}

func (o *Operator) sources(b *block) int   { return len(o.groups[sources][b.of[sources]].places) }
func (o *Operator) receivers(b *block) int { return len(o.groups[receivers][b.of[receivers]].places) }

// segments lists those of each block, ascending.
func segments(of map[segmentOf]*spectra, blocks int) [][]int {
	out := make([][]int, blocks)
	for at := range of {
		out[at.block] = append(out[at.block], at.segment)
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

// Adjoint adds to sums, [tile][64], what o takes over of the adjoint. It implements
// kirchhoff.Elsewhere. The sums of the traces of each cluster of sources over a window are added in a
// fixed order, with a quantum exactly.
func (o *Operator) Adjoint(ctx context.Context, sums []float64, quantum float64, load func(worker, trace int, to []float32)) error {
	all, to := o.stage(), o.newLanding(sums, quantum)
	segs := segments(all, len(o.blocks))
	err := workers.Each(ctx, o.threads, len(o.blocks), func(worker, n int) error {
		if len(segs[n]) == 0 {
			return nil
		}
		t := o.newTurn(n)
		for s := range o.sources(t.block) {
			t.load(s, func(trace int, row []float32) {
				load(worker, trace, row)
				to.expect(n, o.isa, row)
			})
			for _, segment := range segs[n] {
				t.into(s, segment, all[segmentOf{n, segment}])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return workers.Each(ctx, o.threads, len(o.windows), func(_, i int) error {
		r := o.open(i, false)
		for _, batch := range r.batches() {
			for _, p := range batch {
				if err := ctx.Err(); err != nil {
					return err
				}
				r.beam(p, all[segmentOf{p.number, p.segment}])
			}
			if err := r.image(batch, to); err != nil {
				return err
			}
		}
		return nil
	})
}

// Forward hands what o takes over of the traces of an image, [tile][64], to add. It implements
// kirchhoff.Elsewhere.
func (o *Operator) Forward(ctx context.Context, image []float32, add func(worker, trace int, u []float32)) error {
	all := o.stage()
	for first := 0; first < len(o.windows); first += o.threads {
		rooms := make([]*room, min(o.threads, len(o.windows)-first))
		err := workers.Each(ctx, o.threads, len(rooms), func(_, i int) error {
			rooms[i] = o.open(first+i, true)
			for _, batch := range rooms[i].batches() {
				if err := ctx.Err(); err != nil {
					return err
				}
				rooms[i].gather(batch, image)
			}
			return nil
		})
		if err != nil {
			return err
		}
		err = workers.Each(ctx, o.threads, len(o.blocks), func(_, n int) error {
			for _, r := range rooms {
				for _, p := range r.parts {
					if p.number == n {
						r.spread(p, all[segmentOf{n, p.segment}])
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	segs := segments(all, len(o.blocks))
	return workers.Each(ctx, o.threads, len(o.blocks), func(worker, n int) error {
		if len(segs[n]) == 0 {
			return nil
		}
		t := o.newTurn(n)
		for s := range o.sources(t.block) {
			clear(t.lines)
			for _, segment := range segs[n] {
				t.back(s, segment, all[segmentOf{n, segment}])
			}
			t.unload(s, func(trace int, u []float32) { add(worker, trace, u) })
		}
		return nil
	})
}

// turn takes the traces of a block to the spectra of their segments and back, those of one source at
// a time.
type turn struct {
	*band
	*block
	isa   simd.ISA
	ns    int
	by    [][]int   // traces of each source, by their number in the block
	lines []float32 // [rise + nt + n][width], zero beyond the record
	row   []float32 // [inner nt], of which every so many are samples of the data
	every int
}

func (o *Operator) newTurn(n int) *turn {
	b := o.blocks[n]
	t := &turn{band: o.band, block: b, isa: o.isa, ns: o.sources(b), by: make([][]int, o.sources(b)), row: make([]float32, o.inner), every: max(1, o.problem.Finer)}
	t.lines = make([]float32, (t.rise+o.problem.NT+t.n)*b.width)
	for i, slot := range b.slots {
		s := int(slot) / b.width
		t.by[s] = append(t.by[s], i)
	}
	return t
}

// load takes the traces of a source.
func (t *turn) load(s int, load func(trace int, to []float32)) {
	clear(t.lines)
	for _, i := range t.by[s] {
		load(int(t.traces[i]), t.row)
		at := t.rise*t.width + int(t.slots[i])%t.width
		for k := 0; k < len(t.row); k += t.every {
			t.lines[at] += t.row[k]
			at += t.width
		}
	}
}

// unload is the transpose of load.
func (t *turn) unload(s int, add func(trace int, u []float32)) {
	clear(t.row)
	for _, i := range t.by[s] {
		at := t.rise*t.width + int(t.slots[i])%t.width
		for k := 0; k < len(t.row); k += t.every {
			t.row[k] = t.lines[at]
			at += t.width
		}
		add(int(t.traces[i]), t.row)
	}
}

// planes calls f with what a Fourier transform of a segment joins, for the real and the imaginary
// part: the table, samples, and spectra.
func (t *turn) planes(s, segment int, e *spectra, f func(table, lines, out simd.Real)) {
	lines := simd.Real{V: t.lines[(t.first(segment)+t.rise)*t.width:], Stride: t.width}
	for k, plane := range [2][]float32{e.re, e.im} {
		f(simd.Real{V: t.band.into[k*t.nf*t.n:], Stride: t.n}, lines, simd.Real{V: plane[s*t.width:], Stride: t.ns * t.width})
	}
}

// into adds the spectra of the traces of a source.
func (t *turn) into(s, segment int, to *spectra) {
	t.planes(s, segment, to, func(table, lines, out simd.Real) {
		t.isa.Transform(out, table, lines, t.nf, t.n, t.width, 0)
	})
}

// back is the transpose of into.
func (t *turn) back(s, segment int, from *spectra) {
	t.planes(s, segment, from, func(table, lines, out simd.Real) {
		t.isa.Transform(lines, table, out, t.n, t.nf, t.width, simd.Transposed|simd.Add)
	})
}

// room is what the parts of a window share.
type room struct {
	*Operator
	*window
	parts   []*open
	waves   [2]map[int]simd.Complex // of clusters, [nf][place][q]; of receivers in the forward [nf][q][width]
	taken   [2]map[int][]float32    // of clusters, weights at the points of a patch, [point][q]
	scratch struct{ beams, lines []float32 }
}

// open is a part under way.
type open struct {
	part
	*block
	s, r  *skeleton
	q     int       // of both, a row of v
	v     []float32 // [rows][q], sums at the skeletons' points
	lines []float32 // [nf][2][q], their spectra, in the forward
}

func (o *Operator) open(i int, forward bool) *room {
	r := &room{Operator: o, window: o.windows[i]}
	for c := range r.waves {
		r.waves[c], r.taken[c] = map[int]simd.Complex{}, map[int][]float32{}
	}
	for _, p := range o.parts[i] {
		b := o.blocks[p.number]
		at := &open{part: p, block: b, s: o.at(sources, b, i), r: o.at(receivers, b, i)}
		at.q = at.s.rank * at.r.q
		r.parts = append(r.parts, at)
		for c, s := range [2]*skeleton{at.s, at.r} {
			if _, ok := r.waves[c][b.of[c]]; !ok {
				r.waves[c][b.of[c]] = o.wavesOf(s, forward && role(c) == receivers, b.width)
				r.taken[c][b.of[c]] = make([]float32, patch*patch*patch*s.q)
			}
		}
	}
	return r
}

// batchFloats is about the number of sums that the parts of a batch may have together.
const batchFloats = 8 << 20

// batches cuts the parts of a window into some whose sums are held at once, and gives them memory.
func (r *room) batches() (out [][]*open) {
	free := 0
	for _, p := range r.parts {
		n := p.rows * p.q
		if n > free || len(out) == 0 {
			out, free = append(out, nil), max(n, batchFloats)
		}
		free -= n
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}

// take makes the weights of the clusters of a batch at the points of a patch.
func (r *room) take(p *patchOf, batch []*open) {
	seen := map[*skeleton]bool{}
	for _, at := range batch {
		for c, s := range [2]*skeleton{at.s, at.r} {
			if !seen[s] {
				seen[s] = true
				r.isa.Expand(r.taken[c][at.of[c]], s.weights, p.lagr[0], p.lagr[1], p.lagr[2], p.n, r.nodesAlong(), s.q, nil)
			}
		}
	}
}

// wavesOf are exp(iωδ) at a skeleton's points, [nf][place][q], or transposed and conjugated,
// [nf][q][width].
func (o *Operator) wavesOf(s *skeleton, transposed bool, width int) simd.Complex {
	delay, n, m := s.delay, len(s.delay)/s.q, simd.Complex{Stride: s.q}
	if transposed {
		delay, m.Stride = make([]float32, s.q*width), width
		for r := range n {
			for j := range s.q {
				delay[j*width+r] = -s.delay[r*s.q+j]
			}
		}
	}
	m.Step = len(delay)
	m.Re, m.Im = make([]float32, o.band.nf*m.Step), make([]float32, o.band.nf*m.Step)
	o.isa.Phases(m.Re, m.Im, delay, 0, o.band.df, o.band.nf)
	return m
}

// linesOf is the sums of a part as matrices, [q][q] of each frequency.
func linesOf(sums []float32, q, stride int) simd.Complex {
	return simd.Complex{Re: sums, Im: sums[q:], Stride: stride, Step: 2 * q}
}

// data is the spectra of a block as matrices, [source][width] of each frequency.
func (e *spectra) data(ns, width int) simd.Complex {
	return simd.Complex{Re: e.re, Im: e.im, Stride: width, Step: ns * width}
}

// beam makes the sums of a part of the spectra of its traces.
func (r *room) beam(p *open, e *spectra) {
	ns, nr, nf := r.sources(p.block), r.receivers(p.block), r.band.nf
	beams, lines := r.beams(p), r.lines(p)
	r.isa.Multiply(beams, e.data(ns, p.width), r.waves[receivers][p.of[receivers]], nf, ns, nr, p.r.q, 0)
	r.isa.Multiply(linesOf(lines, p.q, p.r.q), r.waves[sources][p.of[sources]], beams, nf, p.s.rank, ns, p.r.q, simd.Transposed)
	p.v = make([]float32, p.rows*p.q)
	r.isa.Transform(simd.Real{V: p.v, Stride: p.q}, r.inverse(p), simd.Real{V: lines, Stride: p.q}, p.rows, 2*nf, p.q, simd.Transposed)
}

// beams is room for those of a part, [nf][source][q].
func (r *room) beams(p *open) simd.Complex {
	ns := r.sources(p.block)
	n := r.band.nf * ns * p.r.q
	if len(r.scratch.beams) < 2*n {
		r.scratch.beams = make([]float32, 2*n)
	}
	return simd.Complex{Re: r.scratch.beams[:n], Im: r.scratch.beams[n : 2*n], Stride: p.r.q, Step: ns * p.r.q}
}

// lines is room for the spectra of a part's sums.
func (r *room) lines(p *open) []float32 {
	n := 2 * r.band.nf * p.q
	if len(r.scratch.lines) < n {
		r.scratch.lines = make([]float32, n)
	}
	return r.scratch.lines[:n]
}

// inverse is the table that makes the sums of a part of their spectra, transposed.
func (r *room) inverse(p *open) simd.Real {
	return simd.Real{V: r.band.table[p.part.first:], Stride: r.band.cols}
}

// image adds the parts of a batch to the image, patch by patch.
func (r *room) image(batch []*open, to *landing) error {
	sum := make([]float32, patch*patch*patch)
	for i := range r.patches {
		at := &r.patches[i]
		r.take(at, batch)
		for n, p := range batch {
			sum := sum[:at.len()]
			r.isa.Interpolate(sum, p.v, r.last(p, at))
			if to.round != 0 || n+1 == len(batch) || batch[n+1].of[sources] != p.of[sources] {
				if err := to.add(p.number, r.slots[at.first:][:len(sum)], sum); err != nil {
					return err
				}
				clear(sum)
			}
		}
	}
	return nil
}

// gather is the transpose of image, followed by that of the inverse transform.
func (r *room) gather(batch []*open, image []float32) {
	points := make([]float32, patch*patch*patch)
	for _, p := range batch {
		p.v = make([]float32, p.rows*p.q)
	}
	for i := range r.patches {
		at := &r.patches[i]
		points := points[:at.len()]
		for k, slot := range r.slots[at.first:][:len(points)] {
			points[k] = image[slot]
		}
		r.take(at, batch)
		for _, p := range batch {
			r.isa.Spread(p.v, points, r.last(p, at))
		}
	}
	for _, p := range batch {
		p.lines = make([]float32, 2*r.band.nf*p.q)
		r.isa.Transform(simd.Real{V: p.lines, Stride: p.q}, r.inverse(p), simd.Real{V: p.v, Stride: p.q}, 2*r.band.nf, p.rows, p.q, 0)
		p.v = nil
	}
}

// spread adds the sums of a part to the spectra of its traces. Several may be under way in a room.
func (r *room) spread(p *open, e *spectra) {
	ns, nf := r.sources(p.block), r.band.nf
	n := nf * ns * p.r.q
	beams := simd.Complex{Re: make([]float32, n), Im: make([]float32, n), Stride: p.r.q, Step: ns * p.r.q}
	r.isa.Multiply(beams, r.waves[sources][p.of[sources]], linesOf(p.lines, p.q, p.r.q), nf, ns, p.s.rank, p.r.q, simd.Conjugate)
	r.isa.Multiply(e.data(ns, p.width), beams, r.waves[receivers][p.of[receivers]], nf, ns, p.r.q, p.width, simd.Add)
}

// last says how a part goes between sums and the points of a patch.
func (r *room) last(p *open, at *patchOf) *simd.Stage {
	b, n := r.band, at.len()
	return &simd.Stage{TS: p.s.centre[at.first:][:n], TR: p.r.centre[at.first:][:n], LS: r.taken[sources][p.of[sources]], LR: r.taken[receivers][p.of[receivers]],
		QS: p.s.rank, QR: p.r.q, StrideS: p.s.q, T0: float32(r.problem.T0 + float64(b.first(p.segment))*b.dt + float64(p.part.first)*b.inner),
		DT: b.inner, NT: p.rows, Stride: p.q, Taps: b.taps}
}
