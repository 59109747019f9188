package moveout_test

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
)

// stretched makes the gathers of flat layers in a homogeneous medium of 2000 m/s whose coordinates are stretched by a factor along
// the azimuth fast, migrated with a velocity. Reflections of a class come evenly from all azimuths of its sector, one of n. A
// source and receiver x apart lie x' apart before the stretch, so that the reflection from the depth d comes at
// t = √(4 d² + x'²)/2000 and is migrated to z with t = √(4 z² + x²)/velocity.
func stretched(n int, factor, fast, velocity, noise float64) (*moveout.Gathers, moveout.Sectors) {
	g := grid.Grid{Origin: []float64{0, 0, 400}, Spacing: []float64{40, 40, 10}, Shape: []int{11, 11, 120}}
	offsets := []float64{150, 450, 750, 1050, 1350, 1650, 1950}
	const nz, fold = 120, 5
	r := rand.New(rand.NewPCG(5, 6))
	sectors := moveout.Sectors{}
	for k := range n {
		sectors.Azimuths = append(sectors.Azimuths, float64(k)*180/float64(n))
	}
	signal := make([]float64, len(offsets)*n*nz)
	for class := range len(offsets) * n {
		for j := range fold {
			azimuth := (float64(class%n) + (float64(j)-2)/fold) * math.Pi / float64(n)
			x := offsets[class/n]
			along, across := x*math.Cos(azimuth-fast*math.Pi/180)/factor, x*math.Sin(azimuth-fast*math.Pi/180)
			for _, d := range []float64{700, 1000, 1300} {
				time := math.Sqrt(4*d*d+along*along+across*across) / 2000
				z := math.Sqrt(math.Max(0, math.Pow(velocity*time, 2)-x*x)) / 2
				for iz := range nz {
					u := (g.Coord(2, iz) - z) / 30
					signal[class*nz+iz] += (1 - 2*u*u) * math.Exp(-u*u) / fold
				}
			}
		}
	}
	columns := g.Shape[0] * g.Shape[1]
	all, sums, image := make([][]float32, columns), make([][]float32, columns), make([]float32, g.Len())
	for column := range columns {
		sums[column] = make([]float32, len(offsets)*nz)
		for i, v := range signal {
			value := float32(v + noise*r.NormFloat64())
			all[column] = append(all[column], value)
			sums[column][i/nz/n*nz+i%nz] += value
			image[column*nz+i%nz] += value
		}
	}
	sectors.Panel = func(column int) ([]float32, error) { return all[column], nil }
	return &moveout.Gathers{Grid: g, Offsets: offsets, Image: image, Panel: func(column int) ([]float32, error) { return sums[column], nil }}, sectors
}

// Ellipses have the axis and the percentage of the medium, within their errors also under noise, and a medium without has none.
func TestEllipsesAreThoseOfTheMedium(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                          string
		n                             int
		factor, fast, velocity, noise float64
	}{
		{"six sectors", 6, 1.05, 30, 2000, 0},
		{"too fast, across north", 6, 1.05, 172, 2150, 0},
		{"three sectors", 3, 1.05, 100, 2000, 0},
		{"noise", 6, 1.05, 30, 1950, 0.5},
		{"weak", 8, 1.02, 77, 2000, 0.2},
		{"isotropic", 6, 1, 0, 2050, 0},
		{"isotropic with noise", 6, 1, 0, 2000, 0.5},
	} {
		gathers, sectors := stretched(c.n, c.factor, c.fast, c.velocity, c.noise)
		o := options(100)
		o.Every, o.Around = [2]int{3, 3}, [2]int{1, 1}
		picks := pick(t, gathers, o)
		if err := moveout.FitEllipses(gathers, sectors, o, picks); err != nil {
			t.Fatal(err)
		}
		want, outside := 200*(c.factor-1)/(c.factor+1), 0
		for _, p := range picks {
			e := p.Ellipse
			if off := math.Abs(e.Percent - want); off > 3*e.Deviation {
				outside++
			}
		}
		sum := moveout.CombineEllipses(picks)
		t.Logf("%s: %d picks, %d more than three errors from %.2f %%; %+v", c.name, len(picks), outside, want, sum)
		if len(picks) < 30 || outside > len(picks)/10 {
			t.Errorf("%s: of %d picks the anisotropy of %d is more than three standard errors off, want a tenth at most of 30 or more", c.name, len(picks), outside)
		}
		if c.factor == 1 {
			if sum.Certain() || sum.Alone > len(picks)/20 {
				t.Errorf("%s: there is an anisotropy, and at %d of %d picks, want none", c.name, sum.Alone, len(picks))
			}
			continue
		}
		if off := math.Abs(math.Remainder(sum.Fast-c.fast, 180)); !sum.Certain() || sum.Alone < len(picks)*8/10 || off > 5 || math.Abs(sum.Percent-want) > 1 {
			t.Errorf("%s: %d of %d picks have an anisotropy, together of %.2f %% along %.1f degrees, want most, %.2f %% and %g degrees", c.name, sum.Alone, len(picks), sum.Percent, sum.Fast, want, c.fast)
		}
	}
}

// Far-off ellipses, as reflections in the wrong period make them, leave what the others have in common.
func TestFarOffEllipses(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var picks []moveout.Pick
	for i := range 400 {
		e := complex(5+4*r.NormFloat64(), 4*r.NormFloat64()) // along north
		if i%5 == 0 {
			e = cmplx.Rect(50, 2*math.Pi*r.Float64())
		}
		picks = append(picks, moveout.Pick{Ellipse: moveout.Ellipse{Fast: math.Mod(cmplx.Phase(e)*90/math.Pi+180, 180), Percent: cmplx.Abs(e), Deviation: 4}})
	}
	sum := moveout.CombineEllipses(picks)
	t.Logf("%+v, axis ± %.1f degrees", sum, sum.AxisDeviation())
	if !sum.Certain() || math.Abs(math.Remainder(sum.Fast, 180)) > 5 || math.Abs(sum.Percent-5) > 1 {
		t.Errorf("a fifth of ellipses of 50 %% among some of 5 %% along north: %+v", sum)
	}
}
