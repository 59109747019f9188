// Package imaging works on whole images: on the host the direction of their layers,
// filters that turn one image into another and amplitudes of reflectors in gathers, on any
// device the band of a wavelet. An image has one, two or three axes
// in C order, z last; lengths are in grid steps. Results do not depend on the number
// of threads.
package imaging

import (
	"fmt"
	"sync"
)

// parallel calls f for [0, n), each once, on the given number of threads.
func parallel(threads, n int, f func(i int)) {
	threads = max(1, min(threads, n))
	var wg sync.WaitGroup
	wg.Add(threads)
	for w := range threads {
		go func() {
			defer wg.Done()
			for i := w; i < n; i += threads {
				f(i)
			}
		}()
	}
	wg.Wait()
}

// product is the number of points of an array of that shape.
func product(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}

// size is the number of points of an image that v must hold.
func size(shape []int, v []float32) int {
	n := product(shape)
	if len(v) != n {
		panic(fmt.Sprintf("imaging: %d values for an image of %v", len(v), shape))
	}
	return n
}

// largest is the largest absolute value of v, 1 if all are 0.
func largest(v []float32) float32 {
	most := float32(0)
	for _, x := range v {
		most = max(most, x, -x)
	}
	if most == 0 {
		return 1
	}
	return most
}
