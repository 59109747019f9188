package midpoint

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
)

// Pick is the velocity with which a reflection becomes flat at a place.
type Pick struct {
	X, Time, Velocity float64 // m, s, m/s
	Semblance         float64
	Width             float64 // m/s, of its peak at half the height
	Certainty         float64 // from 0 to 1, see [moveout.Certainty]
}

const (
	nodes   = 0.1    // s from one node of a trajectory to the next, at least
	near    = 2      // places on either side whose median draws a trajectory
	drawnAt = 0.1    // share of a velocity off its neighbours' that costs half a semblance
	climbed = 0.05   // share of a velocity by which a pick lies off the trajectory at most
	faint   = 0.05   // of the mean energy: what is coherent there counts half
	surely  = 0.0005 // share of the velocity to which a pick of certainty 1 is good, in cells of
	cells   = 2.0    // m s, as 100 m by 20 ms
)

// Trajectories finds a velocity at each time of each place, [place, time], m/s: along which the sum of semblances, weighted by
// energy, is largest, less a penalty on the squares of its steps, with interval velocities (Dix 1955) within bounds. Dynamic
// programming finds it. The first search is on the mean of all spectra, the second, of each place, is drawn to it, and the
// third to the median of the second ones nearby.
func Trajectories(all []*Spectrum, o Options) [][]float64 {
	mean := &Spectrum{Step: all[0].Step, Semblance: make([]float32, len(all[0].Semblance)), Energy: make([]float64, len(all[0].Energy))}
	for _, s := range all {
		for i, v := range s.Semblance {
			mean.Semblance[i] += float32(s.weight(i%len(s.Energy))/float64(len(all))) * v
		}
	}
	for k := range mean.Energy {
		mean.Energy[k] = 1e9 // counts fully: the semblances are weighted
	}
	guide := mean.trajectory(o, nil)
	first, second := make([][]float64, len(all)), make([][]float64, len(all))
	for i, s := range all {
		first[i] = s.trajectory(o, guide)
	}
	for i, s := range all {
		drawn := make([]float64, len(guide))
		for k := range drawn {
			var list []float64
			for _, t := range first[max(0, i-near):min(len(all), i+near+1)] {
				list = append(list, t[k])
			}
			slices.Sort(list)
			drawn[k] = stat.Quantile(0.5, stat.LinInterp, list, nil)
		}
		second[i] = s.trajectory(o, drawn)
	}
	return second
}

func (s *Spectrum) at(velocity, k int) float64 { return float64(s.Semblance[velocity*len(s.Energy)+k]) }

// weight is by how much the energy at a time counts.
func (s *Spectrum) weight(k int) float64 { return s.Energy[k] / (faint + s.Energy[k]) }

// trajectory is one search, drawn to velocities at all times, nil for none. Between nodes it is linear.
func (s *Spectrum) trajectory(o Options, drawn []float64) []float64 {
	velocities, n := o.Velocities(), len(s.Energy)
	every := counts.Near(max(nodes, o.Window/2)/s.Step, 1, n)
	d := float64(every) * s.Step
	score := make([][]float64, (n-1)/every+1)
	for i := range score {
		score[i] = make([]float64, len(velocities))
		energy := 0.01 // where there is nothing, neighbours decide
		for k := max(0, i*every-every/2); k < min(n, i*every+(every+1)/2); k++ {
			energy = max(energy, s.weight(k))
			for j := range velocities {
				score[i][j] = max(score[i][j], s.weight(k)*s.at(j, k))
			}
		}
		for j, v := range velocities {
			if drawn != nil {
				score[i][j] -= 0.5 * energy * math.Pow((v/drawn[i*every]-1)/drawnAt, 2)
			}
		}
	}
	path := moveout.Cheapest(score, func(node, from, to int) float64 {
		a, b, t := velocities[from], velocities[to], float64(node)*d
		square := (b*b*t - a*a*(t-d)) / d
		if node > 1 && !(square >= o.Bounds[0]*o.Bounds[0] && square <= o.Bounds[1]*o.Bounds[1]) {
			return 1e6
		}
		change := (b - a) / (0.1 * a * d)
		return o.Stiffness * change * change
	})
	out := make([]float64, n)
	for k := range out {
		i := min(k/every, max(0, len(path)-2))
		next := min(i+1, len(path)-1)
		out[k] = velocities[path[i]] + min(1, float64(k-i*every)/float64(every))*(velocities[path[next]]-velocities[path[i]])
	}
	return out
}

// Picks are those along a trajectory: where the semblance, weighted by the energy, is largest within half a window, and not
// below the threshold. The velocity comes from the peak next to the trajectory, unless the peak is too
// wide to say.
func (s *Spectrum) Picks(o Options, trajectory []float64) (picks []Pick) {
	velocities, n := o.Velocities(), len(s.Energy)
	half := counts.Near(o.Window/s.Step/2, 1, n)
	peak, height := make([]int, n), make([]float64, n)
	for k := range n {
		peak[k] = s.climb(velocities, trajectory[k], k)
		height[k] = s.weight(k) * s.at(peak[k], k)
	}
	for k := range n {
		first := max(0, k-half)
		around := height[first:min(n, k+half+1)]
		i := peak[k]
		if height[k] == 0 || first+slices.Index(around, slices.Max(around)) != k || i == 0 || i == len(velocities)-1 {
			continue
		}
		p := Pick{X: s.X, Time: float64(k) * s.Step, Velocity: velocities[i], Semblance: s.at(i, k)}
		before, after := s.at(i-1, k), s.at(i+1, k)
		if bend := before - 2*p.Semblance + after; bend < 0 && p.Semblance >= max(before, after) {
			p.Velocity += o.Step * (before - after) / (2 * bend)
		} else {
			continue // a slope
		}
		if p.Width = s.width(velocities, i, k); p.Semblance < o.Threshold || p.Width > moveout.MostWidth*p.Velocity {
			continue
		}
		p.Certainty = moveout.Certainty(p.Semblance, p.Width/p.Velocity)
		picks = append(picks, p)
	}
	return picks
}

// climb goes from a velocity up to the peak next to it, at most by a share of the velocity.
func (s *Spectrum) climb(velocities []float64, v float64, k int) int {
	step := velocities[1] - velocities[0]
	i := counts.Near((v-velocities[0])/step, 0, len(velocities)-1)
	low, high := max(0, i-int(climbed*v/step)), min(len(velocities)-1, i+int(climbed*v/step))
	for {
		best := i
		for j := max(low, i-1); j <= min(high, i+1); j++ {
			if s.at(j, k) > s.at(best, k) {
				best = j
			}
		}
		if best == i {
			return i
		}
		i = best
	}
}

// width is the range of velocities about a peak in which the semblance is above half of the peak's, m/s.
func (s *Spectrum) width(velocities []float64, i, k int) float64 {
	low, high := i, i
	least := s.at(i, k) / 2
	for low > 0 && s.at(low-1, k) > least {
		low--
	}
	for high < len(velocities)-1 && s.at(high+1, k) > least {
		high++
	}
	return float64(high-low+1) * (velocities[1] - velocities[0])
}

// Fit makes a model of root-mean-square velocities on a grid in time of picks: that of interval velocities within bounds, smooth
// in time and along the line, whose root-mean-square velocities are nearest to the picks by their certainty ([velocity.Model.Damp]).
// misfit is how far off the picks it is, root mean square, as a share.
func Fit(ctx context.Context, g grid.Grid, picks []Pick, bounds [2]float64) (m *velocity.Model, misfit float64, err error) {
	given := &velocity.Model{Grid: g, Kind: velocity.RMS, V: make([]float64, g.Len())}
	o := velocity.DefaultDamping
	o.Deviation = surely * math.Sqrt(g.Spacing[0]*g.Spacing[1]/cells) // whatever the cells: smaller ones have more slopes
	o.Bounds, o.Certainty = bounds, make([]float64, g.Len())
	mean := 0.0
	for _, p := range picks {
		mean += p.Velocity / float64(len(picks))
	}
	for i := range given.V {
		given.V[i] = mean
	}
	n := g.Shape[1]
	for _, p := range picks {
		i := counts.Near((p.X-g.Origin[0])/g.Spacing[0], 0, g.Shape[0]-1)*n + counts.Near(p.Time/g.Spacing[1], 0, n-1)
		if p.Certainty > o.Certainty[i] {
			given.V[i], o.Certainty[i] = p.Velocity, p.Certainty
		}
	}
	interval, told, err := given.Damp(ctx, o)
	if err != nil {
		return nil, 0, err
	}
	m, err = interval.Convert(ctx, velocity.Target{Domain: grid.Time, Kind: velocity.RMS, Spacing: g.Spacing[1], End: g.End(1)})
	return m, told.Misfit, err
}
