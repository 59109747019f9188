package butterfly

import (
	"math/rand/v2"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Where the aperture's weight is not 1 everywhere, the columns of a block have a skeleton of their own, of
// their waves times the weights of its traces:
//
//	w(x − m_sr) exp(iωδ_s(x)) ≈ Σ_j L_j(x) w(x_j − m_sr) exp(iωδ_s(x_j))
//
// for all rows r and columns s that have a trace. Its error is relative to the weighted waves, since a
// part's tolerance is a share of what the part brings.

const (
	mostWeighed = 160 // points of such a skeleton
	mostWaves   = 256 // traces of which it is made
	mostChecked = 96  // traces at which it is checked
	leastWaves  = 32  // of them that are sketched at a frequency

	mostCandidates = 512 // nodes among which its points are looked for
)

// skeleton makes that of the columns of a pair, of which delays are given for those with a number
// in of. It returns nil where there is none.
func (v *weigher) skeleton(p *pair, d delays, of func(column int) int, freqs, power []float64, tolerance float64) *skeleton {
	if !d.finite() {
		return nil
	}
	w := v.window
	m := newMesh(w.n, p.nodes)
	f := &field{mesh: m, delay: d.refined(w, m), sample: d.sample}
	f.sketched, f.checked = v.members(p.block, of)
	f.thin = max(1, len(f.sketched)/leastWaves)
	if len(f.sketched) == 0 {
		return nil
	}
	if n := m.len(); n > mostCandidates {
		f.candidates = drawn(n)[:mostCandidates]
	}
	s := newSkeleton(w, f, freqs, power, limits{lanes, p.most, shareOwn * tolerance})
	if s != nil {
		s.bound(d.nodes)
	}
	return s
}

// refined are the delays at the nodes of a finer mesh, [place][node, with padding].
func (d delays) refined(w *window, fine *mesh) []float32 {
	isa, places, nodes := simd.Best(), padded(len(d.nodes)), len(w.nodes)
	at := make([]float32, nodes*places)
	for i, list := range d.nodes {
		for k, t := range list {
			at[k*places+i] = float32(t)
		}
	}
	wide := padded(fine.len())
	out := make([]float32, places*wide)
	isa.Transpose(simd.Real{V: out, Stride: wide}, simd.Real{V: w.mesh.refine(isa, fine, at, places), Stride: places}, fine.len(), places)
	return out[:len(d.nodes)*wide]
}

// members are those of traces of a block, drawn from those whose column has a number: some for a skeleton
// and others to check it, the same where there are few.
func (v *weigher) members(b *block, of func(column int) int) (sketched, checked []member) {
	var all []member
	r := rand.New(rand.NewPCG(uint64(b.ends[0]), uint64(b.ends[1])))
	for _, i := range r.Perm(len(b.slots)) {
		slot := int(b.slots[i])
		if n := of(slot % b.width); n >= 0 {
			all = append(all, member{n, v.of(b, slot/b.width, slot%b.width)})
		}
		if len(all) == mostWaves+mostChecked {
			break
		}
	}
	n := min(len(all), mostWaves)
	if n+leastWaves > len(all) {
		return all[:n], all[len(all)-min(len(all), mostChecked):]
	}
	return all[:n], all[n:]
}

// wavesFloats is about the number of waves that are held at once.
const wavesFloats = 1 << 17

// eachWaves makes the waves of the columns of a part with weights for some frequencies after the other,
// [nf][place][q], or transposed and conjugated, [nf][q][width]. Those that a room has are taken at once.
func (r *room) eachWaves(p *open, transposed bool, with *scratch, f func(first, nf int, waves simd.Complex)) {
	if p.own == nil {
		f(0, r.band.nf, r.waves[columns][p.of[columns]])
		return
	}
	cut := cutter(with.waves)
	delay, stride := p.r.delays(transposed, p.width, cut)
	n := max(1, wavesFloats/len(delay))
	m := simd.Complex{Re: cut(n * len(delay)), Im: cut(n * len(delay)), Stride: stride, Step: len(delay)}
	for first := 0; first < r.band.nf; first += n {
		nf := min(n, r.band.nf-first)
		r.isa.Phases(m.Re, m.Im, delay, float64(first)*r.band.df, r.band.df, nf)
		f(first, nf, m)
	}
}

// from are the matrices of a batch from one on.
func from(m simd.Complex, first int) simd.Complex {
	m.Re, m.Im = m.Re[first*m.Step:], m.Im[first*m.Step:]
	return m
}

// weighedBeams makes the beams of a part with weights of the spectra of its traces.
func (r *room) weighedBeams(beams, traces simd.Complex, p *open, with *scratch) {
	n := r.rows(p.block) * r.columns(p.block) * p.r.q
	weights := simd.Real{V: with.weights[:n], Stride: p.r.q}
	r.weigh(weights.V, with.weights[n:], p)
	r.eachWaves(p, false, with, func(first, nf int, waves simd.Complex) {
		r.isa.MultiplyWeighed(from(beams, first), from(traces, first), waves, weights, nf, r.rows(p.block), r.columns(p.block), p.r.q, 0)
	})
}

// weighedTraces is the transpose of weighedBeams, which adds to the spectra.
func (r *room) weighedTraces(traces, beams simd.Complex, p *open, with *scratch) {
	ns, nr, q := r.rows(p.block), r.columns(p.block), p.r.q
	straight, spare := with.weights[:ns*nr*q], with.weights[ns*nr*q:]
	r.weigh(straight, spare, p)
	turned := spare[:ns*q*p.width]
	for row := range ns {
		r.isa.Transpose(simd.Real{V: turned[row*q*p.width:], Stride: p.width}, simd.Real{V: straight[row*nr*q:], Stride: q}, nr, q)
	}
	weights := simd.Real{V: turned, Stride: p.width}
	r.eachWaves(p, true, with, func(first, nf int, waves simd.Complex) {
		r.isa.MultiplyWeighed(from(traces, first), from(beams, first), waves, weights, nf, ns, q, p.width, simd.Add)
	})
}
