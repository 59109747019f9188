package pipeline

import (
	"fmt"
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"

	"github.com/kirchhoff-lsm/lsm/internal/synth"
)

// Images by class that hold the reflection coefficients of their angles make the waves of
// ray theory, in amplitude and phase and in their change with the angle: what docs/numerics/gathers.md
// derives.
func TestReflectionCoefficients(t *testing.T) {
	const v, farthest = 2500.0, 930.0 // m/s; m of offset, 38 degrees at the first interface
	c, err := synth.Build("ava", synth.Options{Shots: 3, ShotSpacing: 240, FirstShot: 960, DT: 0.001})
	must(t, err)
	p := newProblem(t, c.Grid, c.Survey)
	set := []string{"velocity.file=", fmt.Sprintf("velocity.constant=%g", v), "traveltime.method=analytic",
		"image.origin=[0,0]", "image.spacing=[20,10]", "image.shape=[121,141]", "kirchhoff.angle_limit=[]",
		"image.gathers=angle", "image.gather_angle=reflection", "image.gather_ends=open", "image.gather_bins=0,5,10,15,20,25,30,35,40,45",
		"kirchhoff.dynamic=true", "kirchhoff.wavelet_filter=true", fmt.Sprintf("data.offset=[0,%g]", farthest)}
	must(t, p.onEngine(1, "cpu", set, withData(func(j *Job, op *Operator, recorded *dist.Vector) error {
		e := op.plan.Problem(op.share).Fading().Stabiliser
		m, err := dist.NewVector(j.process.Device, j.op.lifted.Domain())
		must(t, err)
		g := j.plan.Geometry.Image
		for b, class := range m.Rows() {
			image := make([]float32, g.Len())
			angle := 5 * float64(b) * math.Pi / 180
			for _, i := range c.Interfaces {
				r := i.Intercept() + i.Gradient()*math.Pow(math.Sin(angle), 2)
				distance := (i.Depth - c.Options.SourceDepth) / math.Cos(angle)
				for x := range g.Shape[0] {
					image[x*g.Shape[1]+int(i.Depth/g.Spacing[1])] = float32(r * g.Spacing[0] * math.Sqrt(v/(8*math.Pi)) * (1 + e/distance))
				}
			}
			must(t, device.Upload(class.Buf, image))
		}
		made, err := dist.NewVector(j.process.Device, j.op.lifted.Range())
		must(t, err)
		must(t, op.lifted.Apply(t.Context(), made, m))
		got, want := make([]float64, made.Layout.N), make([]float64, made.Layout.N)
		must(t, device.Download(got, made.Buf))
		must(t, device.Download(want, recorded.Buf))
		for trace := range j.plan.Geometry.Survey.NumTraces() {
			both, own, left := 0.0, 0.0, 0.0
			for k := trace * j.plan.Geometry.Survey.NT; k < (trace+1)*j.plan.Geometry.Survey.NT; k++ {
				both, own = both+got[k]*want[k], own+want[k]*want[k]
				left += math.Pow(got[k]-want[k], 2)
			}
			if share, rest := both/own, math.Sqrt(left/own); !(math.Abs(share-1) <= 0.03 && rest <= 0.1) {
				t.Errorf("trace %d, offset %g m: %.4f times ray theory, a norm of %.3f is different", trace, j.plan.Geometry.Survey.Offset(trace), share, rest)
			}
		}
		return nil
	})))
}
