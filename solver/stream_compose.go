package solver

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// StreamRow adds the row R x, which is to be 0, to a problem: that of the stack of A
// and R.
func StreamRow(n Streamed, r dist.Operator) (Streamed, error) {
	row := &streamRow{Streamed: n, r: r}
	err := allocate(func() (*dist.Vector, error) { return dist.NewVector(n.Device(), r.Range()) }, &row.rx)
	if err == nil {
		err = allocate(func() (*dist.Vector, error) { return dist.NewVector(n.Device(), r.Domain()) }, &row.rrx)
	}
	return row, err
}

type streamRow struct {
	Streamed
	r       dist.Operator
	rx, rrx *dist.Vector // scratch
}

func (s *streamRow) square(ctx context.Context, x *dist.Vector) (float64, error) {
	if err := s.r.Apply(ctx, s.rx, x); err != nil {
		return 0, err
	}
	d, err := dist.Dot(s.rx, s.rx)
	return real(d), err
}

// add adds a RᴴR x to dst and returns ‖R x‖².
func (s *streamRow) add(ctx context.Context, a float64, dst, x *dist.Vector) (float64, error) {
	square, err := s.square(ctx, x)
	if err != nil {
		return 0, err
	}
	if err := s.r.ApplyAdjoint(ctx, s.rrx, s.rx); err != nil {
		return 0, err
	}
	return square, dist.Axpby(a, s.rrx, 1, dst)
}

func (s *streamRow) Normal(ctx context.Context, q, p *dist.Vector) (float64, error) {
	square, err := s.Streamed.Normal(ctx, q, p)
	if err != nil {
		return 0, err
	}
	more, err := s.add(ctx, 1, q, p)
	return square + more, err
}

func (s *streamRow) Gradient(ctx context.Context, g, x *dist.Vector) (float64, error) {
	square, err := s.Streamed.Gradient(ctx, g, x)
	if err != nil || x == nil {
		return square, err
	}
	more, err := s.add(ctx, -1, g, x)
	return square + more, err
}

func (s *streamRow) Penalty(ctx context.Context, x *dist.Vector) (float64, error) {
	square, err := s.Streamed.Penalty(ctx, x)
	if err != nil {
		return 0, err
	}
	more, err := s.square(ctx, x)
	return square + more, err
}

// StreamChange changes variables: the problem for y where x = D y.
func StreamChange(n Streamed, d dist.Operator) (Streamed, error) {
	c := &streamChange{Streamed: n, d: d}
	return c, allocate(func() (*dist.Vector, error) { return dist.NewVector(n.Device(), n.Domain()) }, &c.x, &c.g)
}

type streamChange struct {
	Streamed
	d    dist.Operator
	x, g *dist.Vector // scratch
}

func (s *streamChange) Domain() *dist.Layout { return s.d.Domain() }

func (s *streamChange) Normal(ctx context.Context, q, p *dist.Vector) (float64, error) {
	if err := s.d.Apply(ctx, s.x, p); err != nil {
		return 0, err
	}
	square, err := s.Streamed.Normal(ctx, s.g, s.x)
	if err != nil {
		return 0, err
	}
	return square, s.d.ApplyAdjoint(ctx, q, s.g)
}

func (s *streamChange) Gradient(ctx context.Context, g, y *dist.Vector) (float64, error) {
	x := y
	if y != nil {
		if err := s.d.Apply(ctx, s.x, y); err != nil {
			return 0, err
		}
		x = s.x
	}
	square, err := s.Streamed.Gradient(ctx, s.g, x)
	if err != nil {
		return 0, err
	}
	return square, s.d.ApplyAdjoint(ctx, g, s.g)
}

func (s *streamChange) Penalty(ctx context.Context, y *dist.Vector) (float64, error) {
	if err := s.d.Apply(ctx, s.x, y); err != nil {
		return 0, err
	}
	return s.Streamed.Penalty(ctx, s.x)
}
