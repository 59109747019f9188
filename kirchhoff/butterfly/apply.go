package butterfly

import (
	"context"

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
			at := segmentOf{p.block, p.segment}
			if out[at] == nil {
				b := o.blocks[p.block]
				n := o.band.nf * o.sources(b) * b.width
				out[at] = &spectra{make([]float32, n), make([]float32, n)}
			}
		}
	}
	return out
}

func (o *Operator) sources(b *block) int   { return len(o.groups[sources][b.of[sources]].places) }
func (o *Operator) receivers(b *block) int { return len(o.groups[receivers][b.of[receivers]].places) }

// segments lists those of each block.
func segments(of map[segmentOf]*spectra, blocks int) [][]int {
	out := make([][]int, blocks)
	for at := range of {
		out[at.block] = append(out[at.block], at.segment)
	}
	return out
}

// Adjoint adds to sums what o takes over of the adjoint of the correlated traces e, [trace][nt]. A sum
// is that of the traces of one cluster of sources over a window; add adds it, by points of the slab.
func (o *Operator) Adjoint(ctx context.Context, e func(trace int) []float32, add func(points []int32, sum []float32)) error {
	all := o.stage()
	segs := segments(all, len(o.blocks))
	err := o.parallel(ctx, len(o.blocks), func(_, n int) error {
		t := o.newTurn(n)
		for s := range o.sources(o.blocks[n]) {
			for _, segment := range segs[n] {
				if t.load(s, segment, e) {
					t.into(s, all[segmentOf{n, segment}])
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return o.parallel(ctx, len(o.windows), func(_, i int) error {
		r := o.open(i, false)
		sum := make([]float32, o.windows[i].len())
		for n, p := range o.parts[i] {
			r.adjoint(sum, p, all[segmentOf{p.block, p.segment}])
			if n+1 == len(o.parts[i]) || o.blocks[o.parts[i][n+1].block].of[sources] != o.blocks[p.block].of[sources] {
				add(o.windows[i].points, sum)
				clear(sum)
			}
		}
		return nil
	})
}

// Forward adds to the traces u, [trace][nt], not yet convolved, what o takes over of those of the image.
func (o *Operator) Forward(ctx context.Context, u func(trace int) []float32, image func(points []int32, to []float32)) error {
	all := o.stage()
	for first := 0; first < len(o.windows); first += o.threads {
		rooms := make([]*room, min(o.threads, len(o.windows)-first))
		err := o.parallel(ctx, len(rooms), func(_, i int) error {
			r := o.open(first+i, true)
			rooms[i] = r
			points := make([]float32, o.windows[r.window].len())
			image(o.windows[r.window].points, points)
			for n := range o.parts[r.window] {
				r.forward(points, n)
			}
			return nil
		})
		if err != nil {
			return err
		}
		err = o.parallel(ctx, len(o.blocks), func(_, n int) error {
			for _, r := range rooms {
				for k, p := range o.parts[r.window] {
					if p.block == n {
						r.spread(k, all[segmentOf{n, p.segment}])
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
	return o.parallel(ctx, len(o.blocks), func(_, n int) error {
		t := o.newTurn(n)
		for s := range o.sources(o.blocks[n]) {
			for _, segment := range segs[n] {
				t.back(s, all[segmentOf{n, segment}])
				t.unload(s, segment, u)
			}
		}
		return nil
	})
}

// turn takes segments of a block's traces to their spectra and back, the traces of one source at a time.
type turn struct {
	*band
	*block
	isa   simd.ISA
	nt    int
	ns    int
	by    [][]int   // traces of each source, by their number in the block
	lines []float32 // [sample][width]
}

func (o *Operator) newTurn(n int) *turn {
	b := o.blocks[n]
	t := &turn{band: o.band, block: b, isa: o.isa, nt: o.problem.NT, ns: o.sources(b), by: make([][]int, o.sources(b))}
	t.lines = make([]float32, t.n*b.width)
	for i, slot := range b.slots {
		s := int(slot) / b.width
		t.by[s] = append(t.by[s], i)
	}
	return t
}

// load takes the traces of a source. It reports whether there are any.
func (t *turn) load(s, segment int, e func(trace int) []float32) bool {
	clear(t.lines)
	first := t.first(segment)
	for _, i := range t.by[s] {
		row, r := e(int(t.traces[i])), int(t.slots[i])%t.width
		for k := max(0, -first); k < min(t.n, t.nt-first); k++ {
			t.lines[k*t.width+r] += row[first+k]
		}
	}
	return len(t.by[s]) > 0
}

// into adds their spectra.
func (t *turn) into(s int, to *spectra) {
	at, ld := s*t.width, t.ns*t.width
	lines := simd.Real{V: t.lines, Stride: t.width}
	t.isa.Transform(simd.Real{V: to.re[at:], Stride: ld}, simd.Real{V: t.band.into, Stride: t.n}, lines, t.nf, t.n, t.width, simd.Add)
	t.isa.Transform(simd.Real{V: to.im[at:], Stride: ld}, simd.Real{V: t.band.into[t.nf*t.n:], Stride: t.n}, lines, t.nf, t.n, t.width, simd.Add)
}

// back is the transpose of into.
func (t *turn) back(s int, from *spectra) {
	at, ld := s*t.width, t.ns*t.width
	lines := simd.Real{V: t.lines, Stride: t.width}
	t.isa.Transform(lines, simd.Real{V: t.band.into, Stride: t.n}, simd.Real{V: from.re[at:], Stride: ld}, t.n, t.nf, t.width, simd.Transposed)
	t.isa.Transform(lines, simd.Real{V: t.band.into[t.nf*t.n:], Stride: t.n}, simd.Real{V: from.im[at:], Stride: ld}, t.n, t.nf, t.width, simd.Transposed|simd.Add)
}

// unload is the transpose of load.
func (t *turn) unload(s, segment int, u func(trace int) []float32) {
	first := t.first(segment)
	for _, i := range t.by[s] {
		row, r := u(int(t.traces[i])), int(t.slots[i])%t.width
		for k := max(0, -first); k < min(t.n, t.nt-first); k++ {
			row[first+k] += t.lines[k*t.width+r]
		}
	}
}

// room is what the parts of a window share.
type room struct {
	*Operator
	window  int
	weights [2]map[int][]float32    // of clusters, [point][q]
	waves   [2]map[int]simd.Complex // of clusters, [nf][place][q]; of receivers in the forward [nf][q][width]
	sums    [][]float32             // [nf][2][q][q], of all parts in the forward
	rows    []float32               // [rows][q][q]
	beams   simd.Complex            // [nf][source][q]
}

func (o *Operator) open(i int, forward bool) *room {
	r := &room{Operator: o, window: i}
	w, most, rows, beams := o.windows[i], 0, 0, 0
	for c := range r.weights {
		r.weights[c], r.waves[c] = map[int][]float32{}, map[int]simd.Complex{}
	}
	for _, p := range o.parts[i] {
		b := o.blocks[p.block]
		for c, cluster := range b.of {
			s := o.have[c][cluster][i]
			if r.weights[c][cluster] == nil {
				l := make([]float32, w.len()*s.q)
				o.isa.Expand(l, s.weights, w.lagr[0], w.lagr[1], w.lagr[2], w.n, w.nodesAlong(), s.q, w.order)
				r.weights[c][cluster], r.waves[c][cluster] = l, o.wavesOf(s, forward && role(c) == receivers, b.width)
			}
		}
		_, s, c := r.pair(p)
		most, rows, beams = max(most, s.rank*c.q), max(rows, p.rows), max(beams, o.sources(b)*c.q)
	}
	r.rows, r.sums = make([]float32, rows*most), make([][]float32, 1)
	if forward {
		r.sums = make([][]float32, len(o.parts[i]))
	}
	for k := range r.sums {
		r.sums[k] = make([]float32, 2*o.band.nf*most)
	}
	r.beams = simd.Complex{Re: make([]float32, o.band.nf*beams), Im: make([]float32, o.band.nf*beams)}
	return r
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

// pair returns the skeletons of a part.
func (r *room) pair(p part) (b *block, s, c *skeleton) {
	b = r.blocks[p.block]
	return b, r.have[sources][b.of[sources]][r.window], r.have[receivers][b.of[receivers]][r.window]
}

// adjoint adds a part of the spectra of a block to the image of the window.
func (r *room) adjoint(image []float32, p part, e *spectra) {
	b, s, c := r.pair(p)
	ns, nr, q, sums, nf := r.sources(b), r.receivers(b), s.rank*c.q, r.sums[0], r.band.nf
	beams := r.beams
	beams.Stride, beams.Step = c.q, ns*c.q
	r.isa.Multiply(beams, e.data(ns, b.width), r.waves[receivers][b.of[receivers]], nf, ns, nr, c.q, 0)
	r.isa.Multiply(linesOf(sums, q, c.q), r.waves[sources][b.of[sources]], beams, nf, s.rank, ns, c.q, simd.Transposed)
	r.isa.Transform(simd.Real{V: r.rows, Stride: q}, simd.Real{V: r.band.table[p.first:], Stride: r.band.cols}, simd.Real{V: sums, Stride: q}, p.rows, 2*nf, q, simd.Transposed)
	r.isa.Interpolate(image, r.rows, r.last(p, s, c))
}

// forward takes an image to the sums of a part.
func (r *room) forward(image []float32, n int) {
	p := r.parts[r.window][n]
	_, s, c := r.pair(p)
	q := s.rank * c.q
	clear(r.rows[:p.rows*q])
	r.isa.Spread(r.rows, image, r.last(p, s, c))
	r.isa.Transform(simd.Real{V: r.sums[n], Stride: q}, simd.Real{V: r.band.table[p.first:], Stride: r.band.cols}, simd.Real{V: r.rows, Stride: q}, 2*r.band.nf, p.rows, q, 0)
}

// spread adds the sums of a part to spectra.
func (r *room) spread(n int, e *spectra) {
	b, s, c := r.pair(r.parts[r.window][n])
	ns, q, nf := r.sources(b), s.rank*c.q, r.band.nf
	beams := simd.Complex{Re: make([]float32, nf*ns*c.q), Im: make([]float32, nf*ns*c.q), Stride: c.q, Step: ns * c.q}
	r.isa.Multiply(beams, r.waves[sources][b.of[sources]], linesOf(r.sums[n], q, c.q), nf, ns, s.rank, c.q, simd.Conjugate)
	r.isa.Multiply(e.data(ns, b.width), beams, r.waves[receivers][b.of[receivers]], nf, ns, c.q, b.width, simd.Add)
}

// last says how a part goes between sums and the image.
func (r *room) last(p part, s, c *skeleton) *simd.Stage {
	b, of := r.band, r.blocks[p.block].of
	return &simd.Stage{TS: s.centre, TR: c.centre, LS: r.weights[sources][of[sources]], LR: r.weights[receivers][of[receivers]],
		QS: s.rank, QR: c.q, StrideS: s.q, T0: float32(r.problem.T0 + float64(b.first(p.segment))*b.dt + float64(p.first)*b.inner),
		DT: b.inner, NT: p.rows, Stride: s.rank * c.q, Taps: b.taps}
}
