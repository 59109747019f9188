package readable

import (
	"math"
	"testing"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Length(6493376.019148838), "6493376"}, {Length(123456.789), "123457"}, {Length(1234.5678), "1234.57"},
		{Length(math.Copysign(0, -1)), "0"}, {Length(-1e-12), "0"}, {Length(-12.5), "-12.5"}, {Length(1e6), "1000000"},
		{Length(10), "10"}, {Length(0.25), "0.25"}, {Length(3000), "3000"}, {Length(-0.004), "-0.004"},
		{Length(1e20), "1e+20"}, {Length(math.Inf(1)), "+Inf"}, {Length(math.NaN()), "NaN"},
		{Frequency(0.5 / 0.00075), "666.7"}, {Frequency(125), "125"}, {Frequency(12345.678), "12345.7"}, {Frequency(47.853), "47.9"}, {Frequency(4.2512), "4.25"}, {Frequency(0), "0"},
		{Time(0.004), "0.004"}, {Time(1.2960000000000003), "1.296"}, {Time(-0.076), "-0.076"}, {Time(5e-7), "5e-07"}, {Time(2000), "2000"},
		{Speed(1499.99999), "1500"}, {Speed(4300.4), "4300"}, {Speed(0.3331), "0.3331"},
		{Percent(0.996), "100 %"}, {Percent(1), "100 %"}, {Percent(0.5583), "56 %"}, {Percent(0.0342), "3.4 %"}, {Percent(0), "0 %"}, {Percent(2e-4), "0.02 %"},
		{Count(1, "source"), "1 source"}, {Count(0, "trace"), "0 traces"}, {Count(2565, "trace"), "2565 traces"},
		{Count(2, "axis"), "2 axes"}, {Count(1, "axis"), "1 axis"}, {Count(3, "class"), "3 classes"}, {Count(2, "stretch"), "2 stretches"},
		{Count(2, "entry"), "2 entries"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		s    float64
		want string
	}{{0.00042, "0.42 ms"}, {0.0994, "99.4 ms"}, {0.0996, "0.10 s"}, {1.84, "1.84 s"}, {9.996, "10 s"},
		{52.4, "52 s"}, {119.4, "119 s"}, {725, "12 min 5 s"}, {7199.7, "2 h 0 min"}, {12000, "3 h 20 min"}} {
		if got := Duration(c.s); got != c.want {
			t.Errorf("%g s: %q, want %q", c.s, got, c.want)
		}
	}
}
