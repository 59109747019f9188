package butterfly

import "math"

// What follows is replaced by package simd.

// phases sets re, im [nf][len(delay)] to exp(2πi k df delay).
func phases(re, im []float32, delay []float64, df float64, nf int) {
	n := len(delay)
	for k := range nf {
		for i, t := range delay {
			s, c := math.Sincos(2 * math.Pi * float64(k) * df * t)
			re[k*n+i], im[k*n+i] = float32(c), float32(s)
		}
	}
}

// matrix is a complex matrix in two planes.
type matrix struct {
	re, im []float32
	stride int
}

// multiply adds A B to C, [m][k] and [k][n]. With across, A is [k][m]. With conjugate, A is conjugated.
func multiply(c, a, b matrix, m, k, n int, across, conjugate bool) {
	for i := range m {
		cr, ci := c.re[i*c.stride:][:n], c.im[i*c.stride:][:n]
		for l := range k {
			at := i*a.stride + l
			if across {
				at = l*a.stride + i
			}
			ar, ai := a.re[at], a.im[at]
			if conjugate {
				ai = -ai
			}
			br, bi := b.re[l*b.stride:][:n], b.im[l*b.stride:][:n]
			for j := range br {
				cr[j] += ar*br[j] - ai*bi[j]
				ci[j] += ar*bi[j] + ai*br[j]
			}
		}
	}
}

// transform adds Σ_k D[k][t] B[k][j] to O[t][j]; with across D is [t][k].
func transform(o, d, b []float32, rows, k, n, ldo, ldd, ldb int, across bool) {
	for t := range rows {
		out := o[t*ldo:][:n]
		for l := range k {
			at := l*ldd + t
			if across {
				at = t*ldd + l
			}
			v := d[at]
			for j, x := range b[l*ldb:][:n] {
				out[j] += v * x
			}
		}
	}
}

// spline sets b to the B-spline of len(b) taps at w in [0, 1).
func spline(b []float32, w float32) {
	switch u := 1 - w; len(b) {
	case 2:
		b[0], b[1] = u, w
	case 3:
		b[0], b[1], b[2] = 0.5*u*u, 0.5+w*u, 0.5*w*w
	default:
		b[0], b[3] = u*u*u/6, w*w*w/6
		b[1] = 2.0/3 - w*w*(1-0.5*w)
		b[2] = 1 - b[0] - b[1] - b[3]
	}
}

// last adds Σ_m b_m Σ_kj ls[p][k] lr[p][j] v[i+m][k][j] to the image, or its transpose to v.
func last(image, ts, tr, ls, lr, v []float32, qs, qr int, t0, rate float64, taps int, transposed bool) {
	var b [4]float32
	for p := range image {
		t := (float64(ts[p]) + float64(tr[p]) - t0) * rate
		i := int(math.Floor(t))
		spline(b[:taps], float32(t-float64(i)))
		sum := float32(0)
		for m, w := range b[:taps] {
			row := v[(i+m)*qs*qr:][:qs*qr]
			for k, a := range ls[p*qs:][:qs] {
				if transposed {
					a *= w * image[p]
					for j, c := range lr[p*qr:][:qr] {
						row[k*qr+j] += a * c
					}
					continue
				}
				s := float32(0)
				for j, c := range lr[p*qr:][:qr] {
					s += c * row[k*qr+j]
				}
				sum += w * a * s
			}
		}
		if !transposed {
			image[p] += sum
		}
	}
}

// expand sets l [point][q] to the weights of a skeleton at all points of a window.
func expand(l []float32, s *skeleton, w *window) {
	p, x := 0, make([]float64, s.q)
	w.walk(func(i, j, k int) {
		s.at(x, w, [3]int{i, j, k})
		for n, v := range x {
			l[p*s.q+n] = float32(v)
		}
		p++
	})
}
