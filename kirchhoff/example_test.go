package kirchhoff_test

import (
	"context"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// A point 500 m from the source and from the receiver, at 2000 m/s, makes a trace
// with one spike at 0.5 s.
func Example() {
	g := grid.Grid{Origin: []float64{280, 380}, Spacing: []float64{20, 20}, Shape: []int{3, 3}}
	times, err := traveltime.NewAnalytic(2000, g)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := survey.Survey{Dim: 2, Sources: []float64{0, 0}, Receivers: []float64{600, 0}, Fixed: true}
	e, err := kirchhoff.New(context.Background(), &kirchhoff.Problem{
		Grid: g, Positions: s.Distinct(true), Times: times,
		NT: 200, DT: 0.004,
		Wavelet: survey.Wavelet{Samples: []float64{1}, DT: 0.004},
	}, kirchhoff.Work{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()

	host := device.NewHost(1)
	image, data := make([]float32, 9), make([]float32, 200)
	image[4] = 1 // at (300, 400) m
	if err := e.Kernels()[0].Forward(context.Background(), device.Wrap(host, data), device.Wrap(host, image)); err != nil {
		fmt.Println(err)
		return
	}
	for i, v := range data {
		if v > 1e-6 {
			fmt.Printf("%.3f s: %.3f\n", float64(i)*0.004, v)
		}
	}
	// Output: 0.500 s: 1.000
}
