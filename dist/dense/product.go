package dense

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device/blas"
)

// Multiply computes C = α A B + β C, where A and B are matrices or adjoints of matrices on the
// grid of C. Rows and columns must be cut alike where they meet. With β = 0 the old C is not
// read. C must be neither A nor B. With Grid.Overlap, panel K + 1 is broadcast while panel K is
// multiplied. Tiles of an adjoint are first sent, n²/N elements a rank in all, to where those of
// a plain matrix would be; that is not hidden. On a card the product may be under way when
// Multiply returns. It is collective.
func Multiply(ctx context.Context, c *Matrix, alpha float64, a, b Operand, beta float64) error {
	if err := fits(c, a, b); err != nil {
		return err
	}
	if err := scale(c, beta); err != nil {
		return err
	}
	left, err := newPanels(a, true)
	if err != nil {
		return err
	}
	defer left.free()
	right, err := newPanels(b, false)
	if err != nil {
		return err
	}
	defer right.free()
	tiles := left.each.Tiles()
	if tiles == 0 {
		return nil
	}
	next, err := start(ctx, left, right, 0)
	if err != nil {
		return err
	}
	for k := range tiles {
		now := next
		if err = now.wait(); err != nil {
			return err
		}
		finish, err := c.begin(alpha, now.left, now.right)
		if err != nil {
			return err
		}
		more := k+1 < tiles
		if more {
			if next, err = start(ctx, left, right, k+1); err != nil {
				return errors.Join(err, finish())
			}
		}
		if err = finish(); err != nil {
			if more {
				err = errors.Join(err, next.wait()) // no message may be under way any more
			}
			return err
		}
	}
	return nil
}

// starter is the library if products can be under way while this goroutine sends panels.
func (g *Grid) starter() (blas.Starter, bool) {
	s, ok := g.Library.(blas.Starter)
	return s, ok && g.Overlap
}

// begin begins to add α times the product of two panels, or leaves all of it to finish. Panels
// that are fetched before finish may have the memory of any but these two.
func (m *Matrix) begin(alpha float64, left, right *panel) (finish func() error, err error) {
	list := m.products(left, right)
	if s, ok := m.Grid.starter(); ok {
		return s.Start(alpha, list)
	}
	return func() error { return m.Grid.Library.Multiply(alpha, list) }, nil
}

// fits refuses factors that do not go together.
func fits(c *Matrix, a, b Operand) error {
	rows, inner := a.shape()
	other, columns := b.shape()
	switch {
	case a.Grid != c.Grid || b.Grid != c.Grid:
		return fmt.Errorf("dense: product of matrices on different grids")
	case a.Type != c.Type || b.Type != c.Type:
		return fmt.Errorf("dense: product of %v and %v into %v: types differ", a.Matrix, b.Matrix, c)
	case a.Matrix == c || b.Matrix == c:
		return fmt.Errorf("dense: product of %v into one of its factors", c)
	case !slices.Equal(rows, c.Rows) || !slices.Equal(columns, c.Columns) || !slices.Equal(inner, other):
		return fmt.Errorf("dense: product of %d×%d by %d×%d into %v: shapes or cuts do not fit",
			rows.Len(), inner.Len(), other.Len(), columns.Len(), c)
	}
	return nil
}

func scale(c *Matrix, beta float64) error {
	switch beta {
	case 0:
		return c.Grid.Device.Zero(c.buf)
	case 1:
		return nil
	}
	return c.Grid.Device.Axpby(beta, c.buf, 0, c.buf)
}

// products multiplies a column panel and a row panel for the tiles of this rank.
func (m *Matrix) products(left, right *panel) (list []blas.Product) {
	m.columns.each(right.from, right.to, func(j int) {
		m.rows.each(left.from, left.to, func(i int) {
			list = append(list, blas.Product{C: m.Tile(i, j), A: left.tile(i), B: right.tile(j)})
		})
	})
	return list
}

// pair is a column panel and a row panel on their way.
type pair struct {
	left, right *panel
	wait        func() error
}

// start sends panels k on their way. No other call that involves other ranks may come before
// wait has returned.
func start(ctx context.Context, left, right *panels, k int) (p *pair, err error) {
	if err := left.Grid.stopped(ctx); err != nil {
		return nil, err
	}
	p = &pair{}
	if p.left, err = left.collect(k, 0, left.along.Tiles()); err != nil {
		return nil, err
	}
	if p.right, err = right.collect(k, 0, right.along.Tiles()); err != nil {
		return nil, err
	}
	send := func() error {
		among, root := left.route(k)
		if err := broadcast(among, p.left.buf, root); err != nil {
			return err
		}
		among, root = right.route(k)
		return broadcast(among, p.right.buf, root)
	}
	if _, ok := left.Grid.starter(); ok { // which sends without waiting, or while a card works
		p.wait = func() error { return nil }
		return p, send()
	}
	if !left.Grid.Overlap {
		p.wait = send
		return p, nil
	}
	done := make(chan error, 1)
	p.wait = func() error { return <-done }
	go func() { done <- send() }()
	return p, nil
}
