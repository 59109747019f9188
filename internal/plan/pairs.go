package plan

import (
	"iter"
	"math"
)

// Pair is a trace, by the rows of its places, and an image point with its number.
type Pair struct {
	Source, Receiver []float64 // m
	X                []float64 // m
	Point            int
}

// SamplePairs are pairs of a trace and an image point that are spread evenly over all
// traces and the image, by a sequence (Roberts 2018, R_d) that depends on the problem
// alone. A pair holds until the next one.
func (p *Plan) SamplePairs() iter.Seq[Pair] {
	const pairs = 1 << 16
	g, s := p.Image, p.Survey
	numbers := g.Dim() + 1 // that make a pair
	root := 2.0            // of x^(numbers + 1) = x + 1, by repeated roots
	for range 60 {
		root = math.Pow(1+root, 1/float64(numbers+1))
	}
	return func(yield func(Pair) bool) {
		q := Pair{X: make([]float64, g.Dim())}
		for i := range pairs {
			draw := func(number, n int) int {
				_, f := math.Modf(0.5 + float64(i)*math.Pow(root, -float64(number)))
				return min(n-1, int(f*float64(n)))
			}
			q.Point = 0
			for a, n := range g.Shape {
				k := draw(a+1, n)
				q.X[a] = g.Coord(a, k)
				q.Point = q.Point*n + k
			}
			source, receiver := s.Pair(draw(numbers, s.NumTraces()))
			q.Source, q.Receiver = s.Source(source), s.Receiver(receiver)
			if !yield(q) {
				return
			}
		}
	}
}
