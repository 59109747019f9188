package bench

import (
	"context"
	"math"
	"os"
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
		r, err := Traveltimes(context.Background(), shape, 5, 1, 1)
		if err != nil || r.Verdict != "OK" {
			t.Errorf("%v: %+v, %v", shape, r, err)
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
