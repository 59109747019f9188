package imaging

import (
	"math"
	"slices"
)

// Scales of the structure tensor in points: of the derivatives, and of the
// neighbourhood over which directions are averaged.
const (
	gradientScale  = 1.0
	structureScale = 4.0
)

// Layers estimates the direction of the layers at every point of an image of two or three
// axes. The result are unit vectors along the layer, in grid steps, as u[k][a]: component
// a of the k-th of one (two) directions, which are normal to each other.
//
// The normal of the layers is the eigenvector of the largest eigenvalue of the
// gradient-square tensor (van Vliet and Verbeek 1995, "Estimators for orientation and
// anisotropy in digitized images", ASCI'95; Hale 2009, "Structure-oriented smoothing
// and semblance", CWP-635),
//
//	T_ab = G_4 ∗ (g_a g_b),   g = ∇(G_1 ∗ m),
//
// with G_σ the Gaussian of standard deviation σ points. Where T leaves it open, as
// in an empty part of the image, layers are horizontal. Besides the result it holds
// 5 (9) arrays of the image's size.
func Layers(shape []int, image []float32, threads int) [][][]float32 {
	n, dim := size(shape, image), len(shape)
	t := tensor(shape, image, threads)
	u := make([][][]float32, dim-1)
	for k := range u {
		for range dim {
			u[k] = append(u[k], make([]float32, n))
		}
	}
	const chunk = 1 << 14
	parallel(threads, (n+chunk-1)/chunk, func(c int) {
		for i := c * chunk; i < min(n, (c+1)*chunk); i++ {
			if dim == 2 {
				// The normal is (sin φ, cos φ).
				sin, cos := math.Sincos(0.5 * math.Atan2(2*float64(t[1][i]), float64(t[2][i])-float64(t[0][i])))
				u[0][0][i], u[0][1][i] = float32(cos), float32(-sin)
				continue
			}
			first, second := tangents(dominant([3][3]float64{
				{float64(t[0][i]), float64(t[1][i]), float64(t[2][i])},
				{float64(t[1][i]), float64(t[3][i]), float64(t[4][i])},
				{float64(t[2][i]), float64(t[4][i]), float64(t[5][i])},
			}))
			for a := range 3 {
				u[0][a][i], u[1][a][i] = float32(first[a]), float32(second[a])
			}
		}
	})
	return u
}

// tensor is the upper triangle of T, row by row, for the image divided by its
// largest value.
func tensor(shape []int, image []float32, threads int) (t [][]float32) {
	g := gradients(shape, image, threads)
	smooth := gaussian(structureScale)
	for a := range shape {
		for b := a; b < len(shape); b++ {
			p := make([]float32, len(image))
			for i := range p {
				p[i] = g[a][i] * g[b][i]
			}
			for axis := range shape {
				correlate(p, shape, axis, smooth, threads)
			}
			t = append(t, p)
		}
	}
	return t
}

func gradients(shape []int, image []float32, threads int) [][]float32 {
	most := largest(image)
	smooth := gaussian(gradientScale)
	g := make([][]float32, len(shape))
	for a := range g {
		g[a] = slices.Clone(image)
		for i := range g[a] {
			g[a][i] /= most
		}
		for axis := range shape {
			k := smooth
			if axis == a {
				k = smooth.derivative()
			}
			correlate(g[a], shape, axis, k, threads)
		}
	}
	return g
}

// dominant is the unit eigenvector of the largest eigenvalue of a symmetric matrix,
// by Jacobi's method; the last of those that are alike.
func dominant(m [3][3]float64) [3]float64 {
	v := [3][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}} // eigenvectors as columns
	for range 20 {
		off := math.Abs(m[0][1]) + math.Abs(m[0][2]) + math.Abs(m[1][2])
		if off <= 1e-14*(math.Abs(m[0][0])+math.Abs(m[1][1])+math.Abs(m[2][2])) {
			break
		}
		for p := range 2 {
			for q := p + 1; q < 3; q++ {
				rotate(&m, &v, p, q)
			}
		}
	}
	best := 2
	for i := range 2 {
		if m[i][i] > m[best][best] {
			best = i
		}
	}
	return [3]float64{v[0][best], v[1][best], v[2][best]}
}

// rotate makes element p, q of m zero and takes the rotation into v.
func rotate(m, v *[3][3]float64, p, q int) {
	if m[p][q] == 0 {
		return
	}
	theta := (m[q][q] - m[p][p]) / (2 * m[p][q])
	t := math.Copysign(1/(math.Abs(theta)+math.Hypot(theta, 1)), theta)
	c := 1 / math.Hypot(t, 1)
	s := t * c
	for k := range 3 {
		m[k][p], m[k][q] = c*m[k][p]-s*m[k][q], s*m[k][p]+c*m[k][q]
	}
	for k := range 3 {
		m[p][k], m[q][k] = c*m[p][k]-s*m[q][k], s*m[p][k]+c*m[q][k]
		v[k][p], v[k][q] = c*v[k][p]-s*v[k][q], s*v[k][p]+c*v[k][q]
	}
}

// tangents are two unit vectors normal to the unit vector u and to each other, the
// first without a y component.
func tangents(u [3]float64) (first, second [3]float64) {
	h := math.Hypot(u[0], u[2])
	if h == 0 {
		return [3]float64{1, 0, 0}, [3]float64{0, 0, 1}
	}
	f := [3]float64{u[2] / h, 0, -u[0] / h}
	return f, [3]float64{u[1]*f[2] - u[2]*f[1], u[2]*f[0] - u[0]*f[2], u[0]*f[1] - u[1]*f[0]}
}

// kernel is a filter of odd length centred on its middle element.
type kernel []float64

// gaussian is sampled from exp(−i²/2σ²) to 4σ, with sum 1.
func gaussian(sigma float64) kernel {
	half := int(math.Ceil(4 * sigma))
	k, sum := make(kernel, 2*half+1), 0.0
	for i := range k {
		x := float64(i-half) / sigma
		k[i] = math.Exp(-x * x / 2)
		sum += k[i]
	}
	for i := range k {
		k[i] /= sum
	}
	return k
}

// derivative is the derivative of the Gaussian as a correlation filter, exact for a
// linear function.
func (k kernel) derivative() kernel {
	half := len(k) / 2
	d, slope := make(kernel, len(k)), 0.0
	for i := range k {
		x := float64(i - half)
		d[i] = x * k[i]
		slope += x * d[i]
	}
	for i := range d {
		d[i] /= slope
	}
	return d
}

// correlate filters x along an axis in place; beyond the ends x goes on with its
// last value. It reads and writes x once.
func correlate(x []float32, shape []int, axis int, k kernel, threads int) {
	n, inner := shape[axis], product(shape[axis+1:])
	half := len(k) / 2
	outer := len(x) / (n * inner)
	parallel(threads, outer, func(o int) {
		line := make([]float64, n+2*half)
		for i := range inner {
			at := o*n*inner + i
			for j := range line {
				line[j] = float64(x[at+min(max(j-half, 0), n-1)*inner])
			}
			for j := range n {
				sum := 0.0
				for m, w := range k {
					sum += w * line[j+m]
				}
				x[at+j*inner] = float32(sum)
			}
		}
	})
}
