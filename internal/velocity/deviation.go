package velocity

import "math"

// unknown is the variance of the first unknown of a column before anything is measured: ten times the mean of V², squared.
const unknown = 100

// deviations are the standard deviations, m/s, of interval velocities √u: of each column by itself, the roots of the diagonal of
// σ = (AᵀW²A + DᵀD)⁻¹ in squared velocities, times √(dampedTime/h). Rows of A W are measurements of RMS velocities and those of D
// say how the ground changes (Tarantola 2005, Inverse problem theory, section 3.2). With that factor they say it whatever the step
// h in time: RMS velocities are one measurement of their deviation every dampedTime, and within dampedTime the squared velocity
// changes by dampedChange of its mean. Bounds count nothing, and neither do columns beside, whose RMS velocities are seldom
// measurements of their own.
func (f *dixFit) deviations(u []float64) []float64 {
	last := f.g.Dim() - 1
	n := f.g.Shape[last]
	alike := max(1, dampedTime/f.g.Spacing[last])
	out := make([]float64, len(u))
	for c := 0; c < len(u); c += n {
		for k, v := range f.variances(c) {
			out[c+k] = f.unit * math.Sqrt(alike*v) / (2 * math.Sqrt(u[c+k]*f.unit))
		}
	}
	return out
}

type (
	pair   [2]float64
	square [2]pair
)

// variances are the variances of the column that begins at unknown first. The state of a point is its
// unknown and the integral of unknowns from time 0 to it. A Kalman filter goes down, the smoother of
// Bryson and Frazier up (Bierman 1973, Fixed interval smoothing with discrete measurements,
// International Journal of Control 18): what measurements from a point on, Λ, take off the variance P
// that those above have left is P Λ P.
func (f *dixFit) variances(first int) []float64 {
	last := f.g.Dim() - 1
	n, h, t0 := f.g.Shape[last], f.g.Spacing[last], f.g.Origin[last]
	step := 1 / (f.slope[last] * f.slope[last]) // variance of a difference
	before := make([]square, n)                 // P of each point without its own measurement
	p := square{{unknown, unknown * t0}, {unknown * t0, unknown * t0 * t0}}
	for k := range n {
		before[k] = p
		row := measured(t0 + float64(k)*h)
		pr := p.times(row)
		s := dot(row, pr) + 1/(f.weight[first+k]*f.weight[first+k])
		for i := range p {
			for j := range p {
				p[i][j] -= pr[i] * pr[j] / s
			}
		}
		// The next point: u + d, and an integral of h (u + d/2) more.
		down := square{{1, 0}, {h, 1}}
		p = down.around(p)
		p[0][0] += step
		p[0][1] += step * h / 2
		p[1][0] += step * h / 2
		p[1][1] += step * h * h / 4
	}
	out := make([]float64, n)
	var lambda square
	for k := n - 1; k >= 0; k-- {
		row := measured(t0 + float64(k)*h)
		pr := before[k].times(row)
		s := dot(row, pr) + 1/(f.weight[first+k]*f.weight[first+k])
		var keep square // (I − K row)ᵀ, K = P row / s
		for i := range keep {
			for j := range keep {
				keep[i][j] = -row[i] * pr[j] / s
			}
			keep[i][i]++
		}
		lambda = keep.around(lambda)
		for i := range lambda {
			for j := range lambda {
				lambda[i][j] += row[i] * row[j] / s
			}
		}
		of := before[k][0]
		out[k] = of[0] - dot(of, lambda.times(of))
		up := square{{1, h}, {0, 1}}
		lambda = up.around(lambda)
	}
	return out
}

// measured is the vector by which the RMS velocity at a time measures a state: the mean, at time 0 the
// unknown itself.
func measured(t float64) pair {
	if t > 0 {
		return pair{0, 1 / t}
	}
	return pair{1, 0}
}

func dot(a, b pair) float64 { return a[0]*b[0] + a[1]*b[1] }

// times is m v.
func (m square) times(v pair) pair { return pair{dot(m[0], v), dot(m[1], v)} }

// around is m p mᵀ.
func (m square) around(p square) (out square) {
	for i := range m {
		for j := range m {
			out[i][j] = dot(m[i], p.times(m[j]))
		}
	}
	return out
}
