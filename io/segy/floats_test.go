package segy

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// noisy writes traces of a format, whose samples have many magnitudes.
func noisy(t *testing.T, spec Spec, scale float64, kind string) []byte {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	w, err := NewWriter(&b, spec)
	if err != nil {
		t.Fatal(err)
	}
	v := make([]float32, spec.Samples)
	for range 12 {
		for i := range v {
			switch kind {
			case "noise":
				v[i] = float32(scale * r.NormFloat64())
			case "wave":
				v[i] = float32(scale * math.Sin(0.3*float64(i)) * math.Exp(-float64(i)/80))
			case "whole":
				v[i] = float32(math.Round(scale * r.NormFloat64()))
			case "velocity":
				v[i] = float32(1500 + 20*float64(i))
			}
		}
		if err := w.Write(map[Field]int64{TraceID: 1}, v); err != nil {
			t.Fatal(err)
		}
	}
	return []byte(b.String())
}

// A format code that states the other kind of floats is refused with the flag that decides; one
// that is right is not.
func TestStatedFloats(t *testing.T) {
	t.Parallel()
	for _, order := range []Order{Big, Little} {
		for _, kind := range []string{"noise", "wave", "whole", "velocity"} {
			for _, scale := range []float64{1e-9, 1, 20000, 1e7} {
				for format, other := range map[Format]Format{IBM32: IEEE32, IEEE32: IBM32} {
					b := noisy(t, Spec{Major: 1, Order: order, Format: format, Samples: 220, Interval: 4000}, scale, kind)
					name := fmt.Sprintf("%s-endian %s of %g, %v", order, kind, scale, format)
					if _, err := open(b, Options{}); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					b = put(b, order.binary(), fileFormat, int64(other))
					_, err := open(b, Options{})
					var fault *Error
					if told := errors.As(err, &fault) && strings.Contains(fault.Hint, fmt.Sprintf("--sample-format %d takes", format)); !told && (kind == "noise" || kind == "wave" && scale > 1e-3) {
						t.Errorf("%s, stated as %v: %v", name, other, err)
					}
					for _, asked := range []Format{format, other} {
						if f, err := open(b, Options{Format: asked}); err != nil || f.Format != asked {
							t.Errorf("%s, taken as %v: %v", name, asked, err)
						}
					}
				}
			}
		}
	}
}
