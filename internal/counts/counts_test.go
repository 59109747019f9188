package counts

import (
	"math"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

func TestOf(t *testing.T) {
	for x, want := range map[float64]int{0: 0, 2.4: 2, 2.6: 3, 100: 100} {
		if n, err := Of("points", x, 100); n != want || err != nil {
			t.Errorf("%g: %d, %v, want %d", x, n, err, want)
		}
	}
	for _, x := range []float64{-1, 101, 1e300, math.Inf(1), math.Inf(-1), math.NaN()} {
		if n, err := Of("--step makes points", x, 100); n != 0 || err == nil || !strings.Contains(err.Error(), "--step") {
			t.Errorf("%g: %d, %v, want an error that names --step", x, n, err)
		}
	}
}

func TestNear(t *testing.T) {
	for x, want := range map[float64]int{math.Inf(-1): 2, -1e300: 2, 2.4: 2, 5.5: 6, 9.4: 9, 1e300: 9, math.Inf(1): 9} {
		if n := Near(x, 2, 9); n != want {
			t.Errorf("%g: %d, want %d", x, n, want)
		}
	}
	if n := Near(math.NaN(), 2, 9); n != 2 {
		t.Errorf("NaN: %d", n)
	}
}

func TestFit(t *testing.T) {
	if err := Fit("an array", 1<<20); err != nil {
		t.Error(err)
	}
	if err := Fit("an array", 1e18); status.Code(err) != status.NoResource {
		t.Errorf("10¹⁸ bytes: %v", err)
	}
}
