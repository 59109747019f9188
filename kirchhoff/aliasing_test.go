package kirchhoff

import (
	"context"
	"flag"
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/io/picture"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

var pictureFile = flag.String("picture", "", "PNG file for the images of TestAliasing")

// TestAliasing: a reflector that dips at 25 degrees, seen by traces 40 m apart with source
// and receiver in one place, at 2000 m/s and 20 Hz. Its own arrivals alias above 30 Hz, but
// sums along the steepest curves do above 12.5 Hz: the plain image is full of noise, which
// anti-aliasing takes away.
func TestAliasing(t *testing.T) {
	const v, dip, apart = 2000, 25 * math.Pi / 180, 40.0
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{241, 131}}
	times, err := traveltime.NewAnalytic(v, g)
	if err != nil {
		t.Fatal(err)
	}
	s := survey.Survey{Dim: 2}
	for i := range 76 {
		x := apart * float64(i)
		s.Sources, s.Receivers = append(s.Sources, x, 0), append(s.Receivers, x, 0)
		s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, int32(i)), append(s.ReceiverIndex, int32(i))
	}
	p := &Problem{Grid: g, Positions: s.Distinct(true), NT: 500, DT: 0.004, WaveletFilter: HalfDerivatives, Times: times, Threads: 1}
	p.Wavelet = survey.Wavelet{Samples: make([]float64, 81), Zero: 40, DT: p.DT}
	for i := range p.Wavelet.Samples {
		a := math.Pi * 20 * p.DT * float64(i-40)
		p.Wavelet.Samples[i] = (1 - 2*a*a) * math.Exp(-a*a)
	}
	p.Velocity = make([]float64, g.Len())
	for i := range p.Velocity {
		p.Velocity[i] = v
	}
	// Distance from the reflector, along its normal.
	off := func(x, z float64) float64 { return (z-500)*math.Cos(dip) - (x-500)*math.Sin(dip) }
	model := make([]float32, g.Len())
	for ix := 50; ix < 140; ix++ {
		for iz := range 131 {
			model[ix*131+iz] = float32(max(0, 1-math.Abs(off(float64(10*ix), float64(10*iz)))/10))
		}
	}
	h := device.NewHost(1)
	data := make([]float32, p.NumTraces()*p.NT)
	migrate := func(spacing []float64) []float32 {
		q := *p
		q.Antialias, q.Slowest = spacing, v
		e, err := New(context.Background(), &q, Work{})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if spacing == nil {
			if err := only(e).Forward(context.Background(), device.Wrap(h, data), device.Wrap(h, model)); err != nil {
				t.Fatal(err)
			}
		}
		image := make([]float32, g.Len())
		if err := only(e).Adjoint(context.Background(), device.Wrap(h, image), device.Wrap(h, data)); err != nil {
			t.Fatal(err)
		}
		return image
	}
	images := [][]float32{migrate(nil), migrate([]float64{2 * apart})} // midpoints, not receivers
	var noise, peak [2]float64
	for k, image := range images {
		for ix := range 241 {
			for iz := 20; iz < 131; iz++ {
				value := math.Abs(float64(image[ix*131+iz]))
				d := math.Abs(off(float64(10*ix), float64(10*iz)))
				if d > 150 {
					noise[k] += value * value
				}
				if d < 50 && ix > 70 && ix < 120 {
					peak[k] = max(peak[k], value)
				}
			}
		}
		noise[k] = math.Sqrt(noise[k]) / peak[k]
	}
	drop := noise[0] / noise[1]
	t.Logf("noise away from the reflector falls by a factor of %.2f in amplitude, %.2f in energy", drop, drop*drop)
	if drop*drop < 5 {
		t.Errorf("the energy of what lies more than 150 m from the reflector falls by %.2f, want at least 5", drop*drop)
	}
	if *pictureFile == "" {
		return
	}
	var figures []*picture.Figure
	for k, title := range []string{"without", "kirchhoff.antialias = \"triangle\""} {
		f, err := picture.Image(g, images[k], picture.Options{Title: title})
		if err != nil {
			t.Fatal(err)
		}
		figures = append(figures, f)
	}
	if err := picture.WriteFile(*pictureFile, picture.Beside(figures...), true); err != nil {
		t.Fatal(err)
	}
}
