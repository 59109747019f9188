// Command classes says how far images are from the solutions in a file of lsm target: one image
// file for each solution, in their order, or another file of lsm target. classes.sh uses it.
package main

import (
	"fmt"
	"log"
	"math"
	"os"
	"slices"

	"github.com/kirchhoff-lsm/lsm/io/h5"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: classes TARGET IMAGE... or classes TARGET TARGET")
	}
	if err := compare(os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

// compare prints the norm of the difference from each solution over that of the solution.
func compare(target string, others []string) error {
	want, err := parts(target, "/solutions")
	if err != nil {
		return err
	}
	var got [][]float32
	for _, path := range others {
		name := "/image"
		if len(others) == 1 && len(want) > 1 {
			name = "/solutions"
		}
		found, err := parts(path, name)
		if err != nil {
			return err
		}
		got = append(got, found...)
	}
	if len(got) != len(want) {
		return fmt.Errorf("%s has %d solutions, the others %d", target, len(want), len(got))
	}
	for k, w := range want {
		var d, n float64
		for i, v := range w {
			d += math.Pow(float64(got[k][i]-v), 2)
			n += math.Pow(float64(v), 2)
		}
		fmt.Printf(" %8.1e", math.Sqrt(d/n))
	}
	fmt.Println()
	return nil
}

// parts are the images of a dataset, [nx, nz] or [images, nx, nz].
func parts(path, name string) ([][]float32, error) {
	f, err := h5.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, err := f.Dataset(name)
	if err != nil {
		return nil, err
	}
	all, shape := 1, d.Shape()
	for _, n := range shape {
		all *= n
	}
	values := make([]float32, all)
	if err := h5.ReadAt(d, values, 0); err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(values, shape[len(shape)-2]*shape[len(shape)-1])), nil
}
