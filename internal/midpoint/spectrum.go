package midpoint

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/internal/workers"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Line is a 2-D survey whose traces are read bin by bin.
type Line struct {
	*survey.Survey
	Bins   *Bins
	Traces []int32 // by bin and offset
	Cuts   []int   // of Traces: bin i has those from Cuts[i] to Cuts[i+1]
	Read   func(dst []float32, traces []int32) error
}

// Gather is the traces of some bins, by offset.
type Gather struct {
	Data   []float32 // [trace, NT]
	Offset []float64 // m
}

// Gather reads the bins from first to last.
func (l *Line) Gather(first, last int) (*Gather, error) {
	list := l.Traces[l.Cuts[first]:l.Cuts[last+1]]
	read := make([]float32, len(list)*l.NT)
	if err := l.Read(read, list); err != nil {
		return nil, err
	}
	by := make([]int, len(list))
	for i := range by {
		by[i] = i
	}
	slices.SortStableFunc(by, func(i, k int) int {
		return cmp.Compare(l.Bins.Offset[list[i]], l.Bins.Offset[list[k]])
	})
	g := &Gather{}
	for _, i := range by {
		g.Data = append(g.Data, read[i*l.NT:(i+1)*l.NT]...)
		g.Offset = append(g.Offset, l.Bins.Offset[list[i]])
	}
	return g, nil
}

// Times is how many samples there are of the two-way time from 0 on, every dt, to the end of the traces.
func (l *Line) Times() int { return max(0, int(math.Floor(l.T0/l.DT+1e-6))+l.NT) }

// Options steer a velocity analysis.
type Options struct {
	Least, Greatest, Step float64 // m/s, of velocities that are tried
	Window                float64 // s, over which a semblance sums
	Stretch               float64 // t/τ − 1 up to which samples count
	Stiffness             float64 // semblance that a change of the velocity by 10 % in 1 s must gain
	Threshold             float64 // least semblance of a pick
	Bounds                [2]float64
	Threads               int
}

// Velocities are those that are tried, m/s.
func (o Options) Velocities() []float64 {
	v := make([]float64, int(math.Floor((o.Greatest-o.Least)/o.Step+1e-6))+1)
	for i := range v {
		v[i] = o.Least + float64(i)*o.Step
	}
	return v
}

// Spectrum holds the semblances of one place.
type Spectrum struct {
	X         float64   // m
	Step      float64   // s, between its times, which start at 0
	Semblance []float64 // [velocity, time], 0 where too few traces count
	Energy    []float64 // [time], of what is coherent, over its mean
}

// Scan computes the semblances of a gather whose traces count alike, whatever their amplitude: for each velocity V and
// zero-offset time τ, with the sums over the traces a at √(τ² + x²/V²) and a window of times,
//
//	S = Σ_τ ((Σ a)² − Σ a²) / Σ_τ (N − 1) Σ a²
//
// (Neidell and Taner 1971, Semblance and other coherency measures for multichannel data, Geophysics 36, less the share that
// each trace has in itself, so that S is 0 on average for noise).
func (l *Line) Scan(ctx context.Context, g *Gather, o Options) (*Spectrum, error) {
	velocities, every := o.Velocities(), max(1, int(o.Window/l.DT/8))
	n := (l.Times() + every - 1) / every
	s := &Spectrum{Step: float64(every) * l.DT, Semblance: make([]float64, len(velocities)*n), Energy: make([]float64, n)}
	half := counts.Near(o.Window/s.Step/2, 1, n)
	data := balanced(g.Data, l.NT)
	common := make([]float64, len(s.Semblance))
	err := workers.Each(ctx, o.Threads, len(velocities), func(_, i int) error {
		above, below := make([]float64, n), make([]float64, n)
		for k := range n {
			above[k], below[k] = l.along(data, g.Offset, float64(k)*s.Step, velocities[i], o.Stretch)
		}
		copy(common[i*n:], moveout.Smooth(above, half))
		for k, den := range moveout.Smooth(below, half) {
			if num := common[i*n+k]; num > 0 {
				s.Semblance[i*n+k] = num / den
			}
		}
		return nil
	})
	mean := 0.0
	for i, v := range common {
		s.Energy[i%n] = max(s.Energy[i%n], v)
	}
	for _, v := range s.Energy {
		mean += v / float64(n)
	}
	for k := range s.Energy {
		if mean > 0 {
			s.Energy[k] /= mean
		}
	}
	return s, err
}

// leastTraces is the number of traces that a semblance needs: those of fewer are high by chance.
const leastTraces = 6

// along returns what S has above and below its line at one time.
func (l *Line) along(data []float32, offsets []float64, tau, v, stretch float64) (above, below float64) {
	count, sum, squares := 0, 0.0, 0.0
	most := tau * (1 + stretch)
	for i, x := range offsets {
		t := Arrival(tau, x, v)
		if t > most {
			break
		}
		at := (t - l.T0) / l.DT
		if !(at >= 0 && at < float64(l.NT-1)) {
			continue
		}
		k := int(at)
		pair := data[i*l.NT+k:][:2]
		a := float64(pair[0]) + (at-float64(k))*float64(pair[1]-pair[0])
		if a == 0 { // muted
			continue
		}
		count++
		sum += a
		squares += a * a
	}
	if count < leastTraces {
		return 0, 0
	}
	return sum*sum - squares, float64(count-1) * squares
}

// balanced are traces [trace, nt] whose samples that are not 0 have a mean square of 1.
func balanced(data []float32, nt int) []float32 {
	out := make([]float32, len(data))
	for first := 0; first < len(data); first += nt {
		sum, count := 0.0, 0
		for _, v := range data[first : first+nt] {
			if v != 0 {
				sum += float64(v) * float64(v)
				count++
			}
		}
		if sum == 0 {
			continue
		}
		scale := float32(1 / math.Sqrt(sum/float64(count)))
		for i, v := range data[first : first+nt] {
			out[first+i] = v * scale
		}
	}
	return out
}
