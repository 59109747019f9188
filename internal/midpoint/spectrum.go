package midpoint

import (
	"context"
	"math"

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

	// Replacement is the velocity, m/s, with which traces are moved from where they were recorded to the floating datum
	// of their bin; 0: they are there.
	Replacement float64
}

// Gather is the traces of some bins, bin by bin and in each by offset.
type Gather struct {
	Data   []float32 // [trace, NT]
	T0     []float64 // s, of the first sample, from the floating datum
	Offset []float64 // m
	Cuts   []int     // bin i has the traces from Cuts[i] to Cuts[i+1]
}

// Gather reads the bins from first to last.
func (l *Line) Gather(first, last int) (*Gather, error) {
	list := l.Traces[l.Cuts[first]:l.Cuts[last+1]]
	g := &Gather{Data: make([]float32, len(list)*l.NT)}
	for _, trace := range list {
		g.Offset, g.T0 = append(g.Offset, l.Bins.Offset[trace]), append(g.T0, l.T0+l.Elevation(int(trace)))
	}
	for _, cut := range l.Cuts[first : last+2] {
		g.Cuts = append(g.Cuts, cut-l.Cuts[first])
	}
	return g, l.Read(g.Data, list)
}

// Elevation is how much later, s, a trace would have been recorded from the floating datum of its bin.
func (l *Line) Elevation(trace int) float64 {
	if l.Replacement == 0 {
		return 0
	}
	source, receiver := ends(l.Survey, trace)
	return (source[1] + receiver[1] - 2*l.Bins.Datum[l.Bins.Of[trace]]) / l.Replacement
}

// Times is how many samples there are of the two-way time from 0 on, every dt, to the end of the traces.
func (l *Line) Times() int { return max(0, int(math.Floor(l.T0/l.DT+1e-6))+l.NT) }

// Options steer a velocity analysis.
type Options struct {
	Least, Greatest, Step float64    // m/s, of velocities that are tried
	Window                float64    // s, over which a semblance sums
	Stretch               float64    // t/τ − 1 up to which samples count
	Stiffness             float64    // semblance that a change of the velocity by 10 % in 1 s must gain
	Threshold             float64    // least semblance of a pick
	Bounds                [2]float64 // m/s, of interval velocities
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
	Every     int       // samples of the traces from one of its times to the next
	Step      float64   // s, the same; times start at 0
	Semblance []float32 // [velocity, time], 0 where too few traces count
	Energy    []float64 // [time], of the coherent part, over its mean
}

// Scan computes the semblances of a gather whose traces are balanced over ten windows first: for each velocity V and
// zero-offset time τ, with the sums over the traces a of a bin at √(τ² + x²/V²), a window of times, and the bins,
//
//	S = Σ_τ Σ_bins ((Σ a)² − Σ a²) / Σ_τ Σ_bins (N − 1) Σ a²
//
// (Neidell and Taner 1971, Semblance and other coherency measures for multichannel data, Geophysics 36, less the share that
// each trace has in itself, so that S is 0 on average for noise). Traces of different bins are not compared, since layers dip.
func (l *Line) Scan(ctx context.Context, g *Gather, o Options) (*Spectrum, error) {
	velocities, every := o.Velocities(), counts.Near(math.Floor(o.Window/l.DT/8), 1, max(1, l.Times()/8))
	n := (l.Times() + every - 1) / every
	s := &Spectrum{Every: every, Step: float64(every) * l.DT, Semblance: make([]float32, len(velocities)*n), Energy: make([]float64, n)}
	half := counts.Near(o.Window/s.Step/2, 1, n)
	data := balanced(g.Data, l.NT, counts.Near(even*o.Window/l.DT/2, 1, l.NT))
	common := make([]float64, len(s.Semblance))
	err := workers.Each(ctx, o.Threads, len(velocities), func(_, i int) error {
		above, below := make([]float64, n), make([]float64, n)
		for k := range n {
			above[k], below[k] = l.along(data, g, float64(k)*s.Step, velocities[i], o.Stretch)
		}
		copy(common[i*n:], moveout.Smooth(above, half))
		for k, den := range moveout.Smooth(below, half) {
			if num := common[i*n+k]; num > 0 {
				s.Semblance[i*n+k] = float32(num / den)
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

// leastPairs is how many pairs of traces a semblance needs: that of fewer may be high by chance.
const leastPairs = 15

// along returns what S has above and below its line at one time.
func (l *Line) along(data []float32, g *Gather, tau, v, stretch float64) (above, below float64) {
	pairs, most := 0, tau*(1+stretch)
	for bin := range len(g.Cuts) - 1 {
		count, sum, squares := 0, 0.0, 0.0
		for i := g.Cuts[bin]; i < g.Cuts[bin+1]; i++ {
			t := Arrival(tau, g.Offset[i], v)
			if t > most {
				break
			}
			at := (t - g.T0[i]) / l.DT
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
		if count > 1 {
			pairs += count * (count - 1) / 2
			above += sum*sum - squares
			below += float64(count-1) * squares
		}
	}
	if pairs < leastPairs {
		return 0, 0
	}
	return above, below
}

// even is how many windows of a semblance the level of a trace is taken over, quiet the share of its level below which a part
// of a trace is not raised further.
const even, quiet = 10, 0.01

// balanced are traces [trace, nt], each divided by its root mean square around every sample, so that neither strong traces nor
// strong arrivals hide the others. Samples that are 0 are muted and do not count.
func balanced(data []float32, nt, half int) []float32 {
	out, squares, live := make([]float32, len(data)), make([]float64, nt+1), make([]int, nt+1)
	for first := 0; first < len(data); first += nt {
		trace := data[first : first+nt]
		for i, v := range trace {
			squares[i+1], live[i+1] = squares[i]+float64(v)*float64(v), live[i]
			if v != 0 {
				live[i+1]++
			}
		}
		if live[nt] == 0 {
			continue
		}
		floor := quiet * math.Sqrt(squares[nt]/float64(live[nt]))
		for i, v := range trace {
			if v != 0 {
				from, to := max(0, i-half), min(nt, i+half+1)
				rms := math.Sqrt(max(0, squares[to]-squares[from]) / float64(live[to]-live[from]))
				out[first+i] = float32(float64(v) / (rms + floor))
			}
		}
	}
	return out
}
