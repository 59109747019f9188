package imaging

import "math"

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
