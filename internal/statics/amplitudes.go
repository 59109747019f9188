package statics

import (
	"context"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/midpoint"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Terms of offsets, linear in between and closer for small ones, and of midpoints over the length of the largest offset.
const (
	offsetTerms   = 12
	midpointTerms = 8
)

// Deviations of the logarithms of terms of places and of midpoints. Traces don't tell terms of sources and receivers that grow along
// the line from one of midpoints.
const (
	placeDeviation    = 0.5
	midpointDeviation = 0.5
)

// Amplitudes are the factors of each source and receiver, [ns] and [nr], with a geometric mean of 1,
// from the root mean squares of all traces; those that are 0 do not count. Each is a product of terms
// of the source, the receiver, the offset and, on a line, the midpoint, whose logarithms are found by
// least squares, robustly.
func Amplitudes(ctx context.Context, s *survey.Survey, rms []float64) (source, receiver []float64, err error) {
	ns, nr := s.NumSources(), s.NumReceivers()
	near, far := s.Offsets()
	n := ns + nr + offsetTerms
	bin := func(int) int { return -1 }
	if s.Dim == 2 {
		b, err := midpoint.Sort(s, max(BinWidth(s), far/midpointTerms))
		if err != nil {
			return nil, nil, err
		}
		n += b.N
		bin = func(trace int) int { return int(b.Of[trace]) }
	}
	sys := newSystem(n)
	for i, v := range rms {
		if !(v > 0) {
			continue
		}
		from, to := s.Pair(i)
		at := (offsetTerms - 1) * math.Sqrt((s.Offset(i)-near)/max(far-near, 1))
		k := counts.Near(math.Floor(at), 0, offsetTerms-2)
		row := []entry{{from, 1}, {ns + to, 1}, {ns + nr + k, 1 - at + float64(k)}, {ns + nr + k + 1, at - float64(k)}}
		if b := bin(i); b >= 0 {
			row = append(row, entry{ns + nr + offsetTerms + b, 1})
		}
		sys.measure(math.Log(v), 1, row...)
	}
	for i := range n {
		switch {
		case i < ns+nr:
			sys.wish(placeDeviation, entry{i, 1})
		case i >= ns+nr+offsetTerms:
			sys.wish(midpointDeviation, entry{i, 1})
		}
	}
	terms, _, err := sys.solve(ctx)
	if err != nil {
		return nil, nil, err
	}
	return exponents(terms[:ns]), exponents(terms[ns : ns+nr]), nil
}

// exponents are e to the power of values less their mean.
func exponents(values []float64) []float64 {
	mean := 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.Exp(v - mean)
	}
	return out
}
