// Package imaging works on whole images on the host: the direction of their layers,
// and filters that turn one image into another. An image has one, two or three axes
// in C order, z last; lengths are in grid steps. Results do not depend on the number
// of threads.
package imaging

import (
	"fmt"
	"sync"
)

// parallel calls f for [0, n), each once, on so many threads.
func parallel(threads, n int, f func(i int)) {
	threads = min(threads, n)
	if threads <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var wg sync.WaitGroup
	for w := range threads {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := w; i < n; i += threads {
				f(i)
			}
		}()
	}
	wg.Wait()
}

// size is the number of points of an image that v must hold.
func size(shape []int, v []float32) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	if len(v) != n {
		panic(fmt.Sprintf("imaging: %d values for an image of %v", len(v), shape))
	}
	return n
}
