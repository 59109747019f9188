package kirchhoff

// gram holds inner products of the columns of the convolution over the record: with c_b[k] = W C T_b
// e[k], what a one at sample k becomes in band b, they are ⟨c_b[k], c_b'[m]⟩. Away from the record's
// ends and where W is even, they depend on m − k alone. All are made from the definition, though,
// so that the ends need no case of their own.
type gram struct {
	h     []float64
	zero  int
	nt    int
	bands *bands
	n     int       // of the bands that are in use
	w2    []float32 // squared weights of the samples; nil for ones

	rows map[[2]int]*gramRow // by b and k
}

// gramRow has the inner products of one column with those of all bands.
type gramRow struct {
	first int         // sample m of the first
	v     [][]float64 // [band b'][m − first]; what lies outside is 0
}

// gram prepares the products of the columns of traces with the squared weights w2.
func (h *Hessian) gram(w2 []float32) *gram {
	return &gram{h: h.h, zero: h.zero, nt: h.p.NT, bands: h.bands, n: h.used, w2: w2, rows: map[[2]int]*gramRow{}}
}

// wide is the longest distance between samples whose columns overlap.
func (g *gram) wide() int { return len(g.h) - 1 + 2*g.longest() }

// longest is the number of samples by which bands smooth to either side.
func (g *gram) longest() int {
	if g.n == 1 {
		return 0
	}
	return -g.bands.triangle[g.n-1].First
}

// room is how far from a column's sample lies what its products depend on.
func (g *gram) room() int { return g.wide() + g.longest() + max(0, -g.zero, g.zero-len(g.h)+1) }

// row returns the inner products of c_b[k].
func (g *gram) row(b, k int) *gramRow {
	key := [2]int{b, k}
	if r := g.rows[key]; r != nil {
		return r
	}
	r := g.make(b, k)
	g.rows[key] = r
	return r
}

// make computes a row on the stretch of the record that columns which overlap c_b[k] reach. It
// runs the loops of convolve and correlate without the zeros.
func (g *gram) make(b, k int) *gramRow {
	lo, hi := max(0, k-g.room()), min(g.nt, k+g.room()+1)
	one, column, back := make([]float64, hi-lo), make([]float64, hi-lo), make([]float64, hi-lo)
	one[k-lo] = 1
	if b > 0 {
		spike := one
		one = make([]float64, hi-lo)
		g.bands.smooth(one, spike, b)
	}
	for n, v := range one {
		for j := max(0, g.zero-n); v != 0 && j < min(len(g.h), len(column)-n+g.zero); j++ {
			column[n+j-g.zero] += v * g.h[j]
		}
	}
	for n, v := range column {
		if g.w2 != nil {
			v *= float64(g.w2[lo+n])
		}
		for j := max(0, n+g.zero-len(back)+1); v != 0 && j < min(len(g.h), n+g.zero+1); j++ {
			back[n-j+g.zero] += v * g.h[j]
		}
	}
	r := &gramRow{first: lo, v: [][]float64{back}}
	for other := 1; other < g.n; other++ {
		v := make([]float64, hi-lo)
		g.bands.smooth(v, back, other)
		r.v = append(r.v, v)
	}
	return r
}

// at is the inner product with c_b[m].
func (r *gramRow) at(b, m int) float64 {
	if m -= r.first; m < 0 || m >= len(r.v[b]) {
		return 0
	}
	return r.v[b][m]
}
