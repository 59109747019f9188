package bench

import (
	"context"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// HessianSize is a problem with a window in the middle of its image. Exact, Compact and Card of
// the problem do not count.
type HessianSize struct {
	KernelSize
	Window []int // points along each axis
}

// HessianResult is what `lsm bench hessian` prints. Times are medians of the wall time.
type HessianResult struct {
	Engine  string
	Points  int     // of the window
	Pairs   float64 // of points x ≤ y, times traces
	Met     float64 // share of those whose wavelets overlap on the trace
	Triples int64   // of the adjoint, over the whole image

	PerPair    float64 // ns for a trace and pair that meets
	PerTriple  float64 // ns of the adjoint
	Ratio      float64 // of these two: the median over runs that take turns
	Difference float64 // of H v from AᵀA v by the engine reference, over the largest value
	Symmetric  bool    // to the bit
	Verdict    string  // "OK" or "FAILED"
}

// mostPoints is how many points a window has at most; its matrix then takes 2 GiB.
const mostPoints = 1 << 14

// Validate returns an error if there is no such window.
func (k HessianSize) Validate() error {
	if len(k.Window) != len(k.Shape) {
		return fmt.Errorf("bench: a window with %d axes of an image with %d", len(k.Window), len(k.Shape))
	}
	points := 1
	for a, n := range k.Window {
		if n < 1 || n > k.Shape[a] {
			return fmt.Errorf("bench: a window of %d points along axis %d, the image has %d", n, a, k.Shape[a])
		}
		if points *= n; points > mostPoints {
			return fmt.Errorf("bench: a window of %v points, want %d at most", k.Window, mostPoints)
		}
	}
	return nil
}

// Hessian measures AᵀA of a window beside the adjoint of the same traces over the whole image.
func Hessian(ctx context.Context, size HessianSize) (*HessianResult, error) {
	if err := size.Validate(); err != nil {
		return nil, err
	}
	p, err := size.problem()
	if err != nil {
		return nil, err
	}
	var t kirchhoff.Target
	for a, n := range size.Window {
		lo := (size.Shape[a] - n) / 2
		t.Lo, t.Hi = append(t.Lo, lo), append(t.Hi, lo+n)
	}
	h, err := kirchhoff.NewHessian(ctx, size.Engine, p, t)
	if err != nil {
		return nil, err
	}
	n := h.Len()
	matrix := make([]float64, n*n)
	add := func() error { return h.Add(ctx, matrix, [2]int{0, n}, [2]int{0, n}, nil) }
	if err := add(); err != nil { // the warm-up, and what is compared
		return nil, err
	}
	r := &HessianResult{Points: n, Pairs: float64(p.NumTraces()) * float64(n) * float64(n+1) / 2, Triples: p.Triples(), Verdict: "OK"}
	if err := r.compare(ctx, p, h.Points(), matrix); err != nil {
		return nil, err
	}
	e, info, err := size.engine(ctx, p)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	r.Engine = info
	size.Exact = false
	ops, err := size.operators(e, p)
	if err != nil {
		return nil, err
	}
	met := meeting(p, h.Points())
	r.Met = met / r.Pairs
	return r, r.time(ctx, size, ops[0], met, add)
}

// time lets the Hessian and the adjoint take turns.
func (r *HessianResult) time(ctx context.Context, size HessianSize, op dist.Operator, met float64, add func() error) error {
	host := device.NewHost(size.Threads)
	image, err := dist.NewVector(host, op.Domain())
	if err != nil {
		return err
	}
	data, err := dist.NewVector(host, op.Range())
	if err != nil {
		return err
	}
	adjoint := func() error { return op.ApplyAdjoint(ctx, image, data) }
	if err := adjoint(); err != nil { // it touches every page
		return err
	}
	var pairs, triples []float64
	for range size.Runs {
		ns, err := timed(host, add)
		if err != nil {
			return err
		}
		pairs = append(pairs, ns/met)
		if ns, err = timed(host, adjoint); err != nil {
			return err
		}
		triples = append(triples, ns/float64(r.Triples))
	}
	r.PerPair, r.PerTriple, r.Ratio = median(pairs), median(triples), ratio(pairs, triples)
	return nil
}

// compare finds how far a matrix, [points, points], is from AᵀA by the engine reference.
func (r *HessianResult) compare(ctx context.Context, p *kirchhoff.Problem, points []int32, matrix []float64) error {
	e, err := kirchhoff.NewReference(ctx, p, kirchhoff.Work{})
	if err != nil {
		return err
	}
	defer e.Close()
	host := device.NewHost(p.Threads)
	image, data := make([]float64, p.Grid.Len()), make([]float64, p.NumTraces()*p.NT)
	v := func(x int) float64 { return math.Cos(float64(x)) }
	for x, i := range points {
		image[i] = v(x)
	}
	if err := e.Kernels()[0].Forward(ctx, device.Wrap(host, data), device.Wrap(host, image)); err != nil {
		return err
	}
	clear(image)
	if err := e.Kernels()[0].Adjoint(ctx, device.Wrap(host, image), device.Wrap(host, data)); err != nil {
		return err
	}
	n, worst, most := len(points), 0.0, 0.0
	r.Symmetric = true
	for x, i := range points {
		sum := 0.0
		for y := range n {
			sum += matrix[x*n+y] * v(y)
			r.Symmetric = r.Symmetric && matrix[x*n+y] == matrix[y*n+x]
		}
		worst, most = math.Max(worst, math.Abs(sum-image[i])), math.Max(most, math.Abs(image[i]))
	}
	if r.Difference = worst / most; !r.Symmetric || !(r.Difference <= 1e-6) {
		r.Verdict = "FAILED"
	}
	return nil
}

// length is the distance of two points.
func length(a, b []float64) (square float64) {
	for i := range a {
		square += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(square)
}

// meeting counts the traces and pairs of points x ≤ y whose wavelets overlap, by the times of the
// problem's one velocity.
func meeting(p *kirchhoff.Problem, points []int32) (count float64) {
	x := make([]float64, p.Grid.Dim())
	from := func(place int32) float64 { return length(x, p.Positions.At(int(place))) }
	for trace := range p.NumTraces() {
		fell := make([]float64, p.NT-1) // points by the sample that they fall on
		for _, i := range points {
			p.Grid.Point(x, int(i))
			distance := from(p.Positions.Source[trace]) + from(p.Positions.Receiver[trace])
			if k := int(distance / p.Velocity[0] / p.DT); k < len(fell) {
				fell[k]++
			}
		}
		for k, n := range fell {
			count += n * (n + 1) / 2
			for _, m := range fell[k+1 : min(len(fell), k+1+len(p.Wavelet.Samples))] {
				count += n * m
			}
		}
	}
	return count
}
