package butterfly

import (
	"cmp"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Use says for what parts are chosen. The choice differs with it, errors stay within the tolerance. The
// zero value is for the kernels of this processor and a solve of ten iterations.
type Use struct {
	Kernels      string // the instruction set whose costs count, as kirchhoff.ISA names it
	Applications int    // of the operator, forward or adjoint, for which skeletons are made once
}

// usualApplications are those of ten iterations of CGLS.
const usualApplications = 21

// costs are those of one direction, in ns of a core. Only their ratios decide.
type costs struct {
	on string // the processor and the compilers with which they are measured

	triple, taper float64 // a trace and a point of the direct operator, and where the taper counts

	dynamic float64 // what dynamic weights make of these

	// What each factor of finer samples beyond 1 adds to these, as a share, and what curves add.
	more, curve float64

	product   float64 // an operation of a product of matrices
	weighting float64 // what weights of its terms make of a product besides
	weight    float64 // a weight of a pair of places at a skeleton's point
	expansion float64 // a point and a skeleton's weight there
	wave      float64 // a frequency of a place and a skeleton's point
	transform float64 // a frequency and a sample of a trace

	// A point of the last stage, one of its columns, and a sum that it takes part in.
	lastPoint, lastColumn, lastSum float64

	// Once: a place of a skeleton, and a node and a point of a skeleton of weighted waves.
	making, makingWeighed float64
}

// makingDynamic is how many times longer a place of a skeleton takes with dynamic weights: 8.6 to 8.9 on one machine
// with AVX2 and AVX-512.
const makingDynamic = 8

// gain is what a part must bring over direct sums of the same accuracy, those of the samples and curves of
// the problem.
const gain = 1.3

// kernels are those that engines take.
func kernels() simd.ISA {
	name, _ := kirchhoff.ISA() // an engine says what is wrong with it
	isa, _ := simd.Parse(name)
	return isa
}

// costs are those of u, with what is made once shared out over its applications.
func (u Use) costs() costs {
	c, known := costsOf[u.Kernels]
	if !known {
		c = costsOf[kernels().String()]
	}
	n := float64(cmp.Or(u.Applications, usualApplications))
	c.making /= n
	c.makingWeighed /= n
	return c
}

// finer is how many times more the direct operator takes for samples finer by a factor,
// with or without a curve.
func (c *costs) finer(factor int, curve float64) float64 {
	times := 1 + c.more*float64(max(0, factor-1))
	if curve > 0 {
		times += c.curve
	}
	return times
}

// direct is the cost of a pair over window i point by point.
func (o *Operator) direct(p *pair, i int) float64 {
	each := o.costs.triple
	if !p.full {
		each = o.costs.taper
	}
	if o.problem.Dynamic {
		each *= o.costs.dynamic
	}
	return each * o.costs.finer(o.problem.Finer, o.problem.Curve) * float64(p.triples(o.windows[i]))
}

// least is a bound of the cost of a pair over a window, from its geometry and q points of the columns'
// skeleton.
func (o *Operator) least(a *arrangement, p *pair, w *window, t *tones, q int) float64 {
	nf := 2*leastPeriods + t.top()*stepSeconds
	ns := a.size(p.block, rows)
	s := min(4, ns)
	return o.costs.beams(nf, ns, a.size(p.block, columns), s, q) + o.costs.last(w.len(), s, q, 2)
}

// beams is the cost of the sums over places of both sides, with s and r skeleton points.
func (c *costs) beams(nf float64, ns, nr, s, r int) float64 {
	return 8 * c.product * nf * float64(ns*r*(nr+s))
}

// last is the cost of the last stage.
func (c *costs) last(points, s, r, taps int) float64 {
	return float64(points) * (c.lastPoint + c.lastColumn*float64(r) + c.lastSum*float64(taps*s*r))
}

// part is the cost of one, without what it shares with others. own says that the columns' skeleton is
// its own.
func (c *costs) part(b *band, p part, w *window, s, r *skeleton, ns, width int, own bool) float64 {
	sum := c.beams(float64(b.nf), ns, width, s.rank, r.q) + 4*c.product*float64(b.nf*p.rows*s.rank*r.q) + c.last(w.len(), s.rank, r.q, b.taps)
	if p.weighed {
		sum += (c.weighting*8*float64(b.nf) + c.weight) * float64(ns*width*r.q)
	}
	if own {
		sum += c.wave*float64(b.nf*width*r.q) + c.expansion*float64(w.len()*r.q) + c.makingWeighed*float64(r.mesh.len()*r.rank)
	}
	return sum
}

// transforms is the cost of taking the traces of a block to the spectra of a segment, which is folded twice.
func (c *costs) transforms(b *band, ns, width int) float64 {
	return c.transform * float64(b.nf*b.n*ns*width)
}

// sharing is the cost of a skeleton over a window, and of its weights and waves.
func (c *costs) sharing(b *band, s *skeleton, w *window) float64 {
	sum := c.wave * float64(b.nf*len(s.delay))
	if !s.lone() {
		sum += c.expansion*float64(w.len()*s.q) + c.making*float64(len(s.delay)/s.q)
	}
	return sum
}

// shared counts, by the segment of a block, the pairs that are worth it by themselves. All traces of a block
// lie in one part of a survey, while other parts may have the same clusters of receivers.
func (o *Operator) shared() map[segmentOf]int {
	n := map[segmentOf]int{}
	o.eachPair(func(i int, at *pair, s, r *skeleton) {
		if p, fits := o.band.join(s, r, o.problem.T0, at.band); fits && o.alone(p, at, i, s, r)*gain < o.direct(at, i) {
			n[segmentOf{at.number, p.segment}]++
		}
	})
	return n
}

// alone is the cost of a pair without what it shares.
func (o *Operator) alone(p part, at *pair, i int, s, r *skeleton) float64 {
	p.weighed = o.weighs(at)
	return o.costs.part(o.band, p, o.windows[i], s, r, o.rows(at.block), at.block.width, !at.full)
}

// whole is the cost of a pair with its part of what it shares. It is the same whatever part of the survey
// o has.
func (o *Operator) whole(spectra map[segmentOf]int, p part, at *pair, i int, s, r *skeleton) float64 {
	c := o.alone(p, at, i, s, r)
	c += o.costs.transforms(o.band, o.rows(at.block), at.block.width) / float64(max(1, spectra[segmentOf{at.number, p.segment}]))
	for side, k := range [2]*skeleton{s, r} {
		if k == at.own {
			continue
		}
		c += o.costs.sharing(o.band, k, o.windows[i]) / o.uses[at.block.of[side]]
	}
	return c
}
