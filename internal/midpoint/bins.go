package midpoint

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Bins are the common midpoints of a line, at even steps along it.
type Bins struct {
	Origin, Width float64 // m, the centre of the first bin and the step to the next
	N             int
	Of            []int32   // [ntrace], the bin of each trace; -1 for one of weight 0, which lies in none
	Offset        []float64 // [ntrace], m, along the line, at least 0
	Datum         []float64 // [N], m, the mean z of the sources and receivers; in a bin without traces that of the nearest with some
}

// Sort puts the traces of a 2-D survey into bins of a width, m. A width of 0 is half the step between receivers of one
// source, or between sources of one receiver where that is less.
func Sort(s *survey.Survey, width float64) (*Bins, error) {
	if s.Dim != 2 {
		return nil, fmt.Errorf("survey is %d-D, midpoints are sorted along 2-D lines alone", s.Dim)
	}
	if width == 0 {
		width = naturalWidth(s)
	}
	if !(width > 0) || math.IsInf(width, 0) {
		return nil, fmt.Errorf("width of bins is %g m, must be above 0", width)
	}
	n := s.NumTraces()
	b := &Bins{Width: width, Of: make([]int32, n), Offset: make([]float64, n)}
	middle, lo, hi := make([]float64, n), math.Inf(1), math.Inf(-1)
	for i := range n {
		source, receiver := ends(s, i)
		middle[i], b.Offset[i] = (source[0]+receiver[0])/2, math.Abs(source[0]-receiver[0])
		if counted(s, i) {
			lo, hi = min(lo, middle[i]), max(hi, middle[i])
		}
	}
	if lo > hi {
		return nil, fmt.Errorf("survey has no trace of a weight above 0")
	}
	var err error
	if b.N, err = counts.Of(fmt.Sprintf("bins of %g m", width), math.Round((hi-lo)/width)+1, counts.Most); err != nil {
		return nil, err
	}
	if err := counts.Fit(fmt.Sprintf("bins of %g m", width), 32*float64(b.N)); err != nil {
		return nil, err
	}
	b.Origin = lo
	for i := range n {
		b.Of[i] = -1
		if counted(s, i) {
			b.Of[i] = int32(counts.Near((middle[i]-lo)/width, 0, b.N-1))
		}
	}
	b.findDatum(s)
	return b, nil
}

func ends(s *survey.Survey, trace int) (source, receiver []float64) {
	i, j := s.Pair(trace)
	return s.Source(i), s.Receiver(j)
}

func counted(s *survey.Survey, trace int) bool { return s.Weight == nil || s.Weight[trace] > 0 }

// naturalWidth is half the lesser of the median steps along the line between the receivers of one
// source and between the sources of one receiver; the whole line without any.
func naturalWidth(s *survey.Survey) float64 {
	width := math.Inf(1)
	for _, bySource := range []bool{true, false} {
		type end struct {
			of int
			x  float64
		}
		list := make([]end, s.NumTraces())
		for i := range list {
			source, receiver := s.Pair(i)
			list[i] = end{source, s.Receiver(receiver)[0]}
			if !bySource {
				list[i] = end{receiver, s.Source(source)[0]}
			}
		}
		slices.SortFunc(list, func(a, b end) int { return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.x, b.x)) })
		var steps []float64
		for i := 1; i < len(list); i++ {
			if step := list[i].x - list[i-1].x; list[i].of == list[i-1].of && step > 0 {
				steps = append(steps, step)
			}
		}
		if len(steps) > 0 {
			slices.Sort(steps)
			width = min(width, steps[len(steps)/2]/2)
		}
	}
	if math.IsInf(width, 0) {
		return 1
	}
	return width
}

// findDatum finds the floating datum of all bins.
func (b *Bins) findDatum(s *survey.Survey) {
	b.Datum = make([]float64, b.N)
	fold := b.Fold()
	for i, bin := range b.Of {
		if bin >= 0 {
			source, receiver := ends(s, i)
			b.Datum[bin] += (source[1] + receiver[1]) / 2 / float64(fold[bin])
		}
	}
	last := 0 // the bin with traces at or before this one: the first bin has some
	for i := range b.N {
		if fold[i] > 0 {
			for k := last + 1; k < i; k++ {
				from := last
				if k-last > i-k {
					from = i
				}
				b.Datum[k] = b.Datum[from]
			}
			last = i
		}
	}
}

// X is the centre of a bin, m along the line.
func (b *Bins) X(bin int) float64 { return b.Origin + float64(bin)*b.Width }

// Fold is the number of traces in each bin, [N].
func (b *Bins) Fold() []int {
	fold := make([]int, b.N)
	for _, bin := range b.Of {
		if bin >= 0 {
			fold[bin]++
		}
	}
	return fold
}

// Order lists the traces by bin and in each by offset. The traces of bin i are
// order[cuts[i]:cuts[i+1]].
func (b *Bins) Order() (order []int32, cuts []int) {
	cuts = make([]int, b.N+1)
	for i, n := range b.Fold() {
		cuts[i+1] = cuts[i] + n
	}
	for i, bin := range b.Of {
		if bin >= 0 {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(i, k int32) int {
		return cmp.Or(cmp.Compare(b.Of[i], b.Of[k]), cmp.Compare(b.Offset[i], b.Offset[k]))
	})
	return order, cuts
}
