package butterfly

import (
	"slices"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// turn takes the traces of a block to the spectra of their segments and back, those of one source at
// a time.
type turn struct {
	*band
	*block
	isa    simd.ISA
	ns, nt int
	lines  []float32 // [nt][width]
	rows   []float32 // [lanes + 1][nt], traces of neighbouring slots, and another
	folded []float32 // [4][n/4][width]
}

func (o *Operator) newTurn(n int, with *scratch) *turn {
	b, nt := o.blocks[n], o.problem.NT
	t := &turn{band: o.band, block: b, isa: o.isa, ns: o.rows(b), nt: nt}
	cut := cutter(with.turn)
	t.lines, t.folded, t.rows = cut(nt*b.width), cut(t.n*b.width), cut((lanes+1)*nt)
	return t
}

// eachGroup calls f for every so many slots of a source that lie side by side in lines, with the
// traces of the block, from i to end, that have these slots.
func (t *turn) eachGroup(s int, f func(lines simd.Real, i, end int)) {
	i, _ := slices.BinarySearch(t.slots, int32(s*t.width))
	for first := 0; first < t.width; first += lanes {
		end := i
		for end < len(t.slots) && int(t.slots[end]) < s*t.width+first+lanes {
			end++
		}
		f(simd.Real{V: t.lines[first:], Stride: t.width}, i, end)
		i = end
	}
}

// row is that of a trace among those of neighbouring slots.
func (t *turn) row(i int) []float32 { return t.rows[int(t.slots[i])%lanes*t.nt:][:t.nt] }

// load takes the traces of a source. Those of the same receiver are added.
func (t *turn) load(s int, load func(trace int, to []float32)) {
	more := t.rows[lanes*t.nt:]
	t.eachGroup(s, func(lines simd.Real, from, end int) {
		clear(t.rows)
		for i := from; i < end; i++ {
			row := t.row(i)
			if i == from || t.slots[i-1] != t.slots[i] {
				load(int(t.traces[i]), row)
				continue
			}
			load(int(t.traces[i]), more)
			for n, v := range more {
				row[n] += v
			}
		}
		t.isa.Transpose(lines, simd.Real{V: t.rows, Stride: t.nt}, lanes, t.nt)
	})
}

// unload is the transpose of load.
func (t *turn) unload(s int, add func(trace int, u []float32)) {
	t.eachGroup(s, func(lines simd.Real, from, end int) {
		if from == end {
			return
		}
		t.isa.Transpose(simd.Real{V: t.rows, Stride: t.nt}, lines, t.nt, lanes)
		for i := from; i < end; i++ {
			add(int(t.traces[i]), t.row(i))
		}
	})
}

// samples are those of a segment, [n][width].
func (t *turn) samples(segment int) []float32 {
	return t.lines[t.first(segment)*t.width:][:t.n*t.width]
}

// quarters calls f with what a Fourier transform of a folded segment joins, for the real and the
// imaginary part of even and odd frequencies, rows of them: the table, samples, and spectra.
func (t *turn) quarters(s int, e *spectra, f func(rows int, table, samples, out simd.Real)) {
	n := t.n / 4
	for part, plane := range [2][]float32{e.re, e.im} {
		for odd := range 2 {
			table := simd.Real{V: t.band.into[(part*t.nf+odd)*n:], Stride: 2 * n}
			samples := simd.Real{V: t.folded[(2*part+odd)*n*t.width:], Stride: t.width}
			f((t.nf+1-odd)/2, table, samples, simd.Real{V: plane[(odd*t.ns+s)*t.width:], Stride: 2 * t.ns * t.width})
		}
	}
}

// into sets the spectra of the traces of a source.
func (t *turn) into(s, segment int, to *spectra) {
	t.isa.Fold(t.folded, t.samples(segment), t.ramps, t.width)
	t.quarters(s, to, func(rows int, table, samples, out simd.Real) {
		t.isa.Transform(out, table, samples, rows, t.n/4, t.width, 0)
	})
}

// back is the transpose of into.
func (t *turn) back(s, segment int, from *spectra) {
	t.quarters(s, from, func(rows int, table, samples, out simd.Real) {
		t.isa.Transform(samples, table, out, t.n/4, rows, t.width, simd.Transposed)
	})
	t.isa.Unfold(t.samples(segment), t.folded, t.ramps, t.width)
}
