package butterfly

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// fall is the aperture's weight along an axis, of the points x of a window and the midpoints m of a
// block, as a sum of products: w(x − m) ≈ Σ_i points[i](x) traces[i](m). They are the singular vectors
// of the weights at x and at midpoints as far apart as the points.
type fall struct {
	points [][]float32 // [term][point]; nil for a weight of 1
	traces [][]float32 // [term][finer midpoint]
	first  int         // of the midpoints, in points from the grid's first
	power  []float64   // [term], squares of the singular values, which add up to 1
	inside float64     // share of the pairs of a point and a midpoint that have a weight
}

// fallOf is what decides on a fall: relative to the first midpoint.
type fallOf struct{ axis, window, points, midpoints int }

const (
	finerMidpoints = 16   // for each point along the axis
	faintFall      = 1e-9 // power of a product that never counts
)

// fall finds that of a block over a window along an axis, nil if the weight has an edge without taper.
func (o *Operator) fall(w *window, b *block, axis int) *fall {
	p := &o.problem
	if len(p.Aperture) == 0 || p.Aperture[axis] == 0 {
		return &fall{power: []float64{1}, inside: 1}
	}
	h, origin := p.Grid.Spacing[axis], p.Grid.Origin[axis]
	first := int(math.Floor((b.middle[axis][0] - origin) / h))
	last := max(first+1, int(math.Ceil((b.middle[axis][1]-origin)/h)))
	key := fallOf{axis, w.lo[axis] - first, w.n[axis], last - first + 1}
	f := o.falls[key]
	if f == nil {
		f = newFall(p, key)
		o.falls[key] = f
	}
	at := *f
	at.first = first
	return &at
}

// newFall has no terms where the weight is zero, and no power where it has an edge without taper.
func newFall(p *kirchhoff.Problem, of fallOf) *fall {
	h, edge := p.Grid.Spacing[of.axis], p.Aperture[of.axis]
	width := min(p.ApertureTaper[of.axis], edge)
	weights := mat.NewDense(of.points, of.midpoints, nil)
	ones, some, all := 0, 0, of.points*of.midpoints
	for x := range of.points {
		for m := range of.midpoints {
			v := tapered(h*float64(of.window+x-m), edge, width)
			weights.Set(x, m, v)
			if v > 0 {
				some++
			}
			if v == 1 {
				ones++
			}
		}
	}
	f := &fall{inside: float64(some) / float64(all)}
	switch {
	case ones == all:
		f.power = []float64{1}
	case some > 0 && width > 0:
		f.decompose(weights, func(x int, m float64) float64 { return tapered(h*(float64(of.window+x)-m), edge, width) })
	}
	return f
}

// decompose finds the terms of weights, [point][midpoint], which are w(x, m).
func (f *fall) decompose(weights *mat.Dense, w func(x int, m float64) float64) {
	var svd mat.SVD
	if !svd.Factorize(weights, mat.SVDThinU) {
		return
	}
	var u mat.Dense
	svd.UTo(&u)
	n, midpoints := weights.Dims()
	values, all := svd.Values(nil), 0.0
	for _, v := range values {
		all += v * v
	}
	column := make([]float64, n)
	rows := make([][]float64, (midpoints-1)*finerMidpoints+1)
	for m := range rows {
		for x := range n {
			rows[m] = append(rows[m], w(x, float64(m)/finerMidpoints))
		}
	}
	for i, v := range values {
		if v*v <= faintFall*all {
			break
		}
		mat.Col(column, i, &u)
		points, traces := make([]float32, n), make([]float32, len(rows))
		for x, a := range column {
			points[x] = float32(a)
		}
		for m, row := range rows {
			sum := 0.0
			for x, a := range column {
				sum += a * row[x]
			}
			traces[m] = float32(sum)
		}
		f.points, f.traces, f.power = append(f.points, points), append(f.traces, traces), append(f.power, v*v/all)
	}
}

// tapered is the aperture's weight at a distance from the midpoint.
func tapered(distance, edge, width float64) float64 {
	u := math.Abs(distance)
	switch {
	case u >= edge:
		return 0
	case u > edge-width:
		return 0.5 + 0.5*math.Cos(math.Pi*(u-edge+width)/width)
	}
	return 1
}

// reach is what the aperture leaves of a block over a window.
type reach struct {
	along  [2]*fall
	terms  [][2]int // numbers of terms along the axes
	inside float64  // share of the pairs of a trace and a point that count
}

// reach finds the products whose sum is the aperture's weight of a block over a window. There are none
// where it is zero, and where an edge has no taper.
func (o *Operator) reach(w *window, b *block, tolerance float64) *reach {
	r := &reach{along: [2]*fall{o.fall(w, b, 0), o.fall(w, b, 1)}}
	r.inside = r.along[0].inside * r.along[1].inside
	power := func(t [2]int) float64 { return r.along[0].power[t[0]] * r.along[1].power[t[1]] }
	for i := range r.along[0].power {
		for j := range r.along[1].power {
			r.terms = append(r.terms, [2]int{i, j})
		}
	}
	slices.SortStableFunc(r.terms, func(a, b [2]int) int { return cmp.Compare(power(b), power(a)) })
	left := shareTaper * shareTaper * tolerance * tolerance
	for n := len(r.terms); n > 0; n-- {
		if left -= power(r.terms[n-1]); left < 0 {
			break
		}
		r.terms = r.terms[:n-1]
	}
	return r
}

// taper is the weights of a part: one product.
type taper struct {
	points [2][]float32 // along the axes, at the window's points; nil for 1
	traces []float32    // [row][width]
}

// taper makes a term, nil where it is 1 everywhere.
func (o *Operator) taper(b *block, r *reach, t [2]int) *taper {
	if r.along[0].points == nil && r.along[1].points == nil {
		return nil
	}
	out := &taper{traces: make([]float32, o.rows(b)*b.width)}
	for axis, f := range r.along {
		if f.points != nil {
			out.points[axis] = f.points[t[axis]]
		}
	}
	p := &o.problem
	for i, trace := range b.traces {
		s, e := p.Positions.At(int(p.Positions.Source[trace])), p.Positions.At(int(p.Positions.Receiver[trace]))
		v := float32(1)
		for axis, f := range r.along {
			v *= f.at(t[axis], (0.5*(s[axis]+e[axis])-p.Grid.Origin[axis])/p.Grid.Spacing[axis])
		}
		out.traces[b.slots[i]] = v
	}
	return out
}

// at is the weight of a midpoint, in points from the grid's first, in a term.
func (f *fall) at(term int, midpoint float64) float32 {
	if f.points == nil {
		return 1
	}
	of, m := f.traces[term], (midpoint-float64(f.first))*finerMidpoints
	k := min(max(0, int(m)), len(of)-2)
	v := float32(m - float64(k))
	return of[k] + v*(of[k+1]-of[k])
}

// weigh multiplies what is given of a patch's points by their weights.
func (t *taper) weigh(values []float32, p *patchOf) {
	if t == nil {
		return
	}
	at := 0
	for x := range p.n[0] {
		for y := range p.n[1] {
			v := float32(1)
			if t.points[0] != nil {
				v *= t.points[0][p.lo[0]+x]
			}
			if t.points[1] != nil {
				v *= t.points[1][p.lo[1]+y]
			}
			for z := range values[at:][:p.n[2]] {
				values[at+z] *= v
			}
			at += p.n[2]
		}
	}
}

// weighted is a copy of spectra, [nf][row][width], with the weights of their traces.
func (t *taper) weighted(e, room *spectra) *spectra {
	if t == nil {
		return e
	}
	for k := 0; k < len(e.re); k += len(t.traces) {
		re, im := e.re[k:], e.im[k:]
		toRe, toIm := room.re[k:], room.im[k:]
		for i, v := range t.traces {
			toRe[i], toIm[i] = v*re[i], v*im[i]
		}
	}
	return room
}

// add adds weighted spectra, the transpose of weighted.
func (t *taper) add(e, from *spectra) {
	for k := 0; k < len(e.re); k += len(t.traces) {
		re, im := e.re[k:], e.im[k:]
		fromRe, fromIm := from.re[k:], from.im[k:]
		for i, v := range t.traces {
			re[i] += v * fromRe[i]
			im[i] += v * fromIm[i]
		}
	}
}
