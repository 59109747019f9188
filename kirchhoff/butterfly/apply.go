package butterfly

import (
	"context"
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
	nt    int
	ns    int
	by    [][]int   // traces of each source, by their number in the block
	lines []float32 // [sample][width]
}

func (o *Operator) newTurn(n int) *turn {
	b := o.blocks[n]
	t := &turn{band: o.band, block: b, nt: o.problem.NT, ns: o.sources(b), by: make([][]int, o.sources(b))}
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
	transform(to.re[at:], t.band.into, t.lines, t.nf, t.n, t.width, ld, t.n, t.width, true)
	transform(to.im[at:], t.band.into[t.nf*t.n:], t.lines, t.nf, t.n, t.width, ld, t.n, t.width, true)
}

// back is the transpose of into.
func (t *turn) back(s int, from *spectra) {
	clear(t.lines)
	at, ld := s*t.width, t.ns*t.width
	transform(t.lines, t.band.into, from.re[at:], t.n, t.nf, t.width, t.width, t.n, ld, false)
	transform(t.lines, t.band.into[t.nf*t.n:], from.im[at:], t.n, t.nf, t.width, t.width, t.n, ld, false)
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
	weights [2]map[int][]float32 // of clusters, [point][q]
	waves   [2]map[int]matrix    // of clusters, [nf][place][q]; of receivers in the forward [nf][q][width]
	sums    [][]float32          // [2 nf][q][q], of all parts in the forward
	rows    []float32            // [rows][q][q]
	beams   matrix               // [source][q]
}

func (o *Operator) open(i int, forward bool) *room {
	r := &room{Operator: o, window: i}
	w, most, rows, ns := o.windows[i], 0, 0, 0
	for c := range r.weights {
		r.weights[c], r.waves[c] = map[int][]float32{}, map[int]matrix{}
	}
	for _, p := range o.parts[i] {
		b := o.blocks[p.block]
		for c, cluster := range b.of {
			s := o.have[c][cluster][i]
			if r.weights[c][cluster] == nil {
				r.weights[c][cluster] = make([]float32, w.len()*s.q)
				expand(r.weights[c][cluster], s, w)
				r.waves[c][cluster] = o.wavesOf(s, forward && role(c) == receivers, b.width)
			}
		}
		q := o.have[0][b.of[0]][i].q * o.have[1][b.of[1]][i].q
		most, rows, ns = max(most, q), max(rows, p.rows), max(ns, o.sources(b))
	}
	r.rows, r.sums = make([]float32, (rows+4)*most), make([][]float32, 1)
	if forward {
		r.sums = make([][]float32, len(o.parts[i]))
	}
	for k := range r.sums {
		r.sums[k] = make([]float32, 2*o.band.nf*most)
	}
	r.beams = matrix{re: make([]float32, ns*mostRank), im: make([]float32, ns*mostRank)}
	return r
}

// wavesOf are exp(iωδ) at a skeleton's points, [nf][place][q], or transposed and conjugated,
// [nf][q][width].
func (o *Operator) wavesOf(s *skeleton, transposed bool, width int) matrix {
	delay, n := s.delay, len(s.delay)/s.q
	m := matrix{stride: s.q}
	if transposed {
		delay, m.stride = make([]float64, s.q*width), width
		for r := range n {
			for j := range s.q {
				delay[j*width+r] = -s.delay[r*s.q+j]
			}
		}
	}
	m.re, m.im = make([]float32, o.band.nf*len(delay)), make([]float32, o.band.nf*len(delay))
	phases(m.re, m.im, delay, o.band.df, o.band.nf)
	return m
}

// at is the matrix of a frequency, of n rows.
func (m matrix) at(f, n int) matrix {
	return matrix{m.re[f*n*m.stride:], m.im[f*n*m.stride:], m.stride}
}

// line is the sums of a frequency as a matrix.
func line(sums []float32, f, q, stride int) matrix {
	return matrix{sums[2*f*q:][:q], sums[(2*f+1)*q:][:q], stride}
}

// pair returns the skeletons of a part.
func (r *room) pair(p part) (b *block, s, c *skeleton) {
	b = r.blocks[p.block]
	return b, r.have[sources][b.of[sources]][r.window], r.have[receivers][b.of[receivers]][r.window]
}

func (r *room) adjoint(image []float32, p part, e *spectra) {
	b, s, c := r.pair(p)
	ns, nr, q, sums := r.sources(b), r.receivers(b), s.q*c.q, r.sums[0]
	ws, wr := r.waves[sources][b.of[sources]], r.waves[receivers][b.of[receivers]]
	clear(sums)
	data := matrix{e.re, e.im, b.width}
	r.beams.stride = c.q
	for f := range r.band.nf {
		clear(r.beams.re)
		clear(r.beams.im)
		multiply(r.beams, data.at(f, ns), wr.at(f, nr), ns, nr, c.q, false, false)
		multiply(line(sums, f, q, c.q), ws.at(f, ns), r.beams, s.q, ns, c.q, true, false)
	}
	clear(r.rows)
	transform(r.rows, r.band.table[p.first:], sums, p.rows, 2*r.band.nf, q, q, r.band.cols, q, false)
	r.last(image, p, s, c, false)
}

// forward takes an image to the sums of a part.
func (r *room) forward(image []float32, n int) {
	p := r.parts[r.window][n]
	_, s, c := r.pair(p)
	q := s.q * c.q
	clear(r.rows)
	r.last(image, p, s, c, true)
	clear(r.sums[n])
	transform(r.sums[n], r.band.table[p.first:], r.rows, 2*r.band.nf, p.rows, q, q, r.band.cols, q, true)
}

// spread adds the sums of a part to spectra.
func (r *room) spread(n int, e *spectra) {
	b, s, c := r.pair(r.parts[r.window][n])
	ns, q, data := r.sources(b), s.q*c.q, matrix{e.re, e.im, b.width}
	ws, wr := r.waves[sources][b.of[sources]], r.waves[receivers][b.of[receivers]]
	beams := matrix{make([]float32, ns*c.q), make([]float32, ns*c.q), c.q}
	for f := range r.band.nf {
		clear(beams.re)
		clear(beams.im)
		multiply(beams, ws.at(f, ns), line(r.sums[n], f, q, c.q), ns, s.q, c.q, false, true)
		multiply(data.at(f, ns), beams, wr.at(f, c.q), ns, c.q, b.width, false, false)
	}
}

// last goes between sums and the image.
func (r *room) last(image []float32, p part, s, c *skeleton, transposed bool) {
	b, of := r.band, r.blocks[p.block].of
	t0 := r.problem.T0 + float64(b.first(p.segment))*b.dt + float64(p.first)*b.inner
	last(image, s.centre, c.centre, r.weights[0][of[0]], r.weights[1][of[1]], r.rows, s.q, c.q, t0, 1/b.inner, b.taps, transposed)
}
