package dist

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/kirchhoff-lsm/lsm/device"
)

// DotTest measures how far op and its adjoint are from being adjoint to each
// other: with seeded random x and y it returns
//
//	|⟨y, A x⟩ − ⟨Aᵀy, x⟩| / (‖A x‖ ‖y‖),
//
// which for a correct pair is a few units of rounding of its element type (Claerbout,
// "Earth soundings analysis", 1992, calls this the dot-product test). The sign of every
// sample is random, so a fault in one place is not averaged away by positive sums.
func DotTest(ctx context.Context, d device.Device, op Operator, seed uint64) (float64, error) {
	x, err := random(d, op.Domain(), seed)
	if err != nil {
		return 0, err
	}
	y, err := random(d, op.Range(), seed+1)
	if err != nil {
		return 0, err
	}
	w := &Work{Ctx: ctx}
	var ax, aty *Vector
	w.New(d, op.Range(), &ax)
	w.New(d, op.Domain(), &aty)
	w.Apply(op, ax, x)
	w.ApplyAdjoint(op, aty, y)
	dots := w.Dots(Pair{y, ax}, Pair{aty, x}, Pair{ax, ax}, Pair{y, y})
	apart := math.Abs(dots[0] - dots[1])
	if size := math.Sqrt(dots[2]) * math.Sqrt(dots[3]); size > 0 {
		apart /= size
	}
	return apart, w.Err
}

// DotTest is the function DotTest for streamed data with y = A x, weights included. It
// returns |‖A x‖² − ⟨Aᵀ(A x), x⟩| / ‖A x‖².
func (s *Stream) DotTest(ctx context.Context, seed uint64) (float64, error) {
	growth := s.growth
	defer func() { s.growth = growth }()
	x, err := random(s.o.Device, s.Domain(), seed)
	if err != nil {
		return 0, err
	}
	q, err := x.Clone()
	if err != nil {
		return 0, err
	}
	square, err := s.Normal(ctx, q, x)
	if err != nil || square == 0 {
		return 0, err
	}
	d, err := Dot(q, x)
	return math.Abs(d-square) / square, err
}

// random fills a new vector with seeded standard normal numbers. They depend only on the
// global position of an element, so every partition sees the same vector.
func random(d device.Device, l *Layout, seed uint64) (*Vector, error) {
	v, err := NewVector(d, l)
	if err != nil {
		return nil, err
	}
	return v, fillRandom(v, &seed)
}

func fillRandom(v *Vector, seed *uint64) error {
	return v.eachLeaf(func(v *Vector) error {
		l := v.Layout
		*seed++
		x := make([]float64, l.N)
		for i := range x {
			r := rand.NewPCG(*seed<<1, uint64(l.Off+i))
			u1 := (float64(r.Uint64()>>11) + 0.5) / (1 << 53)
			u2 := float64(r.Uint64()>>11) / (1 << 53)
			x[i] = math.Sqrt(-2*math.Log(u1)) * math.Cos(2*math.Pi*u2)
		}
		return device.Upload(v.Buf, x)
	})
}
