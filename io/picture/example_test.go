package picture_test

import (
	"bytes"
	"fmt"
	"image/png"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// An adjoint image beside a least-squares one, each clipped at its own 99th
// percentile.
func Example() {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{61, 41}}
	adjoint := make([]float32, g.Len())
	adjoint[30*41+20] = 1
	inverse := make([]float32, g.Len())
	inverse[30*41+20] = 0.05

	a, err := picture.Image(g, adjoint, picture.Options{Title: "adjoint"})
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := picture.Image(g, inverse, picture.Options{Title: "least squares"})
	if err != nil {
		fmt.Println(err)
		return
	}
	var buf bytes.Buffer
	if err := picture.Beside(a, b).Encode(&buf); err != nil {
		fmt.Println(err)
		return
	}
	c, err := png.DecodeConfig(&buf)
	fmt.Println(c.Width > c.Height, err)
	// Output: true <nil>
}
