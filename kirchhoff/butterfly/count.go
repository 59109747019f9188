package butterfly

// Count is what an application of the factorised sums takes in one direction, counted, not measured.
type Count struct {
	Products     float64 // flop of the complex products of matrices
	Transforms   float64 // flop from spectra to sums in time
	Interpolated float64 // flop from sums to points
	Bytes        float64 // with all that a part needs read once and all that it makes written once
}

// Flop are those of all parts.
func (c Count) Flop() float64 { return c.Products + c.Transforms + c.Interpolated }

// Count counts the parts that o sums. A part of n_s rows and n_r columns over P points, of ranks q_s
// and q_r, with n_f frequencies and n_t samples of its sums, takes
//
//	8 n_f n_s q_r (n_r + q_s)             flop in two batches of n_f complex products
//	4 n_f n_t q_s q_r + 2 taps P q_s q_r  flop in transforms and interpolation
//	8 n_f (n_s n_r + n_r q_r + n_s q_s + 2 n_s q_r + 2 q_s q_r)
//	+ 8 n_t q_s q_r + 4 P (q_s + q_r + 4) bytes
//
// Weights of its traces take 2 n_f n_s n_r q_r flop and 4 n_s n_r q_r bytes more.
func (o *Operator) Count() (c Count) {
	nf := float64(o.band.nf)
	for i, list := range o.parts {
		points := float64(o.windows[i].len())
		for _, p := range list {
			b := o.blocks[p.number]
			s, r := p.sides(o, i)
			ns, nr := float64(o.rows(b)), float64(b.width)
			qs, qr, nt := float64(s.rank), float64(r.q), float64(p.rows)
			c.Products += 8 * nf * ns * qr * (nr + qs)
			if p.weighed {
				c.Products += 2 * nf * ns * nr * qr
				c.Bytes += 4 * ns * nr * qr
			}
			c.Transforms += 4 * nf * nt * qs * qr
			c.Interpolated += 2 * float64(o.band.taps) * points * qs * qr
			c.Bytes += 8*nf*(ns*nr+nr*qr+ns*qs+2*ns*qr+2*qs*qr) + 8*nt*qs*qr + 4*points*(qs+qr+4)
		}
	}
	return c
}
