// Package agreement tells how like each other two images of one place are, as those of a survey's odd and
// even shots: what differs between them the data do not tell.
package agreement

import (
	"fmt"
	"math"
)

const (
	widest   = 25    // points of a window along an axis, at most
	weakness = 0.001 // share of the images' mean power that counts as nothing
)

// Scan compares images a and b of one grid, as they pass, in windows around each point:
//
//	γ = ⟨a b⟩ / (√(⟨a²⟩ ⟨b²⟩) + ε),
//
// ⟨⟩ the mean over a window of 25 points along each axis, or of a quarter of the axis where that is
// shorter, and ε a thousandth of the images' mean power, so that γ is 0 where both are dark. It holds a
// window's planes, not the images.
type Scan struct {
	nx, ny, nz    int
	wx, wy, wz    int
	floor         float64
	take          func(first int, local []float32) error
	ring          [][]float64 // by plane, means within it of a b, a², b², interleaved
	sums          []float64   // of the planes of the ring
	in, out       int         // planes that came, and that were handed on
	agreed, power float64     // sums of γ, and of the γ of equal images
	scratch       []float64
}

// NewScan begins a comparison of images [nx, nz] or [nx, ny, nz]. normA and normB are their norms over all
// points. take is handed γ, in the images' order, in planes that begin at element first.
func NewScan(shape []int, normA, normB float64, take func(first int, local []float32) error) *Scan {
	s := &Scan{nx: shape[0], ny: 1, nz: shape[len(shape)-1], take: take}
	if len(shape) == 3 {
		s.ny = shape[1]
	}
	s.floor = weakness * normA * normB / float64(s.nx*s.Plane())
	window := func(n int) int { return min(widest, n/4|1) }
	s.wx, s.wy, s.wz = window(s.nx), window(s.ny), window(s.nz)
	s.ring = make([][]float64, s.wx)
	s.sums, s.scratch = make([]float64, 3*s.Plane()), make([]float64, 3*max(s.ny, s.nz))
	return s
}

// Plane is the number of points with one x.
func (s *Scan) Plane() int { return s.ny * s.nz }

// Bytes is the memory that a scan of images of the given shape takes.
func Bytes(shape []int) int64 {
	plane := int64(1)
	for _, n := range shape[1:] {
		plane *= int64(n)
	}
	return (widest + 1) * 3 * 8 * plane
}

// Add takes the next planes of both images.
func (s *Scan) Add(a, b []float32) error {
	plane := s.Plane()
	if len(a) != len(b) || len(a)%plane != 0 || s.in+len(a)/plane > s.nx {
		panic(fmt.Sprintf("agreement: %d and %d points beside planes of %d", len(a), len(b), plane))
	}
	for ; len(a) > 0; a, b = a[plane:], b[plane:] {
		s.enter(a[:plane], b[:plane])
		if s.in > s.wx/2 {
			if err := s.leave(); err != nil {
				return err
			}
		}
	}
	return nil
}

// End takes what no plane follows, and returns the mean of γ over that of images that are the same: near 1 for
// such, 0 for two that have nothing in common or are zero.
func (s *Scan) End() (float64, error) {
	if s.in != s.nx {
		panic(fmt.Sprintf("agreement: %d of %d planes", s.in, s.nx))
	}
	for s.out < s.nx {
		s.in++
		s.drop()
		if err := s.leave(); err != nil {
			return 0, err
		}
	}
	if s.power == 0 {
		return 0, nil
	}
	return s.agreed / s.power, nil
}

// enter adds a plane to the window.
func (s *Scan) enter(a, b []float32) {
	s.in++
	s.drop()
	at := &s.ring[s.in%s.wx]
	if *at == nil {
		*at = make([]float64, 3*s.Plane())
	}
	p := *at
	for i, v := range a {
		x, y := float64(v), float64(b[i])
		p[3*i], p[3*i+1], p[3*i+2] = x*y, x*x, y*y
	}
	for y := range s.ny {
		s.smooth(p[3*y*s.nz:], s.nz, 1, s.wz)
	}
	for z := range s.nz {
		s.smooth(p[3*z:], s.ny, s.nz, s.wy)
	}
	for i, v := range p {
		s.sums[i] += v
	}
}

// drop takes away the plane whose place in the ring the next one has.
func (s *Scan) drop() {
	if s.in <= s.wx {
		return
	}
	for i, v := range s.ring[s.in%s.wx] {
		s.sums[i] -= v
	}
}

// smooth replaces n triples, step triples apart, by their means over windows. Beyond the ends are zeros.
func (s *Scan) smooth(x []float64, n, step, window int) {
	if window == 1 {
		return
	}
	line := s.scratch[:3*n]
	for i := range n {
		copy(line[3*i:3*i+3], x[3*i*step:])
	}
	var sum [3]float64
	for i := -window / 2; i < n; i++ {
		for c := range sum {
			if in := i + window/2; in < n {
				sum[c] += line[3*in+c]
			}
			if gone := i - window/2 - 1; gone >= 0 {
				sum[c] -= line[3*gone+c]
			}
			if i >= 0 {
				x[3*i*step+c] = sum[c] / float64(window)
			}
		}
	}
}

// leave hands on γ of the plane in the middle of the window.
func (s *Scan) leave() error {
	local := make([]float32, s.Plane())
	for i := range local {
		x := s.sums[3*i:][:3]
		both := math.Sqrt(max(0, x[1])*max(0, x[2])) / float64(s.wx)
		if both == 0 {
			continue
		}
		g := x[0] / float64(s.wx) / (both + s.floor)
		local[i] = float32(g)
		s.agreed += g
		s.power += both / (both + s.floor)
	}
	s.out++
	if s.take == nil {
		return nil
	}
	return s.take((s.out-1)*s.Plane(), local)
}
