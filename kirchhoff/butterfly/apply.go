package butterfly

import (
	"context"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/workers"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// spectra are those of a block's traces in a segment, [nf][source][width].
type spectra struct {
	re, im []float32
	stale  bool // of an earlier application
}

type segmentOf struct{ block, segment int }

func (o *Operator) rows(b *block) int    { return len(o.groups[b.of[rows]].places) }
func (o *Operator) columns(b *block) int { return len(o.groups[b.of[columns]].places) }

// Adjoint adds to sums, [tile][64], what o takes over of the adjoint. It implements
// kirchhoff.Elsewhere. The sums of the blocks that share rows over a window are added in a
// fixed order, with a quantum exactly.
func (o *Operator) Adjoint(ctx context.Context, sums []float64, quantum float64, load func(worker, trace int, to []float32)) error {
	mem := o.memory
	if err := mem.take(o); err != nil {
		return err
	}
	defer mem.Unlock()
	to := o.newLanding(sums, quantum)
	err := workers.Each(ctx, o.threads, len(o.blocks), func(worker, n int) error {
		if len(mem.segments[n]) == 0 {
			return nil
		}
		t := o.newTurn(n, &mem.threads[worker])
		for s := range o.rows(t.block) {
			t.load(s, func(trace int, row []float32) {
				load(worker, trace, row)
				to.expect(n, o.isa, row)
			})
			for _, segment := range mem.segments[n] {
				t.into(s, segment, mem.spectra[segmentOf{n, segment}])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return workers.Each(ctx, o.threads, len(o.windows), func(worker, i int) error {
		r := o.open(i, false, &mem.threads[worker])
		for _, batch := range r.batches() {
			r.hold(batch)
			for _, p := range batch {
				if err := ctx.Err(); err != nil {
					return err
				}
				r.beam(p, mem.spectra[segmentOf{p.number, p.segment}])
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
	mem := o.memory
	if err := mem.take(o); err != nil {
		return err
	}
	defer mem.Unlock()
	for _, e := range mem.spectra {
		e.stale = true
	}
	for first := 0; first < len(o.windows); first += o.threads {
		rooms := make([]*room, min(o.threads, len(o.windows)-first))
		err := workers.Each(ctx, o.threads, len(rooms), func(_, i int) error {
			rooms[i] = o.open(first+i, true, &mem.threads[i])
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
		err = workers.Each(ctx, o.threads, len(o.blocks), func(worker, n int) error {
			for _, r := range rooms {
				for _, p := range r.parts {
					if p.number == n {
						r.spread(p, mem.spectra[segmentOf{n, p.segment}], &mem.threads[worker])
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return workers.Each(ctx, o.threads, len(o.blocks), func(worker, n int) error {
		if len(mem.segments[n]) == 0 {
			return nil
		}
		t := o.newTurn(n, &mem.threads[worker])
		for s := range o.rows(t.block) {
			clear(t.lines)
			for _, segment := range mem.segments[n] {
				t.back(s, segment, mem.spectra[segmentOf{n, segment}])
			}
			t.unload(s, func(trace int, u []float32) { add(worker, trace, u) })
		}
		return nil
	})
}

// room is what the parts of a window share.
type room struct {
	*Operator
	*window
	index int // of the window
	parts []*open
	waves [2]map[int]simd.Complex // of clusters, [nf][place][q]; of columns in the forward [nf][q][width]
	taken [2]map[int][]float32    // of clusters, weights at the points of a patch, [point][q]
	*scratch
}

// open is a part under way.
type open struct {
	part
	*block
	s, r  *skeleton
	q     int       // of both, a row of v
	v     []float32 // [rows][q], sums at the skeletons' points
	lines []float32 // [nf][2][q], their spectra
}

// roomOf is that of window i, without memory.
func roomOf(o *Operator, i int) *room {
	r := &room{Operator: o, window: o.windows[i], index: i}
	for _, p := range o.parts[i] {
		b := o.blocks[p.number]
		at := &open{part: p, block: b}
		at.s, at.r = p.sides(o, i)
		at.q = at.s.rank * at.r.q
		r.parts = append(r.parts, at)
	}
	return r
}

// open is a room with the memory of a thread.
func (o *Operator) open(i int, forward bool, with *scratch) *room {
	r, cut := roomOf(o, i), cutter(with.room)
	r.scratch = with
	for c := range r.waves {
		r.waves[c], r.taken[c] = map[int]simd.Complex{}, map[int][]float32{}
	}
	for _, p := range r.parts {
		for c, s := range [2]*skeleton{p.s, p.r} {
			if _, ok := r.waves[c][p.of[c]]; !ok && s != p.own {
				r.waves[c][p.of[c]] = o.wavesOf(s, forward && dim(c) == columns, p.width, cut)
				r.taken[c][p.of[c]] = cut(weightsOf(s))
			}
		}
	}
	for _, p := range r.parts {
		p.lines = cut(2 * o.band.nf * p.q)
	}
	return r
}

// batchFloats is about the number of sums that the parts of a batch may have together.
const batchFloats = 8 << 20

// batches cuts the parts of a window into some whose sums are held at once.
func (r *room) batches() (out [][]*open) {
	free := 0
	for i, p := range r.parts {
		n := p.rows * p.q
		if i == 0 || n > free {
			out, free = append(out, nil), max(n, batchFloats)
		}
		free -= n
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}

// hold gives the parts of a batch memory for their sums.
func (r *room) hold(batch []*open) {
	free := r.sums
	for _, p := range batch {
		n := p.rows * p.q
		p.v, free = free[:n:n], free[n:]
	}
}

// take makes the weights of the clusters of a batch at the points of a patch.
func (r *room) take(p *patchOf, batch []*open) {
	seen := map[*skeleton]bool{}
	for _, at := range batch {
		for c, s := range [2]*skeleton{at.s, at.r} {
			if !seen[s] && !s.lone() && s != at.own {
				seen[s] = true
				s.mesh.expand(r.isa, r.taken[c][at.of[c]], s.weights, p, s.q)
			}
		}
	}
}

// wavesOf are exp(iωδ) at a skeleton's points, [nf][place][q], or transposed and conjugated,
// [nf][q][width].
func (o *Operator) wavesOf(s *skeleton, transposed bool, width int, cut func(n int) []float32) simd.Complex {
	delay, stride := s.delays(transposed, width, cut)
	m := simd.Complex{Stride: stride, Step: len(delay)}
	m.Re, m.Im = cut(o.band.nf*m.Step), cut(o.band.nf*m.Step)
	o.isa.Phases(m.Re, m.Im, delay, 0, o.band.df, o.band.nf)
	return m
}

// delays are those of places at a skeleton's points, [place][q], or transposed and negative, [q][width].
func (s *skeleton) delays(transposed bool, width int, cut func(n int) []float32) (delay []float32, stride int) {
	if !transposed {
		return s.delay, s.q
	}
	delay = cut(s.q * width)
	clear(delay)
	for r := range len(s.delay) / s.q {
		for j := range s.q {
			delay[j*width+r] = -s.delay[r*s.q+j]
		}
	}
	return delay, width
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
	ns, nr, nf := r.rows(p.block), r.columns(p.block), r.band.nf
	beams, lines := r.beamsOf(p, r.scratch), p.lines
	if p.weighed {
		r.weighedBeams(beams, e.data(ns, p.width), p, r.scratch)
	} else {
		r.isa.Multiply(beams, e.data(ns, p.width), r.waves[columns][p.of[columns]], nf, ns, nr, p.r.q, 0)
	}
	r.isa.Multiply(linesOf(lines, p.q, p.r.q), r.waves[rows][p.of[rows]], beams, nf, p.s.rank, ns, p.r.q, simd.Transposed)
	r.isa.Transform(simd.Real{V: p.v, Stride: p.q}, r.inverse(p), simd.Real{V: lines, Stride: p.q}, p.rows, 2*nf, p.q, simd.Transposed)
}

// beamsOf is room for those of a part, [nf][row][q].
func (r *room) beamsOf(p *open, with *scratch) simd.Complex {
	ns := r.rows(p.block)
	n := r.band.nf * ns * p.r.q
	both := with.beams[:2*n]
	return simd.Complex{Re: both[:n], Im: both[n:], Stride: p.r.q, Step: ns * p.r.q}
}

// inverse is the table that makes the sums of a part of their spectra, transposed.
func (r *room) inverse(p *open) simd.Real {
	return simd.Real{V: r.band.tables[p.part.band][p.part.first:], Stride: r.band.cols}
}

// image adds the parts of a batch to the image, patch by patch.
func (r *room) image(batch []*open, to *landing) error {
	sum := r.values
	clear(sum)
	for i := range r.patches {
		at := &r.patches[i]
		r.take(at, batch)
		for n, p := range batch {
			sum := sum[:at.len()]
			r.isa.Interpolate(sum, p.v, r.last(p, at))
			if n+1 == len(batch) || to.parted(p, batch[n+1]) {
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
	points := r.values
	r.hold(batch)
	for _, p := range batch {
		clear(p.v)
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
		r.isa.Transform(simd.Real{V: p.lines, Stride: p.q}, r.inverse(p), simd.Real{V: p.v, Stride: p.q}, 2*r.band.nf, p.rows, p.q, 0)
		p.v = nil
	}
}

// spread adds the sums of a part to the spectra of its traces. Several may be under way in a room, each
// with its own scratch.
func (r *room) spread(p *open, e *spectra, with *scratch) {
	if e.stale {
		clear(e.re)
		clear(e.im)
		e.stale = false
	}
	ns, nf := r.rows(p.block), r.band.nf
	beams := r.beamsOf(p, with)
	r.isa.Multiply(beams, r.waves[rows][p.of[rows]], linesOf(p.lines, p.q, p.r.q), nf, ns, p.s.rank, p.r.q, simd.Conjugate)
	if p.weighed {
		r.weighedTraces(e.data(ns, p.width), beams, p, with)
		return
	}
	r.isa.Multiply(e.data(ns, p.width), beams, r.waves[columns][p.of[columns]], nf, ns, p.r.q, p.width, simd.Add)
}

// last says how a part goes between sums and the points of a patch.
func (r *room) last(p *open, at *patchOf) *simd.Stage {
	b, n := r.band, at.len()
	ls, stride := r.taken[rows][p.of[rows]], p.s.q
	if p.s.lone() {
		ls, stride = ones[:n], 1
	}
	lr := r.taken[columns][p.of[columns]]
	if p.own != nil {
		lr = r.scratch.weights[:patchLen*p.r.q]
		p.r.mesh.expand(r.isa, lr, p.r.weights, at, p.r.q)
	}
	return &simd.Stage{TS: p.s.centre[at.first:][:n], TR: p.r.centre[at.first:][:n], LS: ls, LR: lr,
		QS: p.s.rank, QR: p.r.q, StrideS: stride, T0: float32(r.problem.T0 + float64(b.first(p.segment))*b.dt + float64(p.part.first)*b.inner),
		DT: b.inner, NT: p.rows, Stride: p.q, Taps: b.taps}
}

// ones are the weights of a lone place.
var ones = slices.Repeat([]float32{1}, patchLen)
