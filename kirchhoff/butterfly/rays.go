package butterfly

import (
	"math"
	"math/rand/v2"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// With dynamic weights the columns s of all blocks have weights inside their skeletons, as those that the
// aperture tapers have:
//
//	w_sr(x) exp(iωδ_s(x)) ≈ Σ_j L_j(x) w_sr(x_j) exp(iωδ_s(x_j)),   w_sr = b_s b_r |p_s + p_r|
//
// for all rows r. How much the amplitudes b and slownesses p of places differ from those of straight rays is
// known at few nodes of a window, and between them by polynomials. Skeletons are made for straight rays,
// whose weights are as smooth: that they serve the others is what Measure measures. One that the aperture
// leaves alone serves all blocks.

const (
	least    = 1e-3 // m, of a ray
	mostRays = 4    // nodes of a window along each axis at which rays are known
	known    = 4    // of a ray: b and the components of p

	mostPartners = 16   // places at the other end, with which skeletons are made
	mostDraws    = 1000 // to find them
)

// rays are b of a cluster's places over a window, as shares of that of straight rays, and what p has beyond
// that of straight rays, at the nodes of the window's coarse mesh.
type rays struct {
	*weigher
	partners   []int32   // places at the other end
	at         []float32 // [place][4][node]
	diff, norm []float64 // [place], squares of what weights with partners miss at the window's sample, and of these
}

func newRays(v *weigher, cluster int, others []int32) *rays {
	n := len(v.groups[cluster].places)
	return &rays{v, v.partners(cluster, others), make([]float32, n*known*v.window.coarse.len()), make([]float64, n), make([]float64, n)}
}

// take sets those of a place, with a number in the cluster, from its field. of finds a point of the grid in
// that.
func (r *rays) take(number, place int, from *kirchhoff.Rays, of func(point int32) int) {
	n, to := r.window.coarse.len(), make([]float64, 3)
	at := r.at[number*known*n:][:known*n]
	beyond := func(point int32) (v [known]float64, s ray) {
		r.Grid.Point(to, int(point))
		b, p := from.At(of(point))
		s = r.straight(r.Positions.At(place), to)
		return [known]float64{b / s.b, p[0] - s.p[0], p[1] - s.p[1], p[2] - s.p[2]}, s
	}
	for i, point := range r.window.turns {
		v, _ := beyond(point)
		for f, x := range v {
			at[f*n+i] = float32(x)
		}
	}
	for i, point := range r.window.sample {
		want, s := beyond(point)
		var got [known]float64
		for node, l := range r.window.between.V[i*n:][:n] {
			for f := range got {
				got[f] += float64(l) * float64(at[f*n+node])
			}
		}
		partner := r.straight(r.Positions.At(int(r.partners[i%len(r.partners)])), to)
		w := weightOf(s, want, partner)
		off := weightOf(s, got, partner) - w
		r.diff[number] += off * off
		r.norm[number] += w * w
	}
}

// takeTurns makes room for the rays of a place for each thread.
func (o *finder) takeTurns() {
	o.turning = make(chan *kirchhoff.Rays, o.threads)
	for range o.threads {
		r := o.plan.Rays(&o.problem)
		o.turns = r != nil
		o.turning <- r
	}
}

// turn finds the rays of a place, nil where weights do not need them. They are to be given back.
func (o *finder) turn(place int, f traveltime.Field) (*kirchhoff.Rays, error) {
	r := <-o.turning
	if r == nil {
		return nil, nil
	}
	if err := r.Take(place, f); err != nil {
		o.turning <- r
		return nil, err
	}
	return r, nil
}

// sort finds the pairs whose traces all meet the tiles in one band of anti-aliasing, and which limits of
// angles leave alone.
func (o *finder) sort() {
	for i, list := range o.pairs {
		for n := range list {
			if p, of := &list[n], list[n].block.of; o.ways[of[rows]] != nil && o.ways[of[columns]] != nil {
				p.band, p.alike = o.plan.Alike(o.ways[of[rows]][i], o.ways[of[columns]][i])
			}
		}
	}
}

// ray is what weights take of a ray at a point.
type ray struct {
	b float64
	p [3]float64
}

// straight is the ray from one point to another in a homogeneous medium.
func (v *weigher) straight(from, to []float64) (r ray) {
	sum := 0.0
	for a := range r.p {
		r.p[a] = to[a] - from[a]
		sum += r.p[a] * r.p[a]
	}
	length := math.Sqrt(sum)
	for a := range r.p {
		r.p[a] /= max(length, least)
	}
	r.b = 1 / (length + v.stabiliser)
	return r
}

// weightOf is that of a ray that is so much beyond a straight one, and another.
func weightOf(s ray, beyond [known]float64, partner ray) float64 {
	sum := 0.0
	for a := range s.p {
		p := s.p[a] + beyond[1+a] + partner.p[a]
		sum += p * p
	}
	return s.b * beyond[0] * partner.b * math.Sqrt(sum)
}

// follows reports whether polynomials miss at most a share of the weights of all places.
func (r *rays) follows(share float64) bool {
	diff, norm := 0.0, 0.0
	for place := range r.diff {
		diff += r.diff[place]
		norm += r.norm[place]
	}
	return diff <= share*share*norm
}

// across are the polynomials of the coarse mesh at the points of a skeleton, [node][q].
func (w *window) across(s *skeleton) []float32 {
	n := w.coarse.len()
	out := make([]float32, n*s.q)
	simd.Best().Transpose(simd.Real{V: out, Stride: s.q}, w.coarse.polynomials(s.points), s.q, n)
	return out
}

// pairing multiplies weights at points of the window by those of two places if rays were straight.
func (v *weigher) pairing(places [2]int32, weights []float32, points [][3]int) {
	q := padded(len(points))
	if len(v.spare) < (2*known+4)*q {
		v.spare = make([]float32, (2*known+4)*q)
	}
	cut := cutter(v.spare)
	rays, product := cut(2*known*q), cut(q)
	straight := simd.Straight{To: [3][]float32{cut(q), cut(q), cut(q)}, Stabiliser: v.stabiliser}
	clear(rays)
	for side, place := range places {
		fill(rays[side*known*q:][:q], 1)
		for a, x := range v.Positions.At(int(place)) {
			straight.From = append(straight.From, float32(x-v.Grid.Coord(a, v.window.lo[a])))
		}
	}
	for a, h := range v.Grid.Spacing {
		for i, x := range points {
			straight.To[a][i] = float32(h * float64(x[a]))
		}
	}
	isa := simd.Best()
	isa.Rays(rays, &straight)
	copy(product, weights[:len(points)])
	isa.Amplitude(product, rays[:known*q], rays[known*q:], 1, 1, q)
	copy(weights[:len(points)], product)
}

// fill sets all elements to a value.
func fill(out []float32, value float32) {
	for i := range out {
		out[i] = value
	}
}

// partners are some places of the other end whose traces with a cluster may count in the window. They
// follow from the whole survey.
func (v *weigher) partners(cluster int, others []int32) (out []int32) {
	c := &v.groups[cluster]
	from := v.Positions.At(int(c.places[c.centre]))
	r := rand.New(rand.NewPCG(uint64(cluster), uint64(v.window.lo[0])<<40+uint64(v.window.lo[1])<<20+uint64(v.window.lo[2])))
	for i := 0; i < mostDraws && len(out) < mostPartners; i++ {
		place := others[r.IntN(len(others))]
		to, near := v.Positions.At(int(place)), true
		for a, limit := range v.Aperture {
			m := 0.5 * (from[a] + to[a])
			lo, hi := v.Grid.Coord(a, v.window.lo[a]), v.Grid.Coord(a, v.window.lo[a]+v.window.n[a]-1)
			near = near && (limit == 0 || lo-m < limit && m-hi < limit)
		}
		if near {
			out = append(out, place)
		}
	}
	if len(out) == 0 {
		return c.places[c.centre:][:1]
	}
	return out
}

// serving makes the skeleton of a cluster's columns that serves all blocks that the aperture leaves alone.
func (v *weigher) serving(cluster int, d delays, others []int32, freqs, power []float64, tolerance float64) *skeleton {
	if !d.finite() {
		return nil
	}
	places, partners := v.groups[cluster].places, v.partners(cluster, others)
	var all []member
	for k := range max(1, leastPlaces/len(places)) {
		for _, i := range drawn(len(places)) {
			ends := [2]int32{places[i], partners[(i+k)%len(partners)]}
			all = append(all, member{i, func(to []float32, points [][3]int) {
				fill(to[:len(points)], 1)
				v.pairing(ends, to, points)
			}})
		}
	}
	f := d.plain(v.window.mesh)
	f.sketched, f.checked, f.thin = all, all[:min(len(all), mostChecked)], max(1, len(all)/leastPlaces)
	s := newSkeleton(v.window, f, freqs, power, limits{lanes, mostRank, shareColumns * tolerance})
	if s != nil {
		s.bound(d.nodes)
	}
	return s
}

// weighs reports whether the terms of a pair have weights.
func (o *Operator) weighs(p *pair) bool { return !p.full || o.problem.Dynamic }

// amplify multiplies weights, [row][column][q], by those of the rays of a part at the points of its skeleton
// of columns. spare has room for the rays of both sides there.
func (r *room) amplify(weights, spare []float32, p *open) {
	nodes, n := r.coarse.len(), [2]int{r.rows(p.block), r.columns(p.block)}
	straight := simd.Straight{Stabiliser: r.stabiliser}
	for a := range straight.To {
		for _, x := range p.r.points {
			straight.To[a] = append(straight.To[a], float32(r.problem.Grid.Spacing[a]*float64(x[a])))
		}
	}
	var at [2][]float32
	for side, cluster := range p.of {
		at[side], spare = spare[:known*n[side]*p.r.q], spare[known*n[side]*p.r.q:]
		from := simd.Real{V: r.Operator.rays[cluster][r.index], Stride: nodes}
		r.isa.Transform(simd.Real{V: at[side], Stride: p.r.q}, from, simd.Real{V: p.r.across, Stride: p.r.q}, known*n[side], nodes, p.r.q, 0)
		straight.From = straight.From[:0]
		for _, place := range r.groups[cluster].places {
			for a, x := range r.problem.Positions.At(int(place)) {
				straight.From = append(straight.From, float32(x-r.problem.Grid.Coord(a, r.lo[a])))
			}
		}
		r.isa.Rays(at[side], &straight)
	}
	r.isa.Amplitude(weights, at[rows], at[columns], n[rows], n[columns], p.r.q)
}
