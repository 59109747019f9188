package velocity

import (
	"context"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
)

// CountUnrealPicks is the number of layers between picks of RMS velocities at two-way times in which Dix's formula has no velocity, or
// one beyond the bounds, and that of all layers.
func CountUnrealPicks(rms []Pick, bounds [2]float64) (unreal, layers int, err error) {
	list, err := dixLayers(rms)
	for _, l := range list {
		if !within(l.square, bounds) {
			unreal++
		}
	}
	return unreal, len(list), err
}

// Picks are damped on points in time fineTime apart, s, on mostTimes at most.
const fineTime, mostTimes = 0.004, 1001

// DampPicks finds velocities by depth whose RMS velocities are nearly those of picks at two-way times, as [Model.Damp] does. Each pick
// is one measurement of the deviation.
func DampPicks(ctx context.Context, rms []Pick, o Damping) (Profile, *Damped, error) {
	layers, err := dixLayers(rms)
	if err != nil {
		return nil, nil, err
	}
	end := layers[len(layers)-1].end
	n := counts.Near(math.Ceil(end/fineTime)+1, 3, mostTimes)
	step := end / float64(n-1)
	m := &Model{Grid: grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{1, step}, Shape: []int{1, n}, Domain: grid.Time}, Kind: RMS}
	mean := 0.0
	for _, l := range layers {
		mean += l.rms / float64(len(layers))
	}
	m.V = slices.Repeat([]float64{mean}, n)
	o.Certainty = make([]float64, n)
	for _, l := range layers {
		k := counts.Near(l.end/step, 1, n-1)
		m.V[k], o.Certainty[k] = l.rms, 1
	}
	o.Deviation *= math.Sqrt(step / dampedTime) // penalties of slopes are sums over points
	out, told, err := m.Damp(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	rays, err := out.Verticals()
	if err != nil {
		return nil, nil, err
	}
	var p Profile
	for k, v := range out.V {
		p = append(p, Pick{rays[0].Depth(float64(k) * step), v})
	}
	told.Unreal, _, err = CountUnrealPicks(rms, o.Bounds)
	return p, told, err
}
