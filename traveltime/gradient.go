package traveltime

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// CentralGradient writes the gradient of the field t on the grid g into dst, one slice of
// g.Len() values per axis, in units of t per metre: second-order central differences
// inside, first-order one-sided differences at both ends of an axis, all with the true
// spacing. This is numpy.gradient's default, which the Kirchhoff weights of given tables
// are defined by. Along an axis of one point the derivative is zero.
//
// It panics if a slice has the wrong length; dst must not overlap t.
func CentralGradient(dst [][]float64, t []float64, g grid.Grid) {
	if len(t) != g.Len() || len(dst) != g.Dim() {
		panic(fmt.Sprintf("traveltime: field of %d values with %d derivatives on a grid of %v", len(t), len(dst), g))
	}
	stride := g.Strides()
	for a, n := range g.Shape {
		if len(dst[a]) != len(t) {
			panic(fmt.Sprintf("traveltime: gradient part %d has %d values, the grid %d points", a, len(dst[a]), len(t)))
		}
		differences(dst[a], t, n, stride[a], g.Spacing[a])
	}
}

// differences takes the derivative along one axis of n points that lie inner
// elements apart. It reads t about twice and writes dst once.
func differences(dst, t []float64, n, inner int, h float64) {
	if n == 1 {
		clear(dst)
		return
	}
	block := n * inner
	for at := 0; at < len(t); at += block {
		src, out := t[at:at+block], dst[at:at+block]
		last := block - inner
		for j := range inner {
			out[j] = (src[inner+j] - src[j]) / h
			out[last+j] = (src[last+j] - src[last-inner+j]) / h
		}
		for j := inner; j < last; j++ {
			out[j] = (src[j+inner] - src[j-inner]) / (2 * h)
		}
	}
}
