package moveout

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/kirchhoff-lsm/lsm/internal/counts"
)

// Pick is the residual moveout of a reflector at a place.
type Pick struct {
	X, Y, Z float64 // m; Y is 0 on a line; Z is two-way time, s, in images in time
	Gamma   float64

	Semblance float64 // along its curve
	Width     float64 // of its peak at half the height, in γ
	Certainty float64 // from 0 to 1, see Certainty

	Slope  float64 // ∂z/∂x of the layer; in time s/m
	SlopeY float64 // ∂z/∂y; 0 on a line
	Far    float64 // the largest offset that counts, m
	Speed  float64 // c of the curves: 2 in depth, in time the velocity of the migration there, m/s
	Datum  float64 // from which depths of the curves count, m or s

	// Shifts are how much deeper than on the curve the reflector lies in each class of offsets, m or s;
	// nil: on the curve.
	Shifts []float64

	Ellipse Ellipse // of gathers by offset and azimuth, see FitEllipses
}

// Position is the position of a pick in a model of dim axes.
func (p Pick) Position(dim int) []float64 {
	if dim == 2 {
		return []float64{p.X, p.Z}
	}
	return []float64{p.X, p.Y, p.Z}
}

// Residual is how much deeper than at offset 0 the reflector lies at the offset Far, m or s.
func (p Pick) Residual() float64 { return p.Moveout(p.Far) }

// Moveout is how much deeper than at offset 0 the reflector lies at an offset, m or s.
func (p Pick) Moveout(offset float64) float64 {
	return Depth(p.Z-p.Datum, p.Gamma, offset, p.Speed) - (p.Z - p.Datum)
}

// certainWidth is the width, in γ, of a peak that makes a pick half as certain as its height says.
const certainWidth = 0.05

// Certainty is the certainty of a peak of the semblance from its height and its width in
// γ: S r / (r + w), r = 0.05.
func Certainty(semblance, width float64) float64 {
	return semblance * certainWidth / (certainWidth + width)
}

// beside is the number of places on either side, along x and along y, whose median draws a trajectory.
const beside = 2

// Trajectories finds γ(z0) of each place, [places][nz].
func Trajectories(g *Gathers, o Options, all []Spectrum) [][]float64 {
	gammas := o.Gammas()
	first := make([][]float64, len(all))
	for i := range all {
		first[i] = all[i].trajectory(g, o, gammas, nil)
	}
	second := make([][]float64, len(all))
	n, _ := g.lattice(o)
	for i := range all {
		x, y := i/n[1], i%n[1]
		drawn := make([]float64, len(first[i]))
		for iz := range drawn {
			var list []float64
			for k := max(0, x-beside); k <= min(n[0]-1, x+beside); k++ {
				for l := max(0, y-beside); l <= min(n[1]-1, y+beside); l++ {
					list = append(list, first[k*n[1]+l][iz])
				}
			}
			slices.Sort(list)
			drawn[iz] = stat.Quantile(0.5, stat.LinInterp, list, nil)
		}
		second[i] = all[i].trajectory(g, o, gammas, drawn)
	}
	return second
}

// drawnAt is the distance in γ from the median of neighbours at which being drawn to it costs as
// much as half a semblance.
const drawnAt = 0.1

// trajectory maximises Σ S E/(1+E) less the penalty on steps, over nodes half a window apart with lines
// between them. drawn is where neighbours lie, nil for not known.
func (s *Spectrum) trajectory(g *Gathers, o Options, gammas, drawn []float64) []float64 {
	nz, n, half := g.nz(), len(gammas), o.half(g)
	nodes := (nz + half - 1) / half
	score := make([][]float64, nodes)
	for i := range score {
		score[i] = make([]float64, n)
		for k, gamma := range gammas {
			score[i][k] = -1e-9 * math.Abs(gamma-1) // where nothing else decides
		}
		for iz := i * half; iz < min((i+1)*half, nz); iz++ {
			for k, gamma := range gammas {
				score[i][k] += s.weight(iz) * s.Semblance[k*nz+iz]
				if drawn != nil {
					score[i][k] -= 0.5 * s.weight(iz) * math.Pow((gamma-drawn[iz])/drawnAt, 2)
				}
			}
		}
	}
	stiff := o.stiffness(g)
	path := Cheapest(score, func(_, from, to int) float64 { return stiff * float64((to-from)*(to-from)) })
	out := make([]float64, nz)
	for iz := range out {
		at := max(0, min(float64(nodes-1), (float64(iz)-float64(half-1)/2)/float64(half)))
		k := max(0, min(int(at), nodes-2))
		next := min(k+1, nodes-1)
		out[iz] = gammas[path[k]] + (at-float64(k))*(gammas[path[next]]-gammas[path[k]])
	}
	return out
}

// half is half a window in points.
func (o Options) half(g *Gathers) int {
	return counts.Near(o.Window/g.Grid.Spacing[g.Grid.Dim()-1]/2, 1, g.nz())
}

// stiffness is the cost of a step by one γ from node to node. An even change by 0.1 over 1000 m, or
// 1 s, costs o.Stiffness for each of its points.
func (o Options) stiffness(g *Gathers) float64 {
	length := 1000.0
	if g.Speeds != nil {
		length = 1
	}
	points := length / g.Grid.Spacing[g.Grid.Dim()-1]
	return o.Stiffness * points * points / float64(o.half(g)) * math.Pow(o.Step/0.1, 2)
}

// Cheapest is the path through nodes, an index for each, with the largest sum of scores less the costs
// of its steps. cost(node, from, to) is the cost of the step to an index of a node from one of the node
// before.
func Cheapest(score [][]float64, cost func(node, from, to int) float64) []int {
	n := len(score[0])
	best, from := slices.Clone(score[0]), make([][]int, len(score))
	for i := 1; i < len(score); i++ {
		next := make([]float64, n)
		from[i] = make([]int, n)
		for k := range next {
			next[k] = math.Inf(-1)
			for j := range best {
				if v := best[j] - cost(i, j, k); v > next[k] {
					next[k], from[i][k] = v, j
				}
			}
			next[k] += score[i][k]
		}
		best = next
	}
	at := 0
	for k, v := range best {
		if v > best[at] {
			at = k
		}
	}
	path := make([]int, len(score))
	for i := len(score) - 1; i >= 0; i-- {
		path[i] = at
		if i > 0 {
			at = from[i][at]
		}
	}
	return path
}

// weight is by how much the energy at a depth counts.
func (s *Spectrum) weight(iz int) float64 { return s.Energy[iz] / (1 + s.Energy[iz]) }

// MostWidth is the share of the values of γ that are tried above which the peak of a pick is too wide
// to say where it is.
const MostWidth = 0.7

// Picks are the picks along the trajectories: where the semblance, weighted by the energy, is
// largest within half a window, and not below the threshold. unresolved is how many were dropped
// for their width.
func Picks(g *Gathers, o Options, all []Spectrum, trajectories [][]float64) (picks []Pick, unresolved int) {
	gammas, nz := o.Gammas(), g.nz()
	half := o.half(g)
	for i := range all {
		s := &all[i]
		height := make([]float64, nz)
		for iz := range nz {
			height[iz] = s.weight(iz) * s.at(gammas, o, trajectories[i][iz], iz)
		}
		for iz := half; iz < nz-half; iz++ {
			around := height[max(0, iz-half):min(nz, iz+half+1)]
			if height[iz] == 0 || slices.Index(around, slices.Max(around)) != min(iz, half) || g.steep(s.Column, iz) {
				continue
			}
			k := s.peak(gammas, o, trajectories[i][iz], iz)
			x := g.place(s.Column)
			p := Pick{X: x[0], Y: x[1], Z: g.Grid.Coord(g.Grid.Dim()-1, iz), Far: g.used(s.Column, iz, o), Speed: g.speed(s.Column, iz), Datum: g.datum(s.Column)}
			p.Gamma, p.Semblance = s.refine(gammas, k, iz)
			if p.Semblance < o.Threshold || k == 0 || k == len(gammas)-1 {
				continue
			}
			if p.Width = s.width(gammas, o, k, iz); p.Width > MostWidth*(o.Greatest-o.Least) {
				unresolved++
				continue
			}
			p.Certainty = Certainty(p.Semblance, p.Width)
			slope := g.slope(s.Column, iz)
			p.Slope, p.SlopeY = slope[0], slope[1]
			picks = append(picks, p)
		}
	}
	return picks, unresolved
}

// index is the index of the value of γ nearest to one.
func (o Options) index(gammas []float64, gamma float64) int {
	return counts.Near((gamma-o.Least)/o.Step, 0, len(gammas)-1)
}

func (s *Spectrum) at(gammas []float64, o Options, gamma float64, iz int) float64 {
	return s.Semblance[o.index(gammas, gamma)*len(s.Energy)+iz]
}

// peak climbs from a trajectory to the peak that it passes by, at most so far as neighbours may differ.
func (s *Spectrum) peak(gammas []float64, o Options, gamma float64, iz int) int {
	nz, k := len(s.Energy), o.index(gammas, gamma)
	start, most := k, max(1, int(0.02/o.Step))
	for {
		best := k
		for _, j := range []int{k - 1, k + 1} {
			if j >= 0 && j < len(gammas) && max(j-start, start-j) <= most && s.Semblance[j*nz+iz] > s.Semblance[best*nz+iz] {
				best = j
			}
		}
		if best == k {
			return k
		}
		k = best
	}
}

// refine fits a parabola through a peak and its neighbours.
func (s *Spectrum) refine(gammas []float64, k, iz int) (gamma, semblance float64) {
	nz := len(s.Energy)
	b := s.Semblance[k*nz+iz]
	if k == 0 || k == len(gammas)-1 {
		return gammas[k], b
	}
	a, c := s.Semblance[(k-1)*nz+iz], s.Semblance[(k+1)*nz+iz]
	bend := a - 2*b + c
	if bend >= 0 || b < max(a, c) {
		return gammas[k], b
	}
	d := (a - c) / (2 * bend)
	return gammas[k] + d*(gammas[1]-gammas[0]), b - (a-c)*d/4
}

// width is the range of γ around a peak in which the semblance is above half of the peak's.
func (s *Spectrum) width(gammas []float64, o Options, k, iz int) float64 {
	nz, low, high := len(s.Energy), k, k
	least := s.Semblance[k*nz+iz] / 2
	for low > 0 && s.Semblance[(low-1)*nz+iz] > least {
		low--
	}
	for high < len(gammas)-1 && s.Semblance[(high+1)*nz+iz] > least {
		high++
	}
	return float64(high-low+1) * o.Step
}

// MeanResidual is the mean of |Residual| of picks, weighted by their certainty; 0 for none.
func MeanResidual(picks []Pick) float64 {
	sum, weights := 0.0, 0.0
	for _, p := range picks {
		sum += p.Certainty * math.Abs(p.Residual())
		weights += p.Certainty
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}
