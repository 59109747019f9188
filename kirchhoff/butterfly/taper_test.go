package butterfly

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// TestTaper: where the taper crosses a window along one axis and in a corner, the skeleton of the weighted
// columns gives the waves of the traces with their weights, within the columns' share of the tolerance. A third
// more is allowed for, since it is checked at few traces and points.
func TestTaper(t *testing.T) {
	const tolerance = 1e-2
	for _, crossed := range []struct {
		name     string
		aperture []float64
		along    [2]bool
		most     int // points of a skeleton
	}{
		{"one axis", []float64{240, 2000}, [2]bool{true, false}, 64},
		{"corner", []float64{240, 260}, [2]bool{true, true}, 96},
	} {
		p := carpet(t, 8, 25, 700, []int{64, 64, 16})
		p.Aperture, p.ApertureTaper = crossed.aperture, []float64{80, 80}
		tones := tonesOf(p, tolerance)
		o := located(p, kirchhoff.Outline(p), Use{Kernels: "avx512"})
		o.arrangement = *o.clusters([2]float64{0, 1}, tones)
		o.pair(&o.arrangement, tones, tolerance)
		found := 0
		for i, list := range o.pairs {
			for k := range list {
				at := &list[k]
				if (at.nodes[0] > mostNodes) != crossed.along[0] || (at.nodes[1] > mostNodes) != crossed.along[1] || at.number%20 != 0 {
					continue
				}
				found++
				s, off := o.crossed(o.windows[i], at, tones, tolerance)
				if s == nil {
					t.Errorf("%s, block %d: no skeleton", crossed.name, at.number)
					continue
				}
				t.Logf("%s, block %d: %d points of %v nodes, off by %.1e", crossed.name, at.number, s.rank, at.nodes, off)
				if !(off <= 1.3*shareOwn*tolerance) || s.rank > crossed.most {
					t.Errorf("%s, block %d: %d points of %v nodes, off by %.2e", crossed.name, at.number, s.rank, at.nodes, off)
				}
			}
		}
		if found == 0 {
			t.Errorf("%s: crosses no window", crossed.name)
		}
	}
}

// crossed is the skeleton of the columns of a pair for straight rays, and how far it is off, as a share of
// the weighted waves, at some traces and points.
func (o *Operator) crossed(w *window, p *pair, tones *tones, tolerance float64) (*skeleton, float64) {
	freqs, power := tones.lines()
	g, positions, cluster := o.problem.Grid, o.problem.Positions, o.groups[p.block.of[columns]]
	delay := func(place int32, x [3]float64) float64 {
		time := func(place int32) float64 {
			y := positions.At(int(place))
			return math.Hypot(math.Hypot(x[0]-y[0], x[1]-y[1]), x[2]-y[2]) / o.slowest()
		}
		return time(place) - time(cluster.places[cluster.centre])
	}
	at := func(x [3]int) (y [3]float64) {
		for a := range y {
			y[a] = g.Coord(a, w.lo[a]+x[a])
		}
		return y
	}
	var d delays
	for _, place := range cluster.places {
		var nodes, sample []float64
		for _, x := range w.mesh.nodes() {
			nodes = append(nodes, delay(place, at(x)))
		}
		for _, x := range w.sampled {
			sample = append(sample, delay(place, at(x)))
		}
		d.nodes, d.sample = append(d.nodes, nodes), append(d.sample, sample)
	}
	v := o.weigher(o.groups, w)
	s := v.skeleton(p, d, func(column int) int { return column }, freqs, power, tolerance)
	if s == nil {
		return nil, 0
	}
	diff, norm := 0.0, 0.0
	for i := 0; i < w.len(); i += 251 {
		x := [3]int{i / w.n[2] / w.n[1], i / w.n[2] % w.n[1], i % w.n[2]}
		polynomials, l := s.mesh.polynomials([][3]int{x}).V, make([]float64, s.rank)
		for node, v := range polynomials {
			for j := range l {
				l[j] += float64(v * s.weights[node*s.q+j])
			}
		}
		for n := 0; n < len(p.block.traces); n += 3 {
			trace, place := p.block.traces[n], cluster.places[int(p.block.slots[n])%p.block.width]
			from, to := positions.At(int(positions.Source[trace])), positions.At(int(positions.Receiver[trace]))
			value := func(y [3]float64, hz float64) (re, im float64) {
				weight := 1.0
				for a, edge := range o.problem.Aperture {
					weight *= tapered(y[a]-0.5*(from[a]+to[a]), edge, o.problem.ApertureTaper[a])
				}
				im, re = math.Sincos(2 * math.Pi * hz * delay(place, y))
				return weight * re, weight * im
			}
			for k, hz := range freqs {
				re, im := value(at(x), hz)
				norm += power[k] * (re*re + im*im)
				for j, v := range l {
					a, b := value(at(s.points[j]), hz)
					re, im = re-v*a, im-v*b
				}
				diff += power[k] * (re*re + im*im)
			}
		}
	}
	return s, math.Sqrt(diff / norm)
}

// TestOverTaper: parts across the taper of the aperture are within the tolerance, in both directions, and
// these are adjoint.
func TestOverTaper(t *testing.T) {
	const tolerance = 1e-2
	r := rand.New(rand.NewPCG(1, 2))
	g := geometry{"nodes", []int{64, 32, 32}, 320, lattice(r, 20, 20, 12, 12, 25, 25), lattice(r, 0, 100, 3, 1, 150, 0), nil, false}
	p := g.problem(t)
	truth := *p
	truth.Finer = 16
	wantD, wantM, _ := both(t, &truth, 3)
	share, weighed := factorise(t, p, tolerance), 0
	for _, list := range p.Elsewhere.(*Operator).parts {
		for _, part := range list {
			if part.own != nil {
				weighed++
			}
		}
	}
	d, m, dot := both(t, p, 3)
	e := max(off(d, wantD), off(m, wantM))
	t.Logf("%.0f %% factorised, %d parts with weights, off by %.1e, dot test %.1e", 100*share, weighed, e, dot)
	if weighed == 0 || !(e <= tolerance) || !(dot <= 1e-6) {
		t.Errorf("%.2f factorised, %d parts with weights, off by %.2e, dot test %.2e", share, weighed, e, dot)
	}
}
