package simd_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// on runs a test on all sets of kernels that the processor has.
func on(t *testing.T, f func(t *testing.T, isa ISA, r *rand.Rand)) {
	for isa := Portable; isa <= Best(); isa++ {
		t.Run(isa.String(), func(t *testing.T) { f(t, isa, rand.New(rand.NewPCG(1, 2))) })
	}
}

// noise is n numbers within ±1 that begin at no particular address.
func noise(r *rand.Rand, n int) []float32 {
	x := make([]float32, n+3)[r.IntN(3):][:n]
	for i := range x {
		x[i] = 2*r.Float32() - 1
	}
	return x
}

func noises(r *rand.Rand, n int) Complex { return Complex{Re: noise(r, n), Im: noise(r, n)} }

func clone(x []float32) []float32 { return append([]float32(nil), x...) }

// apart is the norm of x − want over that of want.
func apart(x []float32, want []float64) float64 {
	var gap, norm float64
	for i, v := range want {
		gap += (float64(x[i]) - v) * (float64(x[i]) - v)
		norm += v * v
	}
	return math.Sqrt(gap / max(norm, 1e-30))
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func inner(x, y []float32) (sum float64) {
	for i, v := range x {
		sum += float64(v) * float64(y[i])
	}
	return sum
}

func TestPhases(t *testing.T) {
	on(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for _, n := range []int{0, 16, 48, 256, 272, 1024} {
			const f0, df, nf = 2.5, 5 / 6.0, 237 // to 200 Hz
			delay := noise(r, n)
			for i := range delay {
				delay[i] *= 0.5
			}
			for _, at := range []int{0, 1} {
				if n > 0 {
					delay[at] = float32(at-1) / 2 // whole cycles at some frequencies
				}
			}
			re, im := noise(r, n*nf+1), noise(r, n*nf+1)
			past := [2]float32{re[n*nf], im[n*nf]}
			isa.Phases(re, im, delay, f0, df, nf)
			worst := 0.0
			for f := range nf {
				for i, d := range delay {
					want := cmplx.Rect(1, 2*math.Pi*(f0+df*float64(f))*float64(d))
					got := complex(float64(re[f*n+i]), float64(im[f*n+i]))
					worst = max(worst, cmplx.Abs(got-want))
				}
			}
			if worst > 5e-7+1.5e-9*nf {
				t.Errorf("%d delays: an error of %g", n, worst)
			}
			if past != [2]float32{re[n*nf], im[n*nf]} {
				t.Errorf("%d delays: the element after the last is written", n)
			}
		}
	})
}

// productOf is what Multiply should set C to.
func productOf(c, a, b Complex, batch, m, k, n int, how Product) (re, im []float64) {
	return weighedOf(c, a, b, Real{}, batch, m, k, n, how)
}

// weighedOf is what MultiplyWeighed should set C to; of no weights, Multiply.
func weighedOf(c, a, b Complex, w Real, batch, m, k, n int, how Product) (re, im []float64) {
	re, im = wide(c.Re), wide(c.Im)
	for s := range batch {
		for i := range m {
			for j := range n {
				at := s*c.Step + i*c.Stride + j
				sum := complex(0, 0)
				if how&Add != 0 {
					sum = complex(re[at], im[at])
				}
				for l := range k {
					x := s*a.Step + i*a.Stride + l
					if how&Transposed != 0 {
						x = s*a.Step + l*a.Stride + i
					}
					v := complex(float64(a.Re[x]), float64(a.Im[x]))
					if how&Conjugate != 0 {
						v = cmplx.Conj(v)
					}
					if w.V != nil {
						v *= complex(float64(w.V[(i*k+l)*w.Stride+j]), 0)
					}
					y := s*b.Step + l*b.Stride + j
					sum += v * complex(float64(b.Re[y]), float64(b.Im[y]))
				}
				re[at], im[at] = real(sum), imag(sum)
			}
		}
	}
	return re, im
}

// matrices are a batch of noise, rows [stride] with some elements to spare.
func matrices(r *rand.Rand, batch, rows, columns int) Complex {
	stride := columns + r.IntN(20)
	step := rows*stride + r.IntN(20)
	c := noises(r, batch*step)
	c.Stride, c.Step = stride, step
	return c
}

// shapeOfA is that of A in memory.
func shapeOfA(p Product, m, k int) (rows, columns int) {
	if p&Transposed != 0 {
		return k, m
	}
	return m, k
}

func TestMultiply(t *testing.T) {
	on(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for how := range Add | Transposed | Conjugate + 1 {
			for _, size := range [][4]int{{1, 1, 1, 16}, {3, 7, 5, 48}, {2, 13, 1, 32}, {1, 25, 33, 64}, {2, 64, 64, 16}, {3, 5, 6, 32}, {1, 8, 0, 16}, {1, 0, 3, 16}, {0, 4, 4, 16}} {
				batch, m, k, n := size[0], size[1], size[2], size[3]
				rows, columns := shapeOfA(how, m, k)
				a, b, c := matrices(r, batch, rows, columns), matrices(r, batch, k, n), matrices(r, batch, m, n)
				if batch > 2 {
					a.Step = 0
				}
				re, im := productOf(c, a, b, batch, m, k, n, how)
				isa.Multiply(c, a, b, batch, m, k, n, how)
				if err := max(apart(c.Re, re), apart(c.Im, im)); err > 1e-6 {
					t.Errorf("how %d, batch, m, k, n %d: an error of %g", how, size, err)
				}
			}
		}
	})
}

// TestMultiplyWeighed: each term of a product has its weight.
func TestMultiplyWeighed(t *testing.T) {
	on(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for how := range Add | Transposed | Conjugate + 1 {
			for _, size := range [][4]int{{1, 1, 1, 16}, {3, 7, 5, 48}, {2, 13, 1, 32}, {1, 25, 33, 64}, {3, 5, 6, 32}, {1, 8, 0, 16}, {1, 0, 3, 16}, {0, 4, 4, 16}} {
				batch, m, k, n := size[0], size[1], size[2], size[3]
				rows, columns := shapeOfA(how, m, k)
				a, b, c := matrices(r, batch, rows, columns), matrices(r, batch, k, n), matrices(r, batch, m, n)
				stride := n + r.IntN(20)
				w := Real{noise(r, m*k*stride), stride}
				re, im := weighedOf(c, a, b, w, batch, m, k, n, how)
				isa.MultiplyWeighed(c, a, b, w, batch, m, k, n, how)
				if err := max(apart(c.Re, re), apart(c.Im, im)); err > 1e-6 {
					t.Errorf("how %d, batch, m, k, n %d: an error of %g", how, size, err)
				}
			}
		}
	})
}

// TestAperture: weights fall as a cosine before the edge, on both sides; an axis may be without.
func TestAperture(t *testing.T) {
	on(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		const m, n = 5, 48
		along := [2]Aperture{{Edge: 20, Width: 6}, {Edge: 30, Width: 30}}
		var row, column [2][]float32
		for axis := range row {
			row[axis], column[axis] = noise(r, m), noise(r, n)
			for i := range column[axis] {
				column[axis][i] *= 40
			}
		}
		for _, at := range [][2]Aperture{along, {along[0], {}}, {{}, along[1]}, {}} {
			w, want := noise(r, m*n), make([]float64, m*n)
			for k := range want {
				want[k] = 1
				for axis, a := range at {
					if u := math.Abs(float64(row[axis][k/n]) + float64(column[axis][k%n])); a.Width > 0 {
						want[k] *= 0.5 + 0.5*math.Cos(math.Pi*min(1, max(0, (u-a.Edge+a.Width)/a.Width)))
					}
				}
			}
			isa.Aperture(w, at, row, column)
			if err := apart(w, want); err > 1e-6 {
				t.Errorf("apertures %v: an error of %g", at, err)
			}
		}
	})
}

// TestAmplitude: weights are b_s b_r |p_s + p_r| of rays that are told relative to straight ones.
func TestAmplitude(t *testing.T) {
	on(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		const q, stabiliser = 32, 7.5
		number := [2]int{3, 5} // of rows and columns
		straight := Straight{Stabiliser: stabiliser}
		for a := range straight.To {
			straight.To[a] = noise(r, q)
		}
		var at [2][]float32
		b, p := [2][]float64{}, [2][][3]float64{} // [place][point]
		for side, n := range number {
			at[side], straight.From = noise(r, n*4*q), noise(r, n*3)
			for i := range n * q {
				place, point := i/q, i%q
				f := func(k int) float64 { return float64(at[side][(4*place+k)*q+point]) }
				var d [3]float64
				for a := range d {
					d[a] = float64(straight.To[a][point]) - float64(straight.From[3*place+a])
				}
				length := math.Sqrt(d[0]*d[0] + d[1]*d[1] + d[2]*d[2])
				b[side] = append(b[side], f(0)/(length+stabiliser))
				p[side] = append(p[side], [3]float64{f(1) + d[0]/length, f(2) + d[1]/length, f(3) + d[2]/length})
			}
			isa.Rays(at[side], &straight)
		}
		w := noise(r, number[0]*number[1]*q)
		want := make([]float64, len(w))
		for i := range want {
			s, c := i/q/number[1]*q+i%q, i/q%number[1]*q+i%q
			sum := 0.0
			for a := range 3 {
				x := p[0][s][a] + p[1][c][a]
				sum += x * x
			}
			want[i] = float64(w[i]) * b[0][s] * b[1][c] * math.Sqrt(sum)
		}
		isa.Amplitude(w, at[0], at[1], number[0], number[1], q)
		if err := apart(w, want); err > 1e-6 {
			t.Errorf("an error of %g", err)
		}
	})
}

// TestMultiplyTransposed: products by A and by its conjugate transpose, of the same array.
func TestMultiplyTransposed(t *testing.T) {
	on(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		const batch, m, k, n = 3, 21, 35, 32
		a, x, y := matrices(r, batch, m, k), matrices(r, batch, k, n), matrices(r, batch, m, n)
		ax, ay := noises(r, batch*m*n), noises(r, batch*k*n)
		ax.Stride, ax.Step, ay.Stride, ay.Step = n, m*n, n, k*n
		isa.Multiply(ax, a, x, batch, m, k, n, 0)
		isa.Multiply(ay, a, y, batch, k, m, n, Transposed|Conjugate)
		dot := func(u, v Complex, rows int) (sum, norm float64) {
			for s := range batch {
				for i := range rows {
					at, to := s*u.Step+i*u.Stride, s*v.Step+i*v.Stride
					sum += inner(u.Re[at:at+n], v.Re[to:to+n]) + inner(u.Im[at:at+n], v.Im[to:to+n])
					norm += inner(u.Re[at:at+n], u.Re[at:at+n]) + inner(u.Im[at:at+n], u.Im[at:at+n])
				}
			}
			return sum, norm
		}
		left, norm := dot(ax, y, m)
		right, _ := dot(ay, x, k)
		_, other := dot(y, y, m)
		if gap := math.Abs(left - right); gap > 1e-6*math.Sqrt(norm*other) {
			t.Errorf("⟨A x, y⟩ is %g, ⟨x, A* y⟩ %g", left, right)
		}
	})
}

func TestTransform(t *testing.T) {
	on(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for how := range Add | Transposed + 1 {
			for _, size := range [][3]int{{1, 1, 16}, {7, 5, 48}, {13, 1, 32}, {61, 146, 80}, {24, 0, 16}, {0, 3, 16}} {
				rows, k, n := size[0], size[1], size[2]
				m, columns := shapeOfA(how, rows, k)
				d, b, o := matrices(r, 1, m, columns), matrices(r, 1, k, n), matrices(r, 1, rows, n)
				// A product of matrices without imaginary part.
				zero := make([]float32, 1<<16)
				o.Im = zero[:len(o.Re)]
				want, _ := productOf(o, Complex{d.Re, zero, d.Stride, 0}, Complex{b.Re, zero, b.Stride, 0}, 1, rows, k, n, how)
				isa.Transform(Real{o.Re, o.Stride}, Real{d.Re, d.Stride}, Real{b.Re, b.Stride}, rows, k, n, how)
				if err := apart(o.Re, want); err > 1e-6 {
					t.Errorf("how %d, rows, k, n %d: an error of %g", how, size, err)
				}
			}
		}
	})
}

// stage is a random one whose points lie around all of the record.
func stage(r *rand.Rand, points, qs, qr, nt, taps int) *Stage {
	s := &Stage{QS: qs, QR: qr, StrideS: qs + r.IntN(3), T0: 0.25, DT: 0.002, NT: nt, Stride: qs*qr + r.IntN(20), Taps: taps}
	s.TS, s.TR, s.LS, s.LR = noise(r, points), make([]float32, points), noise(r, points*s.StrideS), noise(r, points*qr)
	for p := range s.TR {
		s.TR[p] = s.T0 - s.TS[p] + float32(s.DT)*(float32(nt+12)*r.Float32()-6)
	}
	return s
}

// spline is B-spline m of so many taps at w, by the recursion.
func spline(taps int, x float64) float64 {
	if taps == 1 {
		if x >= 0 && x < 1 {
			return 1
		}
		return 0
	}
	d := float64(taps - 1)
	return (x*spline(taps-1, x) + (d+1-x)*spline(taps-1, x-1)) / d
}

// eachSample calls f for all samples that points take of the traces, and with which weights.
func eachSample(s *Stage, f func(p, at int, weight float64)) {
	for p := range s.TS {
		t := (s.TS[p] + s.TR[p] - s.T0) * float32(1/s.DT)
		i := int(math.Floor(float64(t)))
		if i < 0 || i+s.Taps > s.NT {
			continue
		}
		for m := range s.Taps {
			b := spline(s.Taps, float64(s.Taps-1-m)+float64(t)-float64(i))
			for k := range s.QS {
				for j := range s.QR {
					f(p, (i+m)*s.Stride+k*s.QR+j, b*float64(s.LS[p*s.StrideS+k])*float64(s.LR[p*s.QR+j]))
				}
			}
		}
	}
}

func TestStage(t *testing.T) {
	on(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for _, size := range [][4]int{{1, 1, 16, 2}, {37, 3, 16, 3}, {64, 16, 16, 2}, {100, 7, 48, 4}, {33, 28, 32, 3}, {65, 5, 32, 4}, {50, 12, 48, 2}, {20, 4, 16, 4}, {0, 4, 16, 2}, {77, 1, 32, 2}, {300, 1, 48, 4}, {500, 9, 16, 3}} {
			points, qs, qr, taps := size[0], size[1], size[2], size[3]
			s := stage(r, points, qs, qr, 40, taps)
			v, image := noise(r, s.NT*s.Stride), noise(r, points)
			got, want := clone(image), wide(image)
			eachSample(s, func(p, at int, weight float64) { want[p] += weight * float64(v[at]) })
			isa.Interpolate(got, v, s)
			if err := apart(got, want); err > 2e-6 {
				t.Errorf("points, qs, qr, taps %d: interpolated with an error of %g", size, err)
			}
			from, sums := clone(v), wide(v)
			eachSample(s, func(p, at int, weight float64) { sums[at] += weight * float64(image[p]) })
			isa.Spread(from, image, s)
			if err := apart(from, sums); err > 1e-6 {
				t.Errorf("points, qs, qr, taps %d: spread with an error of %g", size, err)
			}
		}
	})
}

func TestStageTransposed(t *testing.T) {
	on(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for taps := 2; taps <= 4; taps++ {
			for _, q := range [][2]int{{16, 16}, {27, 32}, {5, 48}, {1, 32}} {
				s := stage(r, 301, q[0], q[1], 50, taps)
				v, image := noise(r, s.NT*s.Stride), noise(r, len(s.TS))
				av, ai := make([]float32, len(image)), make([]float32, len(v))
				isa.Interpolate(av, v, s)
				isa.Spread(ai, image, s)
				if x, y, size := inner(av, image), inner(ai, v), math.Sqrt(inner(av, av)*inner(image, image)); math.Abs(x-y) > 1e-6*size {
					t.Errorf("%d taps, q %d: ⟨A v, x⟩ is %g, ⟨v, Aᵀ x⟩ %g, of at most %g", taps, q, x, y, size)
				}
			}
		}
	})
}

// TestStageEnds: of points off the record, or at no time, nothing is read or written, whatever is there.
func TestStageEnds(t *testing.T) {
	on(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		nan := float32(math.NaN())
		for taps := 2; taps <= 4; taps++ {
			s := &Stage{QS: 1, QR: 16, StrideS: 1, DT: 0.5, NT: taps + 1, Stride: 16, Taps: taps}
			s.TS = []float32{-0.25, nan, 1, float32(math.Inf(1)), 1e30, -1e30, 0.75, -1e-9}
			n := len(s.TS)
			s.TR, s.LS, s.LR = make([]float32, n), noise(r, n), noise(r, n*16)
			v, image := make([]float32, s.NT*16), make([]float32, n)
			for i := range v {
				v[i] = nan
			}
			isa.Interpolate(image, v, s)
			for p, x := range image {
				if inside := p == 6; inside != (x != x) {
					t.Errorf("%d taps: at time %g the image is %g", taps, s.TS[p], x)
				}
			}
			clear(v)
			for i := range image {
				image[i] = nan
			}
			image[6] = 0
			isa.Spread(v, image, s)
			if inner(v, v) != 0 {
				t.Errorf("%d taps: points off the record are spread", taps)
			}
		}
	})
}

func TestExpand(t *testing.T) {
	on(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for _, size := range [][7]int{{1, 1, 1, 1, 1, 1, 16}, {5, 3, 7, 2, 3, 4, 48}, {8, 9, 33, 8, 5, 7, 16}, {3, 1, 26, 4, 1, 8, 32}, {4, 0, 4, 2, 2, 2, 16}} {
			n, of, q := [3]int(size[:3]), [3]int(size[3:6]), size[6]
			points := n[0] * n[1] * n[2]
			nodes, l := noise(r, of[0]*of[1]*of[2]*q), noise(r, points*q)
			var m [3][]float32
			for a := range m {
				m[a] = noise(r, n[a]*of[a])
			}
			pos := make([]int32, points)
			for i, at := range r.Perm(points) {
				pos[i] = int32(at)
			}
			for _, pos := range [][]int32{pos, nil} {
				want := make([]float64, points*q)
				for p := range points {
					at, x, y, z := p, p/n[2]/n[1], p/n[2]%n[1], p%n[2]
					if pos != nil {
						at = int(pos[p])
					}
					for i := range of[0] * of[1] * of[2] {
						a, b, c := i/of[2]/of[1], i/of[2]%of[1], i%of[2]
						w := float64(m[0][x*of[0]+a]) * float64(m[1][y*of[1]+b]) * float64(m[2][z*of[2]+c])
						for j := range q {
							want[at*q+j] += w * float64(nodes[i*q+j])
						}
					}
				}
				isa.Expand(l, nodes, m[0], m[1], m[2], n, of, q, pos)
				if err := apart(l, want); err > 1e-6 {
					t.Errorf("sizes %d, places given %v: an error of %g", size, pos != nil, err)
				}
			}
		}
	})
}

// TestButterflySizes: arrays that are too short are noticed before C reads them.
func TestButterflySizes(t *testing.T) {
	x := func(n int) []float32 { return make([]float32, n) }
	m := func(n, stride int) Complex { return Complex{Re: x(n), Im: x(n), Stride: stride} }
	s := func(change func(s *Stage)) *Stage {
		s := &Stage{TS: x(2), TR: x(2), LS: x(6), LR: x(32), QS: 3, QR: 16, StrideS: 3, DT: 1, NT: 4, Stride: 48, Taps: 2}
		change(s)
		return s
	}
	for name, f := range map[string]func(){
		"delays":       func() { Portable.Phases(x(30), x(30), x(15), 0, 1, 2) },
		"cosines":      func() { Portable.Phases(x(31), x(32), x(16), 0, 1, 2) },
		"columns":      func() { Portable.Multiply(m(64, 8), m(64, 8), m(64, 8), 1, 2, 2, 8, 0) },
		"A":            func() { Portable.Multiply(m(32, 16), m(5, 3), m(48, 16), 1, 2, 3, 16, 0) },
		"A transposed": func() { Portable.Multiply(m(32, 16), m(5, 2), m(48, 16), 1, 2, 3, 16, Transposed) },
		"B":            func() { Portable.Multiply(m(32, 16), m(6, 3), m(47, 16), 1, 2, 3, 16, 0) },
		"C":            func() { Portable.Multiply(m(31, 16), m(6, 3), m(48, 16), 1, 2, 3, 16, 0) },
		"stride":       func() { Portable.Multiply(m(64, 8), m(6, 3), m(48, 16), 1, 2, 3, 16, 0) },
		"batch":        func() { Portable.Multiply(Complex{x(32), x(32), 16, 1}, m(6, 3), m(48, 16), 2, 2, 3, 16, 0) },
		"step":         func() { Portable.Multiply(Complex{x(32), x(32), 16, -1}, m(6, 3), m(48, 16), 2, 2, 3, 16, 0) },
		"conjugate":    func() { Portable.Transform(Real{x(16), 16}, Real{x(1), 1}, Real{x(16), 16}, 1, 1, 16, Conjugate) },
		"taps":         func() { Portable.Interpolate(x(2), x(192), s(func(s *Stage) { s.Taps = 5 })) },
		"times":        func() { Portable.Interpolate(x(2), x(192), s(func(s *Stage) { s.TR = x(1) })) },
		"weights":      func() { Portable.Spread(x(192), x(2), s(func(s *Stage) { s.LS = x(5) })) },
		"traces":       func() { Portable.Spread(x(191), x(2), s(func(s *Stage) {})) },
		"receivers":    func() { Portable.Spread(x(192), x(2), s(func(s *Stage) { s.QR = 15 })) },
		"place": func() {
			Portable.Expand(x(32), x(16), x(2), x(1), x(1), [3]int{2, 1, 1}, [3]int{1, 1, 1}, 16, []int32{0, 2})
		},
		"places": func() {
			Portable.Expand(x(32), x(16), x(2), x(1), x(1), [3]int{2, 1, 1}, [3]int{1, 1, 1}, 16, []int32{0})
		},
		"matrix":         func() { Portable.Expand(x(32), x(16), x(1), x(1), x(1), [3]int{2, 1, 1}, [3]int{1, 1, 1}, 16, nil) },
		"transpose":      func() { Portable.Transpose(Real{x(11), 4}, Real{x(12), 3}, 4, 3) },
		"fold":           func() { Portable.Fold(x(64), x(64), x(3), 16) },
		"folded":         func() { Portable.Unfold(x(64), x(63), x(2), 16) },
		"negative sizes": func() { Portable.Multiply(m(32, 16), m(6, 3), m(48, 16), 1, -2, 3, 16, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

// BenchmarkButterfly has the sizes of two clusters of 8 × 8 places and a tile of 32³ points.
func BenchmarkButterfly(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const places, nf, side, nodes = 64, 73, 32, 8
	array := func(b *testing.B, n int) []float32 {
		m, err := Alloc[float32](n)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(m.Free)
		copy(m.S, noise(r, n))
		return m.S
	}
	for _, q := range []int{16, 32, 48} {
		taps := map[int]int{16: 2, 32: 3, 48: 4}[q]
		planes := func(b *testing.B, rows, columns int) Complex {
			n := nf * rows * columns
			return Complex{array(b, n), array(b, n), columns, rows * columns}
		}
		run := func(name string, flops float64, f func(b *testing.B) func(isa ISA)) {
			for isa := Best(); isa >= Portable; isa-- {
				b.Run(fmt.Sprintf("%s/q=%d/%v", name, q, isa), func(b *testing.B) {
					call := f(b)
					for b.Loop() {
						call(isa)
					}
					if flops > 0 {
						b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
					}
					if name == "interpolate" || name == "spread" {
						b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/(side*side*side)*1e9, "ns/point")
					}
				})
			}
		}
		run("phases", 0, func(b *testing.B) func(ISA) {
			p, delay := planes(b, places, q), array(b, places*q)
			return func(isa ISA) { isa.Phases(p.Re, p.Im, delay, 0, 0.8, nf) }
		})
		run("receivers", 8*places*places*nf*float64(q), func(b *testing.B) func(ISA) {
			u, e, p := planes(b, places, q), planes(b, places, places), planes(b, places, q)
			return func(isa ISA) { isa.Multiply(u, e, p, nf, places, places, q, 0) }
		})
		run("sources", 8*places*nf*float64(q*q), func(b *testing.B) func(ISA) {
			v, p, u := planes(b, q, q), planes(b, places, q), planes(b, places, q)
			return func(isa ISA) { isa.Multiply(v, p, u, nf, q, places, q, Transposed) }
		})
		const samples = 120
		run("transform", 2*2*nf*samples*float64(q*q), func(b *testing.B) func(ISA) {
			o, d, v := array(b, samples*q*q), array(b, 2*nf*samples), array(b, 2*nf*(q*q+16))
			return func(isa ISA) {
				isa.Transform(Real{o, q * q}, Real{d, samples}, Real{v, q*q + 16}, samples, 2*nf, q*q, Transposed)
			}
		})
		points := side * side * side
		last := func(b *testing.B) (*Stage, []float32, []float32) {
			s := &Stage{TS: array(b, points), TR: array(b, points), LS: array(b, points*q), LR: array(b, points*q),
				QS: q, QR: q, StrideS: q, DT: 0.002, NT: samples, Stride: q * q, Taps: taps}
			for p := range s.TS { // 8³ blocks of points, 5 samples apart in depth
				s.TS[p], s.TR[p] = 0.003*float32(p/512%4*8+p%8), 0.0001*float32(p/8%64)
			}
			return s, array(b, points), array(b, samples*q*q)
		}
		stageFlops := 2 * float64(taps*q*q*points)
		run("interpolate", stageFlops, func(b *testing.B) func(ISA) {
			s, image, v := last(b)
			return func(isa ISA) { isa.Interpolate(image, v, s) }
		})
		run("spread", stageFlops, func(b *testing.B) func(ISA) {
			s, image, v := last(b)
			return func(isa ISA) { isa.Spread(v, image, s) }
		})
		run("expand", 2*float64(side*nodes*q)*(nodes*nodes+side*nodes+side*side), func(b *testing.B) func(ISA) {
			l, from := array(b, points*q), array(b, nodes*nodes*nodes*q)
			mx, my, mz := array(b, side*nodes), array(b, side*nodes), array(b, side*nodes)
			pos := make([]int32, points)
			for p := range pos {
				x, y, z := p/side/side, p/side%side, p%side
				pos[p] = int32(((x/8*4+y/8)*4+z/8)*512 + (x%8*8+y%8)*8 + z%8)
			}
			n, of := [3]int{side, side, side}, [3]int{nodes, nodes, nodes}
			return func(isa ISA) { isa.Expand(l, from, mx, my, mz, n, of, q, pos) }
		})
	}
}

func TestTransposition(t *testing.T) {
	on(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		for _, size := range [][2]int{{16, 133}, {5, 7}, {3, 2}, {64, 4}, {1, 1}, {0, 4}} {
			m, n := size[0], size[1]
			from, to := matrices(r, 1, m, n), matrices(r, 1, n, m)
			want := clone(to.Re)
			for i := range m {
				for j := range n {
					want[j*to.Stride+i] = from.Re[i*from.Stride+j]
				}
			}
			isa.Transpose(Real{to.Re, to.Stride}, Real{from.Re, from.Stride}, m, n)
			if !slices.Equal(to.Re, want) {
				t.Errorf("the transpose of %d × %d differs", m, n)
			}
		}
	})
}

// TestFold: products of a folded segment are its Fourier transform, and Unfold is the transpose of Fold.
func TestFold(t *testing.T) {
	on(t, func(t *testing.T, isa ISA, r *rand.Rand) {
		const width = 32
		for _, n := range []int{4, 12, 40} {
			x, ramps, folded := noise(r, n*width), noise(r, n/2), noise(r, n*width)
			isa.Fold(folded, x, ramps, width)
			for k := range n/2 + 1 {
				for c := range width {
					var want, got complex128
					for i := range n {
						w := float64(ramps[min(i, n-1-i)]) * float64(x[i*width+c])
						want += complex(w, 0) * cmplx.Rect(1, -2*math.Pi*float64(k)*(float64(i)-0.5*float64(n-1))/float64(n))
					}
					for j := range n / 4 {
						s, co := math.Sincos(2 * math.Pi * float64(k) * (0.5*float64(n-1) - float64(j)) / float64(n))
						at := func(quarter int) float64 { return float64(folded[(quarter*n/4+j)*width+c]) }
						got += complex(co*at(k%2), s*at(2+k%2))
					}
					if cmplx.Abs(got-want) > 1e-5 {
						t.Fatalf("n %d, frequency %d: %g, not %g", n, k, got, want)
					}
				}
			}
			y, back := noise(r, n*width), make([]float32, n*width)
			isa.Unfold(back, y, ramps, width)
			if a, b := inner(folded, y), inner(x, back); math.Abs(a-b) > 1e-6*math.Sqrt(inner(folded, folded)*inner(y, y)) {
				t.Errorf("n %d: ⟨A x, y⟩ is %g, ⟨x, Aᵀ y⟩ %g", n, a, b)
			}
			isa.Unfold(back, y, ramps, width)
			if a, b := 2*inner(folded, y), inner(x, back); math.Abs(a-b) > 1e-6*math.Sqrt(4*inner(folded, folded)*inner(y, y)) {
				t.Errorf("n %d: Unfold does not add", n)
			}
		}
	})
}
