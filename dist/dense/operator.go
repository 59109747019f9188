package dense

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// NewOperator is a matrix as an operator on vectors. domain and rng are leaves of any shape with as
// many elements as the matrix has columns and rows, of its type, over the ranks of its grid: each
// rank may hold all of a vector, or a part of it. It is collective, and all ranks of the grid apply
// it together.
//
// Each tile is multiplied by its part of the vector. The results are brought together along a
// row of the grid, or a column for the adjoint, and added up in the order of the tiles, so that the
// bits of A x and Aᴴ y do not depend on the grid.
func NewOperator(m *Matrix, domain, rng *dist.Layout) (dist.Operator, error) {
	p := &application{m: m}
	for _, end := range []struct {
		l    *dist.Layout
		cuts Cuts
		to   **spread
	}{{domain, m.Columns, &p.domain}, {rng, m.Rows, &p.rng}} {
		if end.l.Parts != nil || end.l.Type != m.Type || end.l.Size() != end.cuts.Len() {
			return nil, fmt.Errorf("dense: %v does not map %v to %v", m, domain, rng)
		}
		var err error
		if *end.to, err = newSpread(m.Grid, end.l); err != nil {
			return nil, err
		}
	}
	return dist.Map("dense matrix", domain, rng,
		func(w *dist.Work, dst, src *dist.Vector) {
			w.Do(func() error { return p.apply(dst, src, p.rng, p.domain, p.forward()) })
		},
		func(w *dist.Work, dst, src *dist.Vector) {
			w.Do(func() error { return p.apply(dst, src, p.domain, p.rng, p.backward()) })
		}), nil
}

// application is a matrix with the places of its vectors.
type application struct {
	m           *Matrix
	domain, rng *spread
}

// spread says which rank holds what of a vector.
type spread struct {
	among        comm.Comm
	first, count []int // by rank
}

func newSpread(g *Grid, l *dist.Layout) (*spread, error) {
	s := &spread{among: g.carrier(l.Shards)}
	all, err := comm.GatherJSON(s.among.Host().AllGather, [2]int{l.Off, l.N})
	for _, h := range all {
		s.first, s.count = append(s.first, h[0]), append(s.count, h[1])
	}
	return s, err
}

// gather returns all of a vector on every rank.
func (s *spread) gather(d device.Device, v device.Buf, size int) (device.Buf, error) {
	if s.among.Size() == 1 {
		return v, nil
	}
	staged, err := d.Alloc(size, v.Type())
	if err != nil {
		return nil, err
	}
	if err := s.among.AllGather(staged, v, s.count); err != nil {
		return nil, err
	}
	whole, err := d.Alloc(size, v.Type())
	at := 0
	for r, n := range s.count {
		if err == nil {
			err = d.Copy(whole.Slice(s.first[r], n), staged.Slice(at, n))
		}
		at += n
	}
	return whole, err
}

// direction is one of the two ways to apply a matrix.
type direction struct {
	adjoint        bool
	cuts, terms    Cuts      // of the results, of what is added up
	results, parts share     // of this rank
	add, join      comm.Comm // ranks whose terms are added; ranks whose results are joined
	product        func(i, j int, x, to device.Buf) blas.Product
}

func (p *application) forward() *direction {
	m, g := p.m, p.m.Grid
	return &direction{false, m.Rows, m.Columns, m.rows, m.columns, g.Row, g.Column,
		func(i, j int, x, to device.Buf) blas.Product {
			t := m.Tile(i, j)
			return blas.Product{C: blas.Tile{Rows: t.Rows, Columns: 1, Buf: to}, A: t, B: blas.Tile{Rows: t.Columns, Columns: 1, Buf: x}}
		}}
}

// backward multiplies from the left by the conjugate of y, so that no tile is transposed.
func (p *application) backward() *direction {
	m, g := p.m, p.m.Grid
	return &direction{true, m.Columns, m.Rows, m.columns, m.rows, g.Column, g.Row,
		func(i, j int, y, to device.Buf) blas.Product {
			t := m.Tile(j, i)
			return blas.Product{C: blas.Tile{Rows: 1, Columns: t.Columns, Buf: to}, A: blas.Tile{Rows: 1, Columns: t.Rows, Buf: y}, B: t}
		}}
}

// apply multiplies the matrix, or its adjoint, by src.
func (p *application) apply(dst, src *dist.Vector, to, from *spread, way *direction) error {
	m, d := p.m, p.m.Grid.Device
	x, err := from.gather(d, src.Buf, way.terms.Len())
	if err != nil {
		return err
	}
	if x, err = p.conjugate(x, way.adjoint); err != nil {
		return err
	}
	mine, err := way.sum(m, x)
	if err != nil {
		return err
	}
	whole, err := way.joined(m, mine)
	if err != nil {
		return err
	}
	if whole, err = p.conjugate(whole, way.adjoint); err != nil {
		return err
	}
	r := to.among.Rank()
	return d.Copy(dst.Buf, whole.Slice(to.first[r], to.count[r]))
}

// conjugate returns the conjugate of a complex vector that an adjoint is applied to or makes.
func (p *application) conjugate(x device.Buf, wanted bool) (device.Buf, error) {
	if !wanted || p.m.Type == device.F32 || p.m.Type == device.F64 {
		return x, nil
	}
	out, err := p.m.Grid.Device.Alloc(x.Len(), x.Type())
	if err != nil {
		return nil, err
	}
	return out, p.m.Grid.Library.Adjoint(blas.Tile{Rows: 1, Columns: x.Len(), Buf: out}, blas.Tile{Rows: x.Len(), Columns: 1, Buf: x})
}

// sum returns the results of this rank's tiles, terms of all ranks added up in order.
func (w *direction) sum(m *Matrix, x device.Buf) (device.Buf, error) {
	g, n := m.Grid, w.results.len()
	terms, err := g.Device.Alloc(n*(len(w.parts.at)-1), m.Type)
	if err != nil {
		return nil, err
	}
	var list []blas.Product
	at := 0
	w.parts.each(0, w.terms.Tiles(), func(j int) {
		w.results.each(0, w.cuts.Tiles(), func(i int) {
			part, to := x.Slice(w.terms[j], w.terms.length(j)), terms.Slice(at+w.results.offset(i), w.cuts.length(i))
			list = append(list, w.product(i, j, part, to))
		})
		at += n
	})
	if err := g.Library.Multiply(1, list); err != nil {
		return nil, err
	}
	return w.added(g, terms, n)
}

// added adds up the terms of n results of all ranks, which lie rank after rank.
func (w *direction) added(g *Grid, terms device.Buf, n int) (device.Buf, error) {
	ranks, tiles := w.add.Size(), w.terms.Tiles()
	counts, first, at := make([]int, ranks), make([]int, ranks), 0
	for r := range ranks {
		first[r], counts[r] = at, n*((tiles-r+ranks-1)/ranks)
		at += counts[r]
	}
	all := terms
	sum, err := g.Device.Alloc(n, terms.Type())
	if err == nil && ranks > 1 {
		if all, err = g.Device.Alloc(at, terms.Type()); err == nil {
			err = w.add.AllGather(all, terms, counts)
		}
	}
	for j := range tiles {
		if err == nil {
			err = g.Device.Axpby(1, all.Slice(first[j%ranks]+n*(j/ranks), n), 1, sum)
		}
	}
	return sum, err
}

// joined returns the results of all ranks in order.
func (w *direction) joined(m *Matrix, mine device.Buf) (device.Buf, error) {
	g, ranks := m.Grid, w.join.Size()
	if ranks == 1 {
		return mine, nil
	}
	counts, shares := make([]int, ranks), make([]share, ranks)
	for r := range ranks {
		shares[r] = newShare(w.cuts, r, ranks)
		counts[r] = shares[r].len()
	}
	staged, err := g.Device.Alloc(w.cuts.Len(), m.Type)
	if err != nil {
		return nil, err
	}
	if err := w.join.AllGather(staged, mine, counts); err != nil {
		return nil, err
	}
	whole, err := g.Device.Alloc(w.cuts.Len(), m.Type)
	at := 0
	for r, s := range shares {
		s.each(0, w.cuts.Tiles(), func(i int) {
			if err == nil {
				n := w.cuts.length(i)
				err = g.Device.Copy(whole.Slice(w.cuts[i], n), staged.Slice(at+s.offset(i), n))
			}
		})
		at += counts[r]
	}
	return whole, err
}
