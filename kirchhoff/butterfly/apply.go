package butterfly

import (
	"context"

	"gonum.org/v1/gonum/dsp/fourier"
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

// Adjoint adds the image of the traces to dst. e are the traces correlated with the wavelet.
func (o *Operator) Adjoint(ctx context.Context, dst, e []float32) error {
	all := o.stage()
	segs := segments(all, len(o.blocks))
	b, nt := o.band, o.problem.NT
	err := o.parallel(ctx, len(o.blocks), func(_, n int) error {
		fft, x := fourier.NewFFT(b.n), make([]float64, b.n)
		var coefficients []complex128
		at := o.blocks[n]
		for _, segment := range segs[n] {
			to, first := all[segmentOf{n, segment}], b.first(segment)
			for i, trace := range at.traces {
				row := e[int(trace)*nt:][:nt]
				clear(x)
				for k := max(0, -first); k < min(b.n, nt-first); k++ {
					x[k] = float64(row[first+k]) * b.taper(k)
				}
				coefficients = fft.Coefficients(coefficients, x)
				for f, c := range coefficients[:b.nf] {
					slot := f*o.sources(at)*at.width + int(at.slots[i])
					to.re[slot] += float32(real(c))
					to.im[slot] += float32(imag(c))
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
		image := make([]float32, o.windows[i].len())
		for _, p := range o.parts[i] {
			r.adjoint(image, p, all[segmentOf{p.block, p.segment}])
		}
		for k, point := range o.windows[i].points {
			dst[point] += image[k]
		}
		return nil
	})
}

// Forward adds the traces of the image src to u, which are then to be convolved with the wavelet.
func (o *Operator) Forward(ctx context.Context, u, src []float32) error {
	all := o.stage()
	segs := segments(all, len(o.blocks))
	b, nt := o.band, o.problem.NT
	for i := range o.windows {
		r := o.open(i, true)
		image := make([]float32, o.windows[i].len())
		for k, point := range o.windows[i].points {
			image[k] = src[point]
		}
		for _, p := range o.parts[i] {
			r.forward(image, p, all[segmentOf{p.block, p.segment}])
		}
	}
	return o.parallel(ctx, len(o.blocks), func(_, n int) error {
		fft, x := fourier.NewFFT(b.n), make([]float64, b.n)
		at, coefficients := o.blocks[n], make([]complex128, b.n/2+1)
		for _, segment := range segs[n] {
			from, first := all[segmentOf{n, segment}], b.first(segment)
			for i, trace := range at.traces {
				for f := range b.nf {
					slot := f*o.sources(at)*at.width + int(at.slots[i])
					coefficients[f] = complex(0.5*float64(from.re[slot]), 0.5*float64(from.im[slot]))
				}
				coefficients[0] = complex(2*real(coefficients[0]), 0)
				fft.Sequence(x, coefficients)
				row := u[int(trace)*nt:][:nt]
				for k := max(0, -first); k < min(b.n, nt-first); k++ {
					row[first+k] += float32(x[k] * b.taper(k))
				}
			}
		}
		return nil
	})
}

// room is what the parts of a window share.
type room struct {
	*Operator
	window  int
	weights [2]map[int][]float32 // of clusters, [point][q]
	waves   [2]map[int]matrix    // of clusters, [nf][place][q]; of receivers in the forward [nf][q][width]
	sums    []float32            // [2 nf][q][q]
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
	r.sums, r.rows = make([]float32, 2*o.band.nf*most), make([]float32, (rows+4)*most)
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

// line is a pair of rows of sums as a matrix.
func (r *room) line(f, q, stride int) matrix {
	return matrix{r.sums[2*f*q:][:q], r.sums[(2*f+1)*q:][:q], stride}
}

func (r *room) adjoint(image []float32, p part, e *spectra) {
	b := r.blocks[p.block]
	s, c := r.have[0][b.of[0]][r.window], r.have[1][b.of[1]][r.window]
	ns, nr, q := r.sources(b), r.receivers(b), s.q*c.q
	ws, wr := r.waves[0][b.of[0]], r.waves[1][b.of[1]]
	clear(r.sums)
	data := matrix{e.re, e.im, b.width}
	r.beams.stride = c.q
	for f := range r.band.nf {
		clear(r.beams.re)
		clear(r.beams.im)
		multiply(r.beams, data.at(f, ns), wr.at(f, nr), ns, nr, c.q, false, false)
		multiply(r.line(f, q, c.q), ws.at(f, ns), r.beams, s.q, ns, c.q, true, false)
	}
	clear(r.rows)
	transform(r.rows, r.band.table[p.first:], r.sums, p.rows, 2*r.band.nf, q, q, r.band.cols, q, false)
	r.last(image, p, s, c, false)
}

func (r *room) forward(image []float32, p part, e *spectra) {
	b := r.blocks[p.block]
	s, c := r.have[0][b.of[0]][r.window], r.have[1][b.of[1]][r.window]
	ns, q := r.sources(b), s.q*c.q
	ws, wr := r.waves[0][b.of[0]], r.waves[1][b.of[1]]
	clear(r.rows)
	r.last(image, p, s, c, true)
	clear(r.sums)
	transform(r.sums, r.band.table[p.first:], r.rows, 2*r.band.nf, p.rows, q, q, r.band.cols, q, true)
	data := matrix{e.re, e.im, b.width}
	r.beams.stride = c.q
	for f := range r.band.nf {
		clear(r.beams.re)
		clear(r.beams.im)
		multiply(r.beams, ws.at(f, ns), r.line(f, q, c.q), ns, s.q, c.q, false, true)
		multiply(data.at(f, ns), r.beams, wr.at(f, c.q), ns, c.q, b.width, false, false)
	}
}

// last goes between sums and the image.
func (r *room) last(image []float32, p part, s, c *skeleton, transposed bool) {
	b, of := r.band, r.blocks[p.block].of
	t0 := r.problem.T0 + float64(b.first(p.segment))*b.dt + float64(p.first)*b.inner
	last(image, s.centre, c.centre, r.weights[0][of[0]], r.weights[1][of[1]], r.rows, s.q, c.q, t0, 1/b.inner, b.taps, transposed)
}
