package velocity

import (
	"math"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// An image comes back from time as it was, and a layer at 700 m lies at its two-way time.
func TestStretchRoundTrip(t *testing.T) {
	m := deepModel(10)
	g := grid.Grid{Origin: []float64{50, 0}, Spacing: []float64{50, 10}, Shape: []int{3, 151}}
	image := make([]float32, g.Len())
	for i := range image {
		u := math.Pow(math.Pi*(float64(i%151)-70)/12, 2) // a Ricker wavelet 24 cells long
		image[i] = float32((1 - 2*u) * math.Exp(-u))
	}
	there, err := NewStretch(m, g, 0)
	if err != nil {
		t.Fatal(err)
	}
	inTime := make([]float32, there.To.Len())
	if err := there.Apply(t.Context(), inTime, image); err != nil {
		t.Fatal(err)
	}
	for column := range 3 {
		a := 1600 + 0.5*g.Coord(0, column)
		want, best := 2/0.6*math.Log(1+0.6*700/a), 0
		part := inTime[column*there.To.Shape[1]:][:there.To.Shape[1]]
		for k, v := range part {
			if v > part[best] {
				best = k
			}
		}
		if got := there.To.Coord(1, best); math.Abs(got-want) > there.To.Spacing[1]*0.51 || math.Abs(float64(part[best])-1) > 0.05 {
			t.Errorf("column %d: peak of %g at %g s, want 1 at %g s", column, part[best], got, want)
		}
	}
	back, err := NewStretch(m, there.To, 10)
	if err != nil {
		t.Fatal(err)
	}
	again := make([]float32, back.To.Len())
	if err := back.Apply(t.Context(), again, inTime); err != nil {
		t.Fatal(err)
	}
	sum, norm := 0.0, 0.0
	for i, v := range image {
		e := float64(v - again[i/151*back.To.Shape[1]+i%151])
		sum, norm = sum+e*e, norm+float64(v)*float64(v)
	}
	if e := math.Sqrt(sum / norm); e > 0.005 {
		t.Errorf("the round trip changes the image by %.2g", e)
	}
}

// On a coarse axis short waves are left out instead of aliased.
func TestStretchCoarse(t *testing.T) {
	m := deepModel(10)
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{50, 5}, Shape: []int{1, 301}}
	image := make([]float32, g.Len())
	for i := range image {
		image[i] = float32(math.Sin(2 * math.Pi * float64(i) / 3)) // three cells a wave
	}
	s, err := NewStretch(m, g, 0.03)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, s.To.Len())
	if err := s.Apply(t.Context(), out, image); err != nil {
		t.Fatal(err)
	}
	for k, v := range out[3 : len(out)-3] {
		if math.Abs(float64(v)) > 0.1 {
			t.Errorf("sample %d is %g, an alias", k+3, v)
		}
	}
}

func TestStretchRefuses(t *testing.T) {
	m := deepModel(10)
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{250, 10}, Shape: []int{2, 20}}
	if _, err := NewStretch(m, g, 0); err == nil || !strings.Contains(err.Error(), "(250 m) lies outside the velocity model") {
		t.Errorf("error %v", err)
	}
}
