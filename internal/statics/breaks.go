package statics

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// Break is the first break of a trace.
type Break struct {
	Trace     int
	Time      float64 // s
	Deviation float64 // s, standard deviation
}

// Picker picks first breaks: where the ratio of the power in a short window to that in a long one before it first
// stands out (STA/LTA, Allen 1978, Automatic earthquake recognition and timing from single traces, Bulletin of the
// Seismological Society of America 68), and near there where noise and signal part best by Akaike's information
// criterion (Maeda 1985, Zisin 38).
type Picker struct {
	DT, T0 float64 // s, of traces
	Period float64 // s, of the dominant frequency

	lead []float64 // samples from the pick of the wavelet to its time 0, for each of noises
}

// noises are powers of noise over the square of the largest sample of a first arrival: a weak beginning goes under in noise.
var noises = []float64{1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1}

// Settings of a picker: the windows in periods, the least ratio of power after and before a break, the
// ratio whose first one is taken even if larger ones follow, and the power of silence over the largest
// of the trace.
const (
	shortWindow, longWindow = 1.0, 4.0
	before, after           = 3.0, 1.5
	leastRatio, clearRatio  = 4.0, 8.0
	silence                 = 1e-6
)

// NewPicker makes one for traces of a survey with a wavelet of a dominant period, s. Times are of the wavelet's time 0.
func NewPicker(s *survey.Survey, period float64) *Picker {
	p := &Picker{DT: s.DT, T0: s.T0, Period: period}
	room := int(math.Ceil((longWindow + before) * period / s.DT))
	trace := make([]float32, room+len(s.Wavelet.Samples)+room)
	for i, v := range s.Wavelet.Samples {
		trace[room+i] = float32(v)
	}
	for _, noise := range noises {
		lead := 0.0
		if k := len(p.lead); k > 0 {
			lead = p.lead[k-1]
		}
		if at, _, _, ok := p.pick(trace, 0, len(trace), noise); ok {
			lead = float64(room+s.Wavelet.Zero) - at
		}
		p.lead = append(p.lead, lead)
	}
	return p
}

// leadIn is the lead in noise of a power, linear in its logarithm between those of noises.
func (p *Picker) leadIn(noise float64) float64 {
	i, _ := slices.BinarySearch(noises, noise)
	if i == 0 || i == len(noises) {
		return p.lead[min(i, len(noises)-1)]
	}
	f := math.Log(noise/noises[i-1]) / math.Log(noises[i]/noises[i-1])
	return p.lead[i-1] + f*(p.lead[i]-p.lead[i-1])
}

// Pick picks the break of a trace between two times; ok is false where nothing stands out.
func (p *Picker) Pick(trace []float32, from, to float64) (time, deviation float64, ok bool) {
	first := max(0, int((from-p.T0)/p.DT-p.lead[0]))
	last := min(len(trace), int(math.Ceil((to-p.T0)/p.DT))+1)
	at, sigma, noise, ok := p.pick(trace, first, last, silence)
	if !ok {
		return 0, 0, false
	}
	return p.T0 + (at+p.leadIn(noise))*p.DT, sigma * p.DT, true
}

// samples is the number of samples in the given number of periods.
func (p *Picker) samples(periods float64) int {
	return max(2, int(math.Round(periods*p.Period/p.DT)))
}

// pick finds a break among the samples from first to before last, and its standard deviation, in samples. quiet is the power
// that is silence over the square of the largest sample; noise is the power before the break over that after it.
func (p *Picker) pick(trace []float32, first, last int, quiet float64) (at, deviation, noise float64, ok bool) {
	power := make([]float64, len(trace)+1) // summed
	peak := 0.0
	for i, v := range trace {
		square := float64(v) * float64(v)
		power[i+1] = power[i] + square
		peak = max(peak, square)
	}
	floor := quiet * peak
	short, long := p.samples(shortWindow), p.samples(longWindow)
	mean := func(a, b int) float64 {
		a, b = max(0, a), min(len(trace), b)
		return (power[b]-power[a])/float64(max(1, b-a)) + floor
	}
	ratio := func(i int) float64 { return mean(i, i+short) / mean(i-long, i) }
	most := 0.0
	for i := max(first, short); i < last-1; i++ {
		most = max(most, ratio(i))
	}
	coarse := max(first, short)
	for coarse < last-1 && ratio(coarse) < max(leastRatio, min(most, clearRatio)) {
		coarse++
	}
	if coarse >= last-1 || peak == 0 {
		return 0, 0, 0, false
	}
	for coarse < last-2 && ratio(coarse+1) > ratio(coarse) {
		coarse++
	}
	for i := range max(0, coarse-2*short) { // what is as strong before the break came first
		if mean(i, i+short) > mean(coarse, coarse+short)/2 {
			return 0, 0, 0, false
		}
	}
	a, b := max(0, coarse-p.samples(before)), min(len(trace), coarse+p.samples(after))
	if b-a < 6 {
		return 0, 0, 0, false
	}
	at, deviation = akaike(b-a, func(i, j int) float64 { return mean(a+i, a+j) })
	at += float64(a)
	largest := 0.0
	for _, v := range trace[int(at):min(len(trace), int(at)+p.samples(after))] {
		largest = max(largest, float64(v)*float64(v))
	}
	return at, deviation, mean(a, int(at)) / largest, true
}

// akaike finds where n samples part into two of different power best, and the standard deviation of that.
func akaike(n int, power func(i, j int) float64) (at, deviation float64) {
	criterion := make([]float64, n)
	best := 2
	for k := 2; k < n-2; k++ {
		criterion[k] = float64(k)*math.Log(power(0, k)) + float64(n-k)*math.Log(power(k, n))
		if criterion[k] < criterion[best] {
			best = k
		}
	}
	at = float64(best)
	if best > 2 && best < n-3 {
		if bend := criterion[best-1] - 2*criterion[best] + criterion[best+1]; bend > 0 {
			at += 0.5 * (criterion[best-1] - criterion[best+1]) / bend
		}
	}
	// Akaike's weights exp(−ΔAIC/2); the criterion is n log σ² (Burnham and Anderson 2002, section 2.9).
	sum, square := 0.0, 1.0/12
	for k := 2; k < n-2; k++ {
		w := math.Exp(-(criterion[k] - criterion[best]) / 2)
		sum += w
		square += w * math.Pow(float64(k)-at, 2)
	}
	return at, math.Sqrt(square / max(sum, 1))
}

// offsetBins is the number of classes of offset in which breaks are compared.
const offsetBins = 40

// Trend is the median time of breaks by offset, with how far off the median one is.
type Trend struct {
	offset, time []float64
	Spread       float64 // s, the median distance of a break from the trend
}

// NewTrend finds that of breaks.
func NewTrend(s *survey.Survey, breaks []Break) *Trend {
	type point struct{ offset, time float64 }
	var all []point
	for _, b := range breaks {
		all = append(all, point{s.Offset(b.Trace), b.Time})
	}
	slices.SortFunc(all, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.time, b.time))
	})
	t := &Trend{}
	for i := range offsetBins {
		part := all[i*len(all)/offsetBins : (i+1)*len(all)/offsetBins]
		if len(part) == 0 {
			continue
		}
		var x, y []float64
		for _, p := range part {
			x, y = append(x, p.offset), append(y, p.time)
		}
		if m := median(x); len(t.offset) == 0 || m > t.offset[len(t.offset)-1] {
			t.offset, t.time = append(t.offset, m), append(t.time, median(y))
		}
	}
	var off []float64
	for _, p := range all {
		off = append(off, math.Abs(p.time-t.At(p.offset)))
	}
	t.Spread = median(off)
	return t
}

// At is the time at an offset, linear between medians and beyond them.
func (t *Trend) At(offset float64) float64 {
	n := len(t.offset)
	if n == 0 {
		return 0
	}
	if n == 1 {
		return t.time[0]
	}
	i, _ := slices.BinarySearch(t.offset, offset)
	i = max(1, min(i, n-1))
	f := (offset - t.offset[i-1]) / (t.offset[i] - t.offset[i-1])
	return t.time[i-1] + f*(t.time[i]-t.time[i-1])
}

// Near is how far, s, a break may lie from the trend.
func (t *Trend) Near(period float64) float64 { return max(5*t.Spread, period) }

// median is the median of v, which it sorts; 0 without any.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return stat.Quantile(0.5, stat.LinInterp, v, nil)
}

// Settings of a first search: velocities of first arrivals, m/s, and periods before and
// after.
const (
	slowest, fastest = 250.0, 8000.0
	searchBefore     = 2.0
	searchAfter      = 6.0
)

// pieceTraces is how many traces are read at a time.
const pieceTraces = 256

// Picked are the first breaks of a survey.
type Picked struct {
	Breaks []Break
	Trend  *Trend
	Silent int // traces in which nothing stands out
	Off    int // traces whose breaks lie off those of other traces of the same offsets
}

// PickAll picks the first breaks of all traces. Where one is far from those of other traces of about its offset it is
// looked for again near them, and given up if nothing stands out there. read fills dst, [n, NT], with traces from first on; several
// goroutines call it at once. done is called with the number of traces after each piece, twice for all.
func (p *Picker) PickAll(ctx context.Context, s *survey.Survey, read func(dst []float32, first, n int) error, done func(n int)) (*Picked, error) {
	found := make([]Break, s.NumTraces()) // deviation 0: none
	out := &Picked{}
	search := func(window func(trace int) (from, to float64, wanted bool)) error {
		return eachPiece(ctx, s.NumTraces(), func(first, n int) error {
			data := make([]float32, n*s.NT)
			if err := read(data, first, n); err != nil {
				return err
			}
			for i := range n {
				from, to, wanted := window(first + i)
				if !wanted {
					continue
				}
				b := Break{Trace: first + i}
				var ok bool
				if b.Time, b.Deviation, ok = p.Pick(data[i*s.NT:(i+1)*s.NT], from, to); !ok {
					b.Deviation = 0
				}
				found[first+i] = b
			}
			done(n)
			return nil
		})
	}
	err := search(func(i int) (from, to float64, wanted bool) {
		x := s.Offset(i)
		return x/fastest - searchBefore*p.Period, x/slowest + searchAfter*p.Period, true
	})
	if err != nil {
		return nil, err
	}
	out.Trend = NewTrend(s, picked(found))
	near := out.Trend.Near(p.Period)
	off := func(b Break) bool { return math.Abs(b.Time-out.Trend.At(s.Offset(b.Trace))) > near }
	err = search(func(i int) (from, to float64, wanted bool) {
		t := out.Trend.At(s.Offset(i))
		return t - near, t + near, found[i].Deviation == 0 || off(found[i])
	})
	if err != nil {
		return nil, err
	}
	for i, b := range found {
		switch {
		case b.Deviation == 0:
			out.Silent++
		case off(b):
			out.Off++
			found[i].Deviation = 0
		}
	}
	out.Breaks = picked(found)
	out.Trend = NewTrend(s, out.Breaks)
	return out, nil
}

// picked are the breaks that were found.
func picked(all []Break) (list []Break) {
	for _, b := range all {
		if b.Deviation > 0 {
			list = append(list, b)
		}
	}
	return list
}

// eachPiece calls do for all of n traces, in pieces, several at once.
func eachPiece(ctx context.Context, n int, do func(first, n int) error) error {
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for first := 0; first < n; first += pieceTraces {
		workers.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return do(first, min(pieceTraces, n-first))
		})
	}
	return workers.Wait()
}
