package pipeline

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// primaries is a survey at z = 0 of reflectors at depths in a medium of v0 + g z, with the coefficients:
// traces of offset h have the time and the amplitude of a ray (times: Slotnick 1959), 1/√J in 2-D
// and 1/√(J J') in 3-D, where J and J' are the widths of a ray tube in the plane of the ray and normal
// to it, for an angle of one radian at the source.
func primaries(s *survey.Survey, v0, g float64, depths, coefficients []float64) {
	const peak = 20
	leg := func(x, z float64) float64 { // seconds, from (0, 0) to (x, z)
		if g == 0 {
			return math.Hypot(x, z) / v0
		}
		return math.Acosh(1+g*g*(x*x+z*z)/(2*v0*(v0+g*z))) / g
	}
	slope := func(x, z float64) float64 { return (leg(x+0.1, z) - leg(x-0.1, z)) / 0.2 }
	s.Data = make([]float32, s.NumTraces()*s.NT)
	for i := range s.NumTraces() {
		h := s.Offset(i)
		for k, z := range depths {
			p := slope(h/2, z)
			tube := (1 - p*p*v0*v0) / (v0 * (slope(h/2+1, z) - slope(h/2-1, z)) / 4)
			spread := tube
			if s.Dim == 3 {
				across := tube
				if h > 1 {
					across = h / (p * v0)
				}
				spread *= across
			}
			for n := range s.NT {
				a := math.Pow(math.Pi*peak*(s.DT*float64(n)-2*leg(h/2, z)), 2)
				s.Data[i*s.NT+n] += float32(coefficients[k] / math.Sqrt(spread) * (1 - 2*a) * math.Exp(-a))
			}
		}
	}
	s.Wavelet = survey.Wavelet{DT: s.DT, Zero: 25, Samples: make([]float64, 51)}
	for j := range s.Wavelet.Samples {
		a := math.Pow(math.Pi*peak*s.DT*float64(j-25), 2)
		s.Wavelet.Samples[j] = (1 - 2*a) * math.Exp(-a)
	}
}

// peakNear is the largest value, with its sign, of an image's mean over its middle within 40 m of a depth.
func peakNear(im *h5.Image, depth float64) (peak float64) {
	g := im.Grid
	last := g.Dim() - 1
	nz := g.Shape[last]
	mean, n := make([]float64, nz), 0.0
	for line := range g.Len() / nz {
		x := line
		middle := true
		for a := last - 1; a >= 0; a-- {
			i := x % g.Shape[a]
			x /= g.Shape[a]
			middle = middle && 3*i >= g.Shape[a]-1 && 3*i <= 2*(g.Shape[a]-1)
		}
		if middle {
			n++
			for k := range nz {
				mean[k] += float64(im.Data[line*nz+k])
			}
		}
	}
	for k, v := range mean {
		if math.Abs(g.Coord(last, k)-depth) < 40 && math.Abs(v/n) > math.Abs(peak) {
			peak = v / n
		}
	}
	return peak
}

// TestReflectivity: analytic primaries image with their polarity, and with output.scale = "reflectivity"
// as their reflection coefficients.
func TestReflectivity(t *testing.T) {
	axis := func(from, step float64, n int) (x []float64) {
		for i := range n {
			x = append(x, from+step*float64(i))
		}
		return x
	}
	plane := func(x []float64) (places []float64) {
		for _, x0 := range x {
			for _, y := range x {
				places = append(places, x0, y, 0)
			}
		}
		return places
	}
	line := func(x []float64) (places []float64) {
		for _, x := range x {
			places = append(places, x, 0)
		}
		return places
	}
	for name, c := range map[string]struct {
		sources, receivers   []float64
		v0, g                float64
		image                grid.Grid
		depths, coefficients []float64
		absolute, relative   float64
	}{
		"2-D, gradient": {line(axis(0, 50, 41)), line(axis(0, 50, 41)), 1800, 0.6,
			grid.Grid{Origin: []float64{700, 300}, Spacing: []float64{12.5, 10}, Shape: []int{49, 81}},
			[]float64{400, 700, 1000}, []float64{0.1, -0.08, 0.05}, 0.06, 0.05},
		"3-D": {plane(axis(100, 200, 5)), plane(axis(0, 100, 11)), 2000, 0,
			grid.Grid{Origin: []float64{400, 400, 420}, Spacing: []float64{25, 25, 10}, Shape: []int{9, 9, 17}},
			[]float64{500}, []float64{0.1}, 0.15, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			dim := c.image.Dim()
			s := &survey.Survey{Dim: dim, Fixed: true, Sources: c.sources, Receivers: c.receivers, NT: 330, DT: 0.004}
			primaries(s, c.v0, c.g, c.depths, c.coefficients)
			must(t, h5.WriteSurvey(filepath.Join(folder, "survey.h5"), s, h5.WriteOptions{}))
			g := grid.Grid{Origin: make([]float64, dim), Spacing: append(axis(100, 0, dim-1), 20), Shape: make([]int, dim)}
			for a := range g.Shape {
				g.Shape[a] = 21
			}
			g.Shape[dim-1] = 61
			v := make([]float64, g.Len())
			for i := range v {
				v[i] = c.v0 + c.g*20*float64(i%61) // z = 20 m × the index along the last axis
			}
			must(t, h5.WriteModel(filepath.Join(folder, "model.h5"), g, v, h5.WriteOptions{}))
			set := append(onGrid(c.image), "data.offset=[0,800]", "kirchhoff.dynamic=true", "kirchhoff.spreading=ray", "solver.iterations=10")
			run := func(file string, more ...string) *h5.Image {
				cfg, err := config.Parse(filepath.Join(folder, "config.toml"), []byte(strings.Replace(baseConfig, `wavelet_filter = "off"`, "", 1)), append(set, more...), nil)
				must(t, err)
				out := filepath.Join(folder, file)
				must(t, solveTo(t, cfg, out))
				im, err := h5.ReadImage(out)
				must(t, err)
				return im
			}
			for _, band := range []bool{false, true} {
				absolute, relative := c.absolute, c.relative
				if band { // points that are lit less come later
					absolute, relative = max(absolute, 0.08), max(relative, 0.07)
				}
				im := run(fmt.Sprintf("image-%v.h5", band), "output.scale=reflectivity", fmt.Sprint("solver.band=", band))
				first := peakNear(im, c.depths[0])
				for k, z := range c.depths {
					got, want := peakNear(im, z), c.coefficients[k]
					t.Logf("band %v, %g m: %.4f, want %.4f", band, z, got, want)
					if math.Abs(got/want-1) > absolute {
						t.Errorf("band %v, %g m: %.4f, want %.4f", band, z, got, want)
					}
					if off := got / first * c.coefficients[0] / want; math.Abs(off-1) > relative && k > 0 {
						t.Errorf("band %v, %g m: %.4f of the first, want %.4f", band, z, got/first, want/c.coefficients[0])
					}
				}
			}
			// Another operator's images are refused as a start.
			for _, start := range []string{"kirchhoff.wavelet_filter=on", "kirchhoff.wavelet_filter=pylops"} {
				cfg, err := config.Parse(filepath.Join(folder, "config.toml"), []byte(baseConfig), append(set, start, "output.file=no.h5", "solver.iterations=1", "solver.start="+filepath.Join(folder, "image-false.h5")), nil)
				must(t, err)
				if err := solveTo(t, cfg, filepath.Join(folder, "no.h5")); status.Code(err) != status.BadInput || !strings.Contains(fmt.Sprint(err), "reflectivity") {
					t.Errorf("a start model in units of reflectivity: %v", err)
				}
			}
			if dim == 3 {
				run("turned.h5", "kirchhoff.wavelet_filter=pylops", "solver.iterations=1")
				cfg, err := config.Parse(filepath.Join(folder, "config.toml"), []byte(strings.Replace(baseConfig, `"off"`, "true", 1)), append(set, "output.file=no.h5", "solver.start="+filepath.Join(folder, "turned.h5")), nil)
				must(t, err)
				if err := solveTo(t, cfg, filepath.Join(folder, "no.h5")); status.Code(err) != status.BadInput || !strings.Contains(fmt.Sprint(err), "opposite polarity") {
					t.Errorf("a start model of the opposite polarity: %v", err)
				}
			}
			if _, err := os.Stat(filepath.Join(folder, "no.h5")); err == nil {
				t.Error("an image was written")
			}
		})
	}
}

// TestReflectivityOfAnisotropicModels: its scale is derived for isotropic media, so it is refused for others,
// unless what is anisotropic is ignored.
func TestReflectivityOfAnisotropicModels(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := &survey.Survey{Dim: 2, Fixed: true, Sources: []float64{0, 0, 100, 0}, Receivers: []float64{0, 0, 100, 0}, NT: 20, DT: 0.004}
	primaries(s, 2000, 0, []float64{20}, []float64{0.1})
	must(t, h5.WriteSurvey(filepath.Join(folder, "survey.h5"), s, h5.WriteOptions{}))
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{11, 11}}
	v, epsilon := make([]float64, g.Len()), make([]float64, g.Len())
	for i := range v {
		v[i], epsilon[i] = 2000, 0.1
	}
	must(t, h5.WriteModel(filepath.Join(folder, "model.h5"), g, v, h5.WriteOptions{}, h5.Beside{Property: h5.Epsilon, Values: epsilon}))
	for _, c := range []struct{ anisotropy, want string }{{"auto", "model.h5 is anisotropic"}, {"none", ""}} {
		cfg, err := config.Parse(filepath.Join(folder, "config.toml"), []byte(strings.Replace(baseConfig, `wavelet_filter = "off"`, "", 1)),
			append(onGrid(g), "kirchhoff.dynamic=true", "kirchhoff.spreading=ray", "output.scale=reflectivity", "velocity.anisotropy="+c.anisotropy), nil)
		must(t, err)
		j, err := Open(comm.Self(), cfg, NeedTraces, progress.Discard())
		if err == nil {
			j.Close()
		}
		if c.want == "" && err != nil || c.want != "" && (status.Code(err) != status.BadUsage || !strings.Contains(fmt.Sprint(err), `output.scale = "reflectivity"`) || !strings.Contains(fmt.Sprint(err), c.want)) {
			t.Errorf("anisotropy %s: %v", c.anisotropy, err)
		}
	}
}

// solveTo runs a configuration and writes its image.
func solveTo(t *testing.T, cfg *config.Config, out string) error {
	j, err := Open(comm.Self(), cfg, NeedTraces, progress.Discard())
	if err != nil {
		return err
	}
	defer j.Close()
	if err := j.LoadStart(); err != nil {
		return err
	}
	if _, err := j.Build(context.Background()); err != nil {
		return err
	}
	d, err := j.Data()
	if err != nil {
		return err
	}
	r, err := j.Solve(context.Background(), d, false)
	if err != nil {
		return err
	}
	return j.WriteResult(out, r, Source{Command: "run", Force: true})
}
