package job

import (
	"iter"
	"math"
)

// pair is a trace, by the rows of its places, and an image point with its number.
type pair struct {
	source, receiver []float64 // m
	x                []float64 // m
	point            int
}

// samplePairs are pairs of a trace and an image point that are spread evenly over all
// traces and the image, by a sequence (Roberts 2018, R_d) that depends on the problem
// alone. A pair holds until the next one.
func (j *Job) samplePairs() iter.Seq[pair] {
	const pairs = 1 << 16
	g, s := j.Image, j.Survey
	numbers := g.Dim() + 1 // that make a pair
	root := 2.0            // of x^(numbers + 1) = x + 1, by repeated roots
	for range 60 {
		root = math.Pow(1+root, 1/float64(numbers+1))
	}
	return func(yield func(pair) bool) {
		p := pair{x: make([]float64, g.Dim())}
		for i := range pairs {
			draw := func(number, n int) int {
				_, f := math.Modf(0.5 + float64(i)*math.Pow(root, -float64(number)))
				return min(n-1, int(f*float64(n)))
			}
			p.point = 0
			for a, n := range g.Shape {
				k := draw(a+1, n)
				p.x[a] = g.Coord(a, k)
				p.point = p.point*n + k
			}
			source, receiver := s.Pair(draw(numbers, s.NumTraces()))
			p.source, p.receiver = s.Source(source), s.Receiver(receiver)
			if !yield(p) {
				return
			}
		}
	}
}
