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
				n := o.band.nf * o.rows(b) * b.width
				out[at] = &spectra{make([]float32, n), make([]float32, n)}
			}
		}
	}
	return out
}

func (o *Operator) rows(b *block) int    { return len(o.groups[b.of[rows]].places) }
func (o *Operator) columns(b *block) int { return len(o.groups[b.of[columns]].places) }

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
// kirchhoff.Elsewhere. The sums of the blocks that share rows over a window are added in a
// fixed order, with a quantum exactly.
func (o *Operator) Adjoint(ctx context.Context, sums []float64, quantum float64, load func(worker, trace int, to []float32)) error {
	all, to := o.stage(), o.newLanding(sums, quantum)
	segs := segments(all, len(o.blocks))
	err := workers.Each(ctx, o.threads, len(o.blocks), func(worker, n int) error {
		if len(segs[n]) == 0 {
			return nil
		}
		t := o.newTurn(n)
		for s := range o.rows(t.block) {
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
	scratches := make([]scratch, o.threads)
	return workers.Each(ctx, o.threads, len(o.windows), func(worker, i int) error {
		r := o.open(i, false, &scratches[worker])
		for _, batch := range r.batches() {
			r.hold(batch)
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
	all, scratches := o.stage(), make([]scratch, o.threads)
	for first := 0; first < len(o.windows); first += o.threads {
		rooms := make([]*room, min(o.threads, len(o.windows)-first))
		err := workers.Each(ctx, o.threads, len(rooms), func(worker, i int) error {
			rooms[i] = o.open(first+i, true, &scratches[worker])
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
						r.spread(p, all[segmentOf{n, p.segment}], &scratches[worker])
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
		for s := range o.rows(t.block) {
			clear(t.lines)
			for _, segment := range segs[n] {
				t.back(s, segment, all[segmentOf{n, segment}])
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
	parts []*open
	waves [2]map[int]simd.Complex // of clusters, [nf][place][q]; of columns in the forward [nf][q][width]
	taken [2]map[int][]float32    // of clusters, weights at the points of a patch, [point][q]
	*scratch
}

// scratch is a worker's memory for parts, one after the other.
type scratch struct {
	beams, lines, sums []float32
	// Of a part with weights: those of its pairs of places, the same transposed, waves of its columns,
	// and the weights of its skeleton at the points of a patch.
	weights, turned []float32
	waves           spectra
	taken           []float32
}

// atLeast returns n elements of a slice that is made anew where it has fewer.
func atLeast(s *[]float32, n int) []float32 {
	if len(*s) < n {
		*s = make([]float32, n)
	}
	return (*s)[:n]
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

func (o *Operator) open(i int, forward bool, with *scratch) *room {
	r := &room{Operator: o, window: o.windows[i], scratch: with}
	for c := range r.waves {
		r.waves[c], r.taken[c] = map[int]simd.Complex{}, map[int][]float32{}
	}
	for _, p := range o.parts[i] {
		b := o.blocks[p.number]
		at := &open{part: p, block: b}
		at.s, at.r = p.sides(o, i)
		at.q = at.s.rank * at.r.q
		r.parts = append(r.parts, at)
		for c, s := range [2]*skeleton{at.s, at.r} {
			if _, ok := r.waves[c][b.of[c]]; !ok && s != p.own {
				r.waves[c][b.of[c]] = o.wavesOf(s, forward && dim(c) == columns, b.width)
				r.taken[c][b.of[c]] = make([]float32, patch*patch*patch*s.q)
			}
		}
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
	n := 0
	for _, p := range batch {
		n += p.rows * p.q
	}
	free := atLeast(&r.scratch.sums, n)
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
func (o *Operator) wavesOf(s *skeleton, transposed bool, width int) simd.Complex {
	delay, stride := s.delays(transposed, width)
	m := simd.Complex{Stride: stride, Step: len(delay)}
	m.Re, m.Im = make([]float32, o.band.nf*m.Step), make([]float32, o.band.nf*m.Step)
	o.isa.Phases(m.Re, m.Im, delay, 0, o.band.df, o.band.nf)
	return m
}

// delays are those of places at a skeleton's points, [place][q], or transposed and negative, [q][width].
func (s *skeleton) delays(transposed bool, width int) (delay []float32, stride int) {
	if !transposed {
		return s.delay, s.q
	}
	delay = make([]float32, s.q*width)
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
	beams, lines := r.beamsOf(p, r.scratch), atLeast(&r.scratch.lines, 2*nf*p.q)
	if p.own != nil {
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
	both := atLeast(&with.beams, 2*n)
	return simd.Complex{Re: both[:n], Im: both[n:], Stride: p.r.q, Step: ns * p.r.q}
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
	points := make([]float32, patch*patch*patch)
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
		p.lines = make([]float32, 2*r.band.nf*p.q)
		r.isa.Transform(simd.Real{V: p.lines, Stride: p.q}, r.inverse(p), simd.Real{V: p.v, Stride: p.q}, 2*r.band.nf, p.rows, p.q, 0)
		p.v = nil
	}
}

// spread adds the sums of a part to the spectra of its traces. Several may be under way in a room, each
// with its own scratch.
func (r *room) spread(p *open, e *spectra, with *scratch) {
	ns, nf := r.rows(p.block), r.band.nf
	beams := r.beamsOf(p, with)
	r.isa.Multiply(beams, r.waves[rows][p.of[rows]], linesOf(p.lines, p.q, p.r.q), nf, ns, p.s.rank, p.r.q, simd.Conjugate)
	if p.own != nil {
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
		lr = atLeast(&r.scratch.taken, patch*patch*patch*p.r.q)
		p.r.mesh.expand(r.isa, lr, p.r.weights, at, p.r.q)
	}
	return &simd.Stage{TS: p.s.centre[at.first:][:n], TR: p.r.centre[at.first:][:n], LS: ls, LR: lr,
		QS: p.s.rank, QR: p.r.q, StrideS: stride, T0: float32(r.problem.T0 + float64(b.first(p.segment))*b.dt + float64(p.part.first)*b.inner),
		DT: b.inner, NT: p.rows, Stride: p.q, Taps: b.taps}
}

// ones are the weights of a lone place.
var ones = slices.Repeat([]float32{1}, patch*patch*patch)
