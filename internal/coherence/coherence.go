// Package coherence weighs recorded samples by how well an image predicts them. An operator of
// primaries cannot predict later arrivals and multiples. They are coherent from trace to
// trace, so neither a norm nor a stack of the misfit tells them from signal. But where they
// are strong, the prediction is weak in comparison.
package coherence

import (
	"cmp"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/workers"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Weights are the weights of the samples of some traces, W = √(P/(P + R + ε max R)). P and R are the
// mean squares of prediction and misfit over a window of time and over the neighbouring traces
// of the shot, and max R is the largest R of the shot. Weights are kept in steps of 1/65535 at every
// Step-th sample, and are linear between.
type Weights struct {
	Step   int // samples
	Nodes  int // of a trace
	Values []uint16
}

// Windows say over what means are taken.
type Windows struct {
	Half    int     // samples of the window of time to either side of its middle
	Reach   float64 // m, how far receivers of neighbouring traces lie apart at most
	Threads int
}

// One represents the weight 1.
const One = math.MaxUint16

const (
	neighbours = 4    // traces of the shot besides the trace itself
	floor      = 1e-4 // ε
)

// WindowsFor returns the windows for a wavelet with the given period, in s, at the peak of its
// spectrum, and the slowest velocity, in m/s. They span two periods, and a wavelength.
func WindowsFor(period, velocity, dt float64, threads int) Windows {
	return Windows{Half: int(max(1, math.Round(period/dt))), Reach: velocity * period, Threads: threads}
}

// New makes room for the weights of some traces of nt samples. They are 0.
func New(w Windows, traces, nt int) *Weights {
	nodes := (nt-1+w.Half-1)/w.Half + 1
	return &Weights{Step: w.Half, Nodes: nodes, Values: make([]uint16, traces*nodes)}
}

// Find sets the weights of the traces of a shot from first on. predicted and recorded are these
// traces, [trace][nt], with the weights that they have already; at are the traces in the survey.
func (c *Weights) Find(w Windows, s *survey.Survey, at []int32, first int, predicted, recorded []float32) {
	n, nt := len(at), s.NT
	squares := make([][2]float64, n*c.Nodes)
	inParallel(w.Threads, n, func(i int) {
		c.average(w, squares[i*c.Nodes:(i+1)*c.Nodes], predicted[i*nt:(i+1)*nt], recorded[i*nt:(i+1)*nt])
	})
	near := nearest(s, at, w.Reach)
	means, worst := make([][2]float64, len(squares)), make([]float64, n)
	inParallel(w.Threads, n, func(i int) {
		for k := range c.Nodes {
			var sum [2]float64
			for _, j := range near[i] {
				sum[0] += squares[j*c.Nodes+k][0]
				sum[1] += squares[j*c.Nodes+k][1]
			}
			m := &means[i*c.Nodes+k]
			m[0], m[1] = sum[0]/float64(len(near[i])), sum[1]/float64(len(near[i]))
			worst[i] = max(worst[i], m[1])
		}
	})
	least := floor * slices.Max(worst)
	for i, m := range means {
		if m[0] > 0 {
			c.Values[first*c.Nodes+i] = uint16(math.Round(One * math.Sqrt(m[0]/(m[0]+m[1]+least))))
		}
	}
}

// average sets the mean squares of prediction and misfit at the nodes of a trace.
func (c *Weights) average(w Windows, dst [][2]float64, predicted, recorded []float32) {
	nt := len(predicted)
	sums := make([][2]float64, nt+1)
	for k, p := range predicted {
		r := float64(recorded[k]) - float64(p)
		sums[k+1] = [2]float64{sums[k][0] + float64(p)*float64(p), sums[k][1] + r*r}
	}
	for i := range dst {
		lo, hi := max(0, min(i*c.Step, nt-1)-w.Half), min(nt, min(i*c.Step, nt-1)+w.Half+1)
		for a := range dst[i] {
			dst[i][a] = (sums[hi][a] - sums[lo][a]) / float64(hi-lo)
		}
	}
}

// Multiply multiplies samples of a trace, of this rank's the one with the given number, by their weights.
func (c *Weights) Multiply(x []float32, trace int) {
	v := c.Values[trace*c.Nodes : (trace+1)*c.Nodes]
	for k := range x {
		i, j := k/c.Step, k%c.Step
		a := float32(v[i])
		if j > 0 {
			a += float32(j) / float32(c.Step) * (float32(v[i+1]) - a)
		}
		x[k] *= a / One
	}
}

// nearest lists for each trace those of the shot, itself included, whose receivers are nearest.
func nearest(s *survey.Survey, at []int32, reach float64) [][]int {
	n := len(at)
	place := func(i int) []float64 {
		_, rec := s.Pair(int(at[i]))
		return s.Receiver(rec)[:s.Dim-1]
	}
	order := make([]int, n) // along x
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(place(a)[0], place(b)[0]) })
	near := make([][]int, n)
	type other struct {
		trace    int
		distance float64
	}
	for rank, i := range order {
		var found []other
		here := place(i)
		limit := reach
		for _, step := range []int{-1, 1} {
			for k := rank + step; k >= 0 && k < n; k += step {
				there := place(order[k])
				if math.Abs(there[0]-here[0]) > limit {
					break
				}
				d := math.Abs(there[0] - here[0])
				if len(here) > 1 {
					d = math.Hypot(d, there[1]-here[1])
				}
				if d > limit {
					continue
				}
				found = append(found, other{order[k], d})
				slices.SortFunc(found, func(a, b other) int {
					return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.trace, b.trace))
				})
				if len(found) > neighbours {
					found = found[:neighbours]
				}
				if len(found) == neighbours {
					limit = found[neighbours-1].distance
				}
			}
		}
		near[i] = []int{i}
		for _, o := range found {
			near[i] = append(near[i], o.trace)
		}
		slices.Sort(near[i])
	}
	return near
}

// inParallel calls f for 0 to n − 1, each of some threads for some of them.
func inParallel(threads, n int, f func(i int)) {
	var all workers.Group
	for t := range min(threads, n) {
		all.Go(func() error {
			for i := t; i < n; i += threads {
				f(i)
			}
			return nil
		})
	}
	all.Wait() // nothing fails
}
