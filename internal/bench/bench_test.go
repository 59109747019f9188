package bench

import (
	"context"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

func TestMain(m *testing.M) {
	os.Exit(gputest.Main(m))
}

// On a card, too.
func TestKernelOnACardIsCorrect(t *testing.T) {
	gputest.Need(t)
	card, err := gpu.Open(gpu.Options{Cache: accel.UserCache()})
	if err != nil {
		t.Fatal(err)
	}
	defer card.Close()
	r, err := Kernel(context.Background(), KernelSize{Shape: []int{33, 21}, Sources: 3, Receivers: 5, Samples: 150,
		Engine: "cuda", Card: card, Exact: true, Threads: 1, Runs: 1})
	if err != nil || r.Verdict != "OK" || !(r.Exact[0] > 0) {
		t.Errorf("%+v (%v)", r, err)
	}
}

// What is timed is right: the dot test passes in every geometry and engine, and
// the triples are those of the definition.
func TestKernelIsCorrect(t *testing.T) {
	for _, size := range []KernelSize{
		{Shape: []int{33, 21}, Sources: 3, Receivers: 5, Samples: 150, Engine: "cpu"},
		{Shape: []int{33, 21}, Sources: 3, Receivers: 5, Samples: 150, Engine: "cpu", Dynamic: true},
		{Shape: []int{33, 21}, Sources: 3, Receivers: 5, Samples: 150, Engine: "reference"},
		{Shape: []int{33, 21}, Sources: 4, Receivers: 6, Samples: 150, Engine: "cpu", Streamer: true},
		{Shape: []int{9, 8, 7}, Sources: 3, Receivers: 5, Samples: 100, Engine: "cpu", Dynamic: true},
	} {
		size.Threads, size.Runs = 1, 1
		r, err := Kernel(context.Background(), size)
		if err != nil {
			t.Fatalf("%v: %v", size, err)
		}
		n := size.Sources * size.Receivers
		for _, s := range size.Shape {
			n *= s
		}
		if r.Verdict != "OK" || r.Triples != int64(n) {
			t.Errorf("%v: verdict %s, dot test %g, %d triples, want %d", size, r.Verdict, r.DotError, r.Triples, n)
		}
	}
}

func TestTraveltimesAreCorrect(t *testing.T) {
	for _, shape := range [][]int{{61, 41}, {25, 21, 23}} {
		for _, m := range []Medium{
			Linear,
			{Epsilon: 0.25, Delta: -0.04, Tilt: 30},
			{Epsilon: 0.05, Delta: 0.2, Tilt: -70},
			{Gradient: 0.6, Epsilon: 0.2, Delta: 0.2, Tilt: 40},
		} {
			r, err := Traveltimes(context.Background(), m, shape, 5, 1, 1)
			if err != nil || r.Verdict != "OK" {
				t.Errorf("%v, %v: %+v, %v", m, shape, r, err)
			}
		}
	}
}

// Along the axis and normal to it the exact times are those of v0 and v0 √(1 + 2ε), at 45 degrees
// of the slowness those of its closed form.
func TestExactTimesOfRays(t *testing.T) {
	m := Medium{Epsilon: 0.25, Delta: -0.04, Tilt: 30}
	exact, axis := m.exact(), []float64{0.5, math.Sqrt(3) / 2}
	v2 := float64(topVelocity * topVelocity)
	vh2, cross := v2*1.5, 2*v2*v2*0.29
	b := (vh2 + v2) / 2
	p2 := 2 / (b + math.Sqrt(b*b-cross)) / 2 // of either part of the slowness
	for _, c := range []struct{ along, across, want float64 }{
		{700, 0, 700. / topVelocity},
		{0, -700, 700 / math.Sqrt(vh2)},
		{v2 - cross*p2, vh2 - cross*p2, math.Sqrt(p2) * (v2 + vh2 - 2*cross*p2)},
	} {
		x := []float64{100 + c.along*axis[0] + c.across*axis[1], 50 + c.along*axis[1] - c.across*axis[0]}
		if got := exact([]float64{100, 50}, x); math.Abs(got/c.want-1) > 1e-8 {
			t.Errorf("%g m along, %g m across: %.12g s, want %.12g s", c.along, c.across, got, c.want)
		}
	}
}

func TestMediumWithoutExactSolution(t *testing.T) {
	for _, c := range []struct {
		m    Medium
		want string
	}{
		{Medium{Gradient: 0.6, Epsilon: 0.2, Delta: 0.1}, "epsilon is 0.2, delta is 0.1 and the gradient 0.6 1/s"},
		{Medium{Gradient: -1}, "gradient of the velocity is -1 1/s"},
		{Medium{Gradient: math.NaN()}, "gradient of the velocity is NaN 1/s"},
		{Medium{Epsilon: -0.6, Delta: 0.1}, "epsilon is -0.6"},
	} {
		_, err := Traveltimes(context.Background(), c.m, []int{21, 21}, 1, 1, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.m, err)
		}
	}
}

// Speeds are numbers for a machine file, whatever the engine and the weights.
func TestSpeedsArePositive(t *testing.T) {
	ctx := context.Background()
	for _, k := range []KernelSize{
		{Shape: []int{33, 21}, Engine: "cpu", Exact: true},
		{Shape: []int{33, 21}, Engine: "cpu", Dynamic: true},
		{Shape: []int{9, 8, 7}, Engine: "reference"},
	} {
		k.Sources, k.Receivers, k.Samples, k.Threads, k.Runs = 4, 6, 150, 2, 3
		samples, err := SampleSpeed(ctx, k)
		if err != nil || !(samples > 0) {
			t.Errorf("%v: %g samples/s, %v", k, samples, err)
		}
		triples, err := TripleSpeed(ctx, k, math.Inf(1)) // samples that take no time
		if err != nil || !(triples > 0) {
			t.Errorf("%v: %g triples/s, %v", k, triples, err)
		}
		points, err := PointSpeed(ctx, k.Shape, k.Threads, k.Runs)
		if err != nil || !(points > 0) {
			t.Errorf("%v: %g points/s, %v", k, points, err)
		}
	}
}

func TestMedian(t *testing.T) {
	if m := median([]float64{5, 1, 9}); m != 5 {
		t.Errorf("median of three is %g", m)
	}
	if m := median([]float64{4, 1, 9, 2}); m != 3 {
		t.Errorf("median of four is %g", m)
	}
}
