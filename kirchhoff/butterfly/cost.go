package butterfly

// Costs of one direction, in ns on a core with registers of 512 bits. Only their ratios decide.
const (
	directTriple  = 0.25 // a trace and a point of the direct operator
	directTaper   = 0.35 // the same where the taper counts
	directDynamic = 1.3  // what dynamic weights make of these
	directFiner   = 0.3  // what samples finer by one more make of these

	product   = 1 / 160.0 // an operation of a product of matrices
	weighting = 0.5       // what weights of its terms make of a product besides
	weight    = 0.2       // a weight of a pair of places at a skeleton's point
	expansion = 0.18      // a point and a skeleton's weight there
	wave      = 0.3       // a frequency of a place and a skeleton's point

	// A point of the last stage, one of its columns, and a sum that it takes part in.
	lastPoint, lastColumn, lastSum = 4.5, 0.07, 0.0145

	making        = 4000 // a place of a skeleton, which is made once for about 40 directions
	makingWeighed = 6    // a node and a point of a skeleton of weighted waves

	gain = 1.3 // that a part must bring
)

// finer is how many times more the direct operator takes for its finer samples.
func (o *Operator) finer() float64 { return 1 + directFiner*float64(max(1, o.problem.Finer)-1) }

// direct is the cost of a pair over window i point by point.
func (o *Operator) direct(p *pair, i int) float64 {
	each := directTriple
	if !p.full {
		each = directTaper
	}
	if o.problem.Dynamic {
		each *= directDynamic
	}
	return each * o.finer() * float64(p.triples(o.windows[i]))
}

// least is a bound of the cost of a pair over a window, from its geometry and q points of the columns'
// skeleton.
func (a *arrangement) least(p *pair, w *window, t *tones, q int) float64 {
	nf := 2*leastPeriods + t.top()*stepSeconds
	ns := a.size(p.block, rows)
	s := min(4, ns)
	return beams(nf, ns, a.size(p.block, columns), s, q) + last(w.len(), s, q, 2)
}

// beams is the cost of the sums over places of both sides, with s and r skeleton points.
func beams(nf float64, ns, nr, s, r int) float64 {
	return 8 * product * nf * float64(ns*r*(nr+s))
}

// last is the cost of the last stage.
func last(points, s, r, taps int) float64 {
	return float64(points) * (lastPoint + lastColumn*float64(r) + lastSum*float64(taps*s*r))
}

// cost is that of a part, without what it shares with others. own says that the columns' skeleton is
// its own, weighed that their terms have weights.
func (b *band) cost(p part, w *window, s, r *skeleton, ns, width int, own, weighed bool) float64 {
	c := beams(float64(b.nf), ns, width, s.rank, r.q) + 4*product*float64(b.nf*p.rows*s.rank*r.q) + last(w.len(), s.rank, r.q, b.taps)
	if weighed {
		c += (weighting*8*product*float64(b.nf) + weight) * float64(ns*width*r.q)
	}
	if own {
		c += wave * float64(b.nf*width*r.q)
		c += expansion*float64(w.len()*r.q) + makingWeighed*float64(r.mesh.len()*r.rank)
	}
	return c
}

// transforms is the cost of taking the traces of a block to the spectra of a segment, which is folded twice.
func (b *band) transforms(ns, width int) float64 { return product * float64(b.nf*b.n*ns*width) }

// sharing is the cost of a skeleton over a window, and of its weights and waves.
func (b *band) sharing(s *skeleton, w *window) float64 {
	c := wave * float64(b.nf*len(s.delay))
	if !s.lone() {
		c += expansion*float64(w.len()*s.q) + making*float64(len(s.delay)/s.q)
	}
	return c
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
	return o.band.cost(p, o.windows[i], s, r, o.rows(at.block), at.block.width, !at.full, o.weighs(at))
}

// whole is the cost of a pair with its part of what it shares. It is the same whatever part of the survey
// o has.
func (o *Operator) whole(spectra map[segmentOf]int, p part, at *pair, i int, s, r *skeleton) float64 {
	c := o.alone(p, at, i, s, r)
	c += o.band.transforms(o.rows(at.block), at.block.width) / float64(max(1, spectra[segmentOf{at.number, p.segment}]))
	for side, k := range [2]*skeleton{s, r} {
		if k == at.own {
			continue
		}
		c += o.band.sharing(k, o.windows[i]) / o.uses[at.block.of[side]]
	}
	return c
}
