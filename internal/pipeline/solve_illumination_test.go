package pipeline

import (
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"

	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// illuminated is S AᵀW²A S by class plus a hundredth of its largest value, found from
// the columns of the operator.
func illuminated(t *testing.T, p *problem, set []string) (light []float64) {
	p.probed(t, "reference", set, func(j *Job, op *Operator) {
		s, err := j.op.setting(nil)
		must(t, err)
		a := s.Scaled()
		x, err := dist.NewVector(j.process.Device, a.Domain())
		must(t, err)
		d, err := dist.NewVector(j.process.Device, a.Range())
		must(t, err)
		for _, class := range x.Rows() {
			unit := make([]float64, class.Layout.N)
			for i := range unit {
				unit[i] = 1
				must(t, device.Upload(class.Buf, unit))
				must(t, a.Apply(t.Context(), d, x))
				size, err := dist.Norm(d)
				must(t, err)
				light = append(light, size*size)
				unit[i] = 0
			}
			must(t, class.Zero())
		}
	})
	top := slices.Max(light)
	for i := range light {
		light[i] += 0.01 * top
	}
	return light
}

// Normalised gathers are the migrated ones over their illumination, and the image of a
// migration and of a solve is the mean of the classes by it.
func TestNormalizedGathers(t *testing.T) {
	offsets := []string{"image.gathers=offset", "image.gather_bins=0,40,150"}
	for name, classes := range map[string][]string{"offset": offsets, "angle": byAngle, "anti-aliased": append(offsets, "kirchhoff.antialias=triangle")} {
		t.Run(name, func(t *testing.T) {
			p := line(t)
			set := append(slices.Clone(classes), "kirchhoff.dynamic=true", "solver.iterations=2", "data.mute_offsets=0,60", "data.mute_times=0.02,0.05")
			light := illuminated(t, p, set)
			normal := append(slices.Clone(set), "image.gather_normalize=illumination")
			same := func(t *testing.T, engine string) {
				p.migrateTo(t, p.path("plain.h5"), 1, engine, set...)
				_, want := readGathers(t, p.path("plain.h5"))
				for i := range want {
					want[i] = float32(1.01 * float64(want[i]) / light[i])
				}
				image := p.migrateTo(t, p.path("normal.h5"), 1, engine, normal...)
				_, got := readGathers(t, p.path("normal.h5"))
				near(t, "gathers", got, want, 1e-4)
				near(t, "migrated image", image, meanBy(light, got, len(image)), 1e-4)
				must(t, p.onEngine(1, engine, normal, withData(func(j *Job, _ *Operator, d *dist.Vector) error {
					r, err := j.Solve(t.Context(), d, false)
					if err != nil {
						return err
					}
					return j.WriteResult(p.path("solved.h5"), r, Source{Force: true})
				})))
				_, got = readGathers(t, p.path("solved.h5"))
				im, err := h5.ReadImage(p.path("solved.h5"))
				must(t, err)
				near(t, "solved image", im.Data, meanBy(light, got, len(image)), 1e-4)
			}
			eachEngine(t, same)
			t.Run("cuda", func(t *testing.T) {
				gputest.NeedEmulator(t)
				same(t, "cuda")
			})
		})
	}
}

// meanBy is the mean of images of n points each, by weights.
func meanBy(weights []float64, images []float32, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		sum, all := 0.0, 0.0
		for k := i; k < len(images); k += n {
			sum, all = sum+weights[k]*float64(images[k]), all+weights[k]
		}
		out[i] = float32(sum / all)
	}
	return out
}

// Normalised gathers of a migration, and their image, have the same bits on any ranks, with
// an aperture as well.
func TestNormalizedGathersOnRanks(t *testing.T) {
	for _, aperture := range []string{"kirchhoff.aperture=[]", "kirchhoff.aperture=150"} {
		p := wide(t)
		set := append(slices.Clone(byAngle), "image.gather_normalize=illumination", "kirchhoff.dynamic=true", aperture)
		want := p.migrateTo(t, p.path("image.h5"), 1, "cpu", set...)
		_, gathers := readGathers(t, p.path("image.h5"))
		for _, ranks := range []int{2, 3} {
			for _, grid := range []string{"0,1", "1,0"} {
				got := p.migrateTo(t, p.path("image.h5"), ranks, "cpu", append(set, "comm.grid="+grid)...)
				_, parts := readGathers(t, p.path("image.h5"))
				equal(t, "image", got, want)
				equal(t, "gathers", parts, gathers)
			}
		}
	}
}
