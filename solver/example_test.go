package solver_test

import (
	"context"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// difference maps x to its differences x[i+1] − x[i].
type difference struct{}

func (difference) Forward(_ context.Context, dst, src device.Buf) error {
	y, x := device.Slice[float64](dst), device.Slice[float64](src)
	for i := range y {
		y[i] += x[i+1] - x[i]
	}
	return nil
}

func (difference) Adjoint(_ context.Context, dst, src device.Buf) error {
	x, y := device.Slice[float64](dst), device.Slice[float64](src)
	for i, v := range y {
		x[i+1] += v
		x[i] -= v
	}
	return nil
}

// Smooth a step by least squares: min ‖x − d‖² + ‖x[i+1] − x[i]‖², a stack of
// two rows.
func Example() {
	ctx := context.Background()
	points, gaps := dist.Local(device.F64, 6), dist.Local(device.F64, 5)
	a := dist.VStack(dist.Identity(points), dist.Lift(difference{}, points, gaps))
	d, err := dist.NewVector(device.NewHost(1), a.Range())
	if err != nil {
		panic(err)
	}
	if err := device.Upload(d.Parts[0].Buf, []float64{0, 0, 0, 1, 1, 1}); err != nil {
		panic(err)
	}

	m, err := solver.New("cgls", solver.Options{TrueResidual: 10})
	if err != nil {
		panic(err)
	}
	if err := m.Init(ctx, solver.Hold(a, d), nil); err != nil {
		panic(err)
	}
	reason, err := solver.Run(ctx, m, solver.Stop{Iterations: 20, Tolerance: 1e-8},
		func(_ context.Context, _ *solver.Method, r solver.Report) error {
			fmt.Printf("iter %d/%d  data misfit %.4f\n", r.Iteration, r.Of, r.Residual)
			return nil
		})
	fmt.Println(reason, err)
	fmt.Printf("%.4f\n", device.Slice[float64](m.X().Buf))
	// Output:
	// iter 0/20  data misfit 1.7321
	// iter 1/20  data misfit 0.4330
	// iter 2/20  data misfit 0.3937
	// iter 3/20  data misfit 0.4159
	// iter 4/20  data misfit 0.4303
	// converged_gradient <nil>
	// [0.0556 0.1111 0.2778 0.7222 0.8889 0.9444]
}
