package velocity

import (
	"strings"
	"testing"
)

func TestUnit(t *testing.T) {
	for text, want := range map[string]string{
		"m/s": "m/s", " M/S ": "m/s", "m s-1": "m/s", "meters per second": "m/s", "km/s": "km/s", "km s^-1": "km/s",
		"ft/s": "ft/s", "feet/second": "ft/s", "s/m": "", "m": "", "": "", "mm/s": "", "furlong": "",
	} {
		if got := Unit(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestPlausible(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{1480, 5500, ""}, {300, 300, ""}, {20, 20, ""}, {1500, 10000, ""},
		{1.5, 5.5, "km/s"}, {0.33, 3, "km/s"}, {5000, 18000, "ft/s"},
		{1e-4, 7e-4, "slowness in s/m"}, {0.1, 0.7, "slowness in s/km"}, {1e6, 1e6, "no velocity of rock"},
		{2.5, 1500, "2.5 looks like another unit"}, {0.0004, 2500, "another unit"},
	} {
		err := Plausible(c.lo, c.hi)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%g to %g m/s: %v, want %q", c.lo, c.hi, err, c.want)
		}
	}
	for _, v := range []float64{1e300, 1e-300, 0, -1} {
		if Possible(v) == nil {
			t.Errorf("%g m/s: no error", v)
		}
	}
}

// One list of velocities has one unit, which no flag can mend.
func TestUniform(t *testing.T) {
	for _, picks := range [][]Pick{{{0, 1500}, {1, 2.5}}, {{0.5, 2.5}, {1, 1500}, {2, 2000}}, {{0.5, 1.5e6}, {1, 2500}}} {
		for name, make := range map[string]func([]Pick) (Profile, error){"profile": NewProfile, "Dix": Dix} {
			if _, err := make(picks); err == nil || !strings.Contains(err.Error(), "different units") {
				t.Errorf("%s of %v: error %v", name, picks, err)
			}
		}
	}
	if _, err := NewProfile([]Pick{{0, 110}, {5, 340}, {5, 8000}}); err != nil {
		t.Error(err)
	}
}
