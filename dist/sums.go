package dist

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
)

// Sums are sums of float64 numbers without rounding. They have the same bits in whatever order,
// and on whatever ranks, their terms are added. A sum holds at least 2³⁰ terms.
type Sums struct{ of []exact }

// SumBytes is the memory that each of several Sums takes, in bytes.
const SumBytes = 8 * words

// NewSums are n sums of nothing.
func NewSums(n int) *Sums { return &Sums{make([]exact, n)} }

// Add adds a term to each sum.
func (s *Sums) Add(terms []float64) {
	if len(terms) != len(s.of) {
		panic(fmt.Sprintf("dist: %d terms for %d sums", len(terms), len(s.of)))
	}
	for i, v := range terms {
		s.of[i].add(v)
	}
}

// Round returns the sums over all ranks of c, each rounded once. All ranks must have as many sums.
// It is collective.
func (s *Sums) Round(c comm.Comm) ([]float64, error) {
	out := make([]float64, len(s.of))
	const most = 1 << 14 // sums that are sent at a time
	for from := 0; from < len(s.of); from += most {
		part := s.of[from:min(from+most, len(s.of))]
		if c.Size() > 1 {
			w := make([]float64, 0, len(part)*words)
			for i := range part {
				w = part[i].pack(w)
			}
			if err := c.Host().AllReduce(w, comm.Sum); err != nil {
				return nil, err
			}
			for i := range part {
				part[i] = unpack(w[i*words:])
			}
		}
		for i := range part {
			out[from+i] = part[i].round()
		}
	}
	return out, nil
}
