package inspect

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// rocks are A, B and C of a random contrast, that stands out of noise, by Aki and Richards (1980), equation 5.44, with vs/vp = 0.5.
func rocks(rng *rand.Rand) [3]float64 {
	for {
		p, s, rho := 0.12*rng.NormFloat64(), 0.12*rng.NormFloat64(), 0.06*rng.NormFloat64()
		if a := (p + rho) / 2; math.Abs(a) > 0.03 {
			return [3]float64{a, p/2 - s - rho/2, p / 2}
		}
	}
}

// avaTerms are what A, B and C are multiplied by at an angle in degrees.
func avaTerms(angle float64) [3]float64 {
	sine, tangent := math.Sin(angle*math.Pi/180), math.Tan(angle*math.Pi/180)
	return [3]float64{1, sine * sine, tangent*tangent - sine*sine}
}

// bump is a Ricker wavelet of a depth in grid steps.
func bump(u float64) float64 { u *= u / 4; return (1 - u) * math.Exp(-u/2) }

// avaFile writes gathers of two reflectors of random rocks in each column, in closed form: the wavelet stretched by 1/cos θ and lowered by
// cos θ, with white noise or noise of its band. Every degree of the angle has noise of its own, of which neighbouring classes, whose windows overlap, share a
// part. Offsets end: limits are the widest angles that are lit at the reflectors. What lies beyond is noise, and dark.
func avaFile(t *testing.T, path string, columns int, limits [2]float64, noise float64, white bool) (truth [][2][3]float64, depths [][2]float64) {
	rng := rand.New(rand.NewPCG(5, 7))
	const nz, reach = 110, 12
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{20, 10}, Shape: []int{columns, nz}}
	centers := []float64{0, 5, 10, 15, 20, 25, 30, 35, 40}
	gathers, light := make([]float32, len(centers)*g.Len()), make([]float32, len(centers)*g.Len())
	for column := range columns {
		truth, depths = append(truth, [2][3]float64{rocks(rng), rocks(rng)}), append(depths, [2]float64{35 + rng.Float64(), 75 + rng.Float64()})
		for degree := range 45 {
			c := math.Cos(float64(degree) * math.Pi / 180)
			fresh, coloured, wave := make([]float64, nz+2*reach), make([]float64, nz), make([]float64, 2*reach+1)
			for i := range fresh {
				fresh[i] = rng.NormFloat64()
			}
			for i := range wave {
				if wave[i] = bump(float64(i-reach)*c) * c; white {
					wave[i] = 0
				}
			}
			if white {
				wave[reach] = 1.63 * c
			}
			for z := range coloured {
				coloured[z] = floats.Dot(wave, fresh[z:z+len(wave)])
			}
			for class, center := range centers {
				if off := math.Abs(float64(degree)-center) / 5; off < 1 {
					for z := range coloured {
						gathers[(class*columns+column)*nz+z] += float32(noise * coloured[z] * (1 + math.Cos(math.Pi*off)) / 2)
					}
				}
			}
		}
		for class, center := range centers {
			c, of := math.Cos(center*math.Pi/180), avaTerms(center)
			for z := range nz {
				i, k := (class*columns+column)*nz+z, z/(nz/2)
				if center > limits[k] {
					light[i] = 0.01
					continue
				}
				light[i] = float32(1 / (1 + center/15))
				if class == 0 { // it has half the angles of others, and 0.63 of the energy of their windows
					light[i] /= 2
					gathers[i] /= float32(math.Sqrt(0.63))
				}
				gathers[i] /= float32(math.Sqrt(float64(light[i]))) // fewer traces make more noise
				for k, depth := range depths[column] {
					for n, v := range truth[column][k] {
						gathers[i] += float32(v * of[n] * c * bump((float64(z)-depth)*c))
					}
				}
			}
		}
	}
	w, err := h5.CreateImage(path, &h5.Image{Grid: g, Data: make([]float32, g.Len()),
		Gathers: &h5.Gathers{Kind: "angle", Angle: "reflection", Centers: centers, Light: true}}, h5.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{w.WriteGathers(gathers, 0), w.WriteLight(light, 0), w.Commit()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return truth, depths
}

// The 95 % intervals of sections hold the truth in 93 to 97 % of reflectors whose amplitudes no part of the program made. Where they tell a
// sign of one that is resolved, it is wrong for no more than the 2.5 % that they leave beyond an end.
func TestSectionsCoverTheTruth(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		terms  int
		limits [2]float64
		noise  float64
		white  bool
	}{
		"two terms": {2, [2]float64{20, 20}, 0.001, false}, "two terms, white noise": {2, [2]float64{20, 20}, 0.001, true},
		"three terms": {3, [2]float64{40, 35}, 0.0005, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, output := filepath.Join(t.TempDir(), "gathers.h5"), filepath.Join(t.TempDir(), "ava.h5")
			truth, depths := avaFile(t, path, 600, c.limits, c.noise, c.white)
			r, err := h5.OpenGathers(path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			o := avaOptions{sections: true, terms: c.terms, output: output}
			if err := o.makeSections(t.Context(), &cli.App{Report: progress.Discard()}, r, path); err != nil {
				t.Fatal(err)
			}
			im, err := h5.ReadImage(output)
			if err != nil {
				t.Fatal(err)
			}
			fields, err := h5.ReadFields(output)
			if err != nil {
				t.Fatal(err)
			}
			named := map[string][]float32{"intercept": im.Data}
			for _, f := range fields {
				named[f.Name] = f.Data
			}
			for k, depth := range []string{"upper", "lower"} {
				resolved := 0
				var covered, right, told [3]int
				for column, of := range truth {
					at := column*im.Grid.Shape[1] + int(math.Round(depths[column][k]))
					for n, dataset := range []string{"standard_deviation", "gradient_deviation", "curvature_deviation"}[:c.terms] {
						v, half := float64(named[termNames[n]][at]), 1.96*float64(named[dataset][at])
						if math.Abs(v-of[k][n]) <= half {
							covered[n]++
						}
						if named["resolved"][at] > 0 && math.Abs(v) > half {
							told[n]++
							if v*of[k][n] > 0 {
								right[n]++
							}
						}
					}
					resolved += int(named["resolved"][at])
				}
				t.Logf("%s reflectors: %d of %d resolved; covered %d, signs told %d, right %d", depth, resolved, len(truth), covered, told, right)
				for n := range c.terms {
					if share := float64(covered[n]) / float64(len(truth)); !(share > 0.925 && share < 0.975) {
						t.Errorf("%s reflectors: the intervals of the %s hold the truth in %.1f %%, want 95", depth, termNames[n], 100*share)
					}
					if wrong := told[n] - right[n]; told[n] < 30 || wrong > len(truth)/40 {
						t.Errorf("%s reflectors: %d of %d signs of the %s are wrong", depth, wrong, told[n], termNames[n])
					}
				}
			}
		})
	}
}
