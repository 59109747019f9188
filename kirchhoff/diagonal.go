package kirchhoff

import (
	"context"
	"errors"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Squarer is an engine that knows the squares of its operator's elements.
type Squarer interface {
	Engine
	// Squared is the operator whose elements are the squares of this one's. Its
	// adjoint takes w², the squared weights of all samples, [ntrace, nt], to the
	// diagonal of Aᵀ W² A, in one pass and without approximation: with the columns
	// c[k] = W C e[k] of the convolution over the record,
	//
	//	(AᵀW²A)_ii = Σ_traces a_i² ‖(1−w) c[k] + w c[k+1]‖²
	//	           = Σ_traces a_i² [(1−w)² E[k] + w² E[k+1] + 2 w (1−w) F[k]],
	//
	// E[k] = ‖c[k]‖², F[k] = ⟨c[k], c[k+1]⟩. Its forward is an error. With
	// anti-aliasing, where columns differ from band to band, its adjoint is one too. It is Pieced
	// where the engine is, and shares the engine's memory: of the two one application
	// may be under way at a time.
	Squared() dist.Kernel
}

var _, _, _ Squarer = (*Reference)(nil), (*CPU)(nil), (*Recompute)(nil)

var (
	errSquaredForward = errors.New("kirchhoff: the squared operator has an adjoint only")
	errSquaredBands   = errors.New("kirchhoff: the squared operator is not known with anti-aliasing (kirchhoff.antialias)")
)

// neighbours are the products h[j] h[j−1] of the wavelet's samples, by j.
func neighbours(h []float64) []float64 {
	g := make([]float64, len(h))
	for j := 1; j < len(h); j++ {
		g[j] = h[j] * h[j-1]
	}
	return g
}

// Squared implements Squarer.
func (r *Reference) Squared() dist.Kernel { return squaredReference{r} }

type squaredReference struct{ r *Reference }

func (q squaredReference) Forward(context.Context, device.Buf, device.Buf) error {
	return errSquaredForward
}

func (q squaredReference) Adjoint(ctx context.Context, dst, src device.Buf) error {
	r := q.r
	if r.bands != nil {
		return errSquaredBands
	}
	w2, image := r.slices("diagonal", src, dst)
	r.mu.Lock()
	defer r.mu.Unlock()
	nt, zero := r.p.NT, r.p.Wavelet.Zero
	h, g := r.h, neighbours(r.h)
	e, f := make([]float64, nt), make([]float64, nt)
	for trace := range r.p.NumTraces() {
		if err := ctx.Err(); err != nil {
			return err
		}
		w2 := w2[trace*nt : (trace+1)*nt]
		for k := range nt {
			e[k], f[k] = 0, 0
			for j := range h {
				if n := k + j - zero; n >= 0 && n < nt {
					e[k] += h[j] * h[j] * w2[n]
					f[k] += g[j] * w2[n]
				}
			}
		}
		for i := range image {
			if k, w, a := r.at(trace, r.first+i); k >= 0 {
				image[i] += a * a * ((1-w)*(1-w)*e[k] + w*w*e[k+1] + 2*w*(1-w)*f[k])
			}
		}
	}
	return nil
}

// squarer makes what the kernels need of each trace: correlations of w² with the
// squares of the wavelet and with the products of its neighbouring samples.
type squarer struct {
	*workspace
	norms, inner *filter
	ends         [][2]padded // by worker
	scale2       []float32   // scale²; nil for 1
}

func (w *workspace) squarer() *squarer {
	h := w.p.taps()
	h2 := make([]float64, len(h))
	for j, v := range h {
		h2[j] = v * v
	}
	s := &squarer{workspace: w}
	_, s.norms = newFilters(h2, w.p.Wavelet.Zero, w.p.NT)
	_, s.inner = newFilters(neighbours(h), w.p.Wavelet.Zero, w.p.NT)
	for range w.threads {
		s.ends = append(s.ends, [2]padded{s.norms.padded(w.p.NT), s.inner.padded(w.p.NT)})
	}
	if w.scale != nil {
		s.scale2 = make([]float32, len(w.scale))
		for i, v := range w.scale {
			s.scale2[i] = v * v
		}
	}
	return s
}

// row sets e and f, of nt samples, from the squared weights of a trace, and returns the
// range of samples over which they do not change.
func (s *squarer) row(worker int, e, f, w2 []float32) (flat [2]int32) {
	x, y := s.ends[worker][0], s.ends[worker][1]
	copy(x.trace, w2)
	copy(y.trace, w2)
	s.norms.apply(s.isa, e, x, false)
	s.inner.apply(s.isa, f, y, false)
	nt := len(w2)
	middle := nt / 2
	lo, hi := middle, middle
	for lo > 0 && e[lo-1] == e[middle] && f[lo-1] == f[middle] {
		lo--
	}
	for hi < nt-1 && e[hi+1] == e[middle] && f[hi+1] == f[middle] {
		hi++
	}
	return [2]int32{int32(lo), int32(hi) - 1} // point k needs sample k + 1
}

// alike reports whether all traces have the same squared weights.
func (s *squarer) alike(w2 []float32) bool {
	nt := s.p.NT
	for i := nt; i < len(w2); i += nt {
		if !slices.Equal(w2[i:i+nt], w2[:nt]) {
			return false
		}
	}
	return true
}

// largest is the largest squared norm of each trace.
func (s *squarer) largest(ctx context.Context, w2 []float32) ([]float64, error) {
	nt := s.p.NT
	out := make([]float64, s.p.NumTraces())
	one := func(worker, trace int) error {
		e, f := make([]float32, nt), make([]float32, nt)
		at := s.dataRow(trace)
		s.row(worker, e, f, w2[at*nt:(at+1)*nt])
		out[trace] = s.isa.Largest(e)
		return nil
	}
	if s.alike(w2) {
		if len(out) > 0 {
			one(0, 0)
		}
		for i := range out {
			out[i] = out[0]
		}
		return out, nil
	}
	return out, parallel(ctx, s.threads, len(out), one)
}

// squares makes the rows of c's traces from the squared weights of all.
func (s *squarer) squares(ctx context.Context, c *CPU, w2 []float32) (q *simd.Squares, err error) {
	nt, n := s.p.NT, len(c.rows.S)/c.op.Pitch()
	q = &simd.Squares{Shared: s.alike(w2)}
	if q.Shared {
		n = min(1, n)
	}
	if q.Norms, err = simd.Alloc[float32](n * c.stride); err != nil {
		return nil, err
	}
	if q.Inner, err = simd.Alloc[float32](n * c.stride); err != nil {
		return nil, err
	}
	if q.Flat, err = simd.Alloc[int32](2 * n); err != nil {
		return nil, err
	}
	return q, parallel(ctx, s.threads, n, func(worker, trace int) error {
		at, row := trace*c.stride, c.dataRow(c.number(int32(trace)))
		flat := s.row(worker, q.Norms.S[at:at+nt], q.Inner.S[at:at+nt], w2[row*nt:(row+1)*nt])
		copy(q.Flat.S[2*trace:], flat[:])
		return nil
	})
}

func free(q *simd.Squares) {
	if q != nil {
		q.Norms.Free()
		q.Inner.Free()
		q.Flat.Free()
	}
}

// addTiles adds a CPU engine's share of the diagonal to tiles lo to hi.
func (s *squarer) addTiles(ctx context.Context, c *CPU, q *simd.Squares, lo, hi int, quantum float64) error {
	return s.each(ctx, lo, hi, func(lo, hi int) {
		for block := 0; block < c.nadj && ctx.Err() == nil; block += step {
			s.isa.Diagonal(&c.op, s.image64, q, lo, hi, block, min(block+step, c.nadj), quantum)
		}
	})
}

// stretches are the tables that an engine has, one after the other.
type stretches interface {
	// eachTables calls f with engines that hold the tables of all traces in turn.
	eachTables(ctx context.Context, f func(*CPU) error) error
}

func (c *CPU) eachTables(_ context.Context, f func(*CPU) error) error { return f(c) }

func (r *Recompute) eachTables(ctx context.Context, f func(*CPU) error) error {
	for _, part := range r.parts {
		c, err := r.make(ctx, part)
		if err != nil {
			return err
		}
		err = f(c)
		c.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// squared is the squared operator of an engine on the processor.
type squared struct {
	*squarer
	of stretches
	w2 []float32 // of the application under way
}

var _ dist.Pieced = (*squared)(nil)

// Squared implements Squarer.
func (c *CPU) Squared() dist.Kernel { return &squared{squarer: c.squarer(), of: c} }

// Squared implements Squarer.
func (r *Recompute) Squared() dist.Kernel { return &squared{squarer: r.squarer(), of: r} }

func (q *squared) Forward(context.Context, device.Buf, device.Buf) error { return errSquaredForward }

// Adjoint adds the diagonal to dst.
func (q *squared) Adjoint(ctx context.Context, dst, src device.Buf) error {
	w2, image := q.slices("diagonal", src, dst)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.w2 = w2
	if err := q.sumTiles(ctx, 0, q.tiles.tiles, 0); err != nil {
		return err
	}
	return q.each(ctx, 0, q.tiles.tiles, func(lo, hi int) { unload(q.tiles, image, q.image64.S, q.scale2, lo, hi) })
}

// Peak implements dist.Pieced: each weight counts twice.
func (q *squared) Peak() float64 { return q.peak * q.peak }

// Bound implements dist.Pieced, for squared weights: the sum of the largest squared
// norms of each shot's traces.
func (q *squared) Bound(d dist.Direction, src device.Buf) ([]float64, error) {
	if d == dist.Forward {
		return nil, errSquaredForward
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	largest, err := q.largest(context.Background(), device.Slice[float32](src))
	return q.shots(largest), err
}

// Begin implements dist.Pieced.
func (q *squared) Begin(ctx context.Context, d dist.Direction, dst, src device.Buf, quantum float64) (dist.Application, error) {
	if d == dist.Forward {
		return nil, errSquaredForward
	}
	if r, ok := q.of.(*Recompute); ok && quantum != 0 && r.short > 0 {
		return nil, r.tooShort()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	w2, image := q.slices("diagonal", src, dst)
	q.w2 = w2
	a := q.backward(ctx, q, image, quantum)
	a.scale = q.scale2
	return a, nil
}

// sumTiles sums all tiles when asked for the first, and sets nothing after that.
func (q *squared) sumTiles(ctx context.Context, lo, _ int, quantum float64) error {
	if q.bands != nil {
		return errSquaredBands
	}
	if lo > 0 {
		return nil
	}
	clear(q.image64.S)
	return q.of.eachTables(ctx, func(c *CPU) error {
		s, err := q.squares(ctx, c, q.w2)
		if err == nil {
			err = q.addTiles(ctx, c, s, 0, q.tiles.tiles, quantum)
		}
		free(s)
		return err
	})
}

func (q *squared) sumTraces(context.Context, int, []float32, []float64, float64) error {
	return errSquaredForward
}
