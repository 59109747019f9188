package picture

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestPercentileAbs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float32Range(-1e30, 1e30), 1, 200).Draw(t, "v")
		p := rapid.Float64Range(0, 100).Draw(t, "p")
		abs := make([]float64, len(v))
		for i, x := range v {
			abs[i] = math.Abs(float64(x))
		}
		slices.Sort(abs)
		rank := min(max(1, int(math.Ceil(p/100*float64(len(v))))), len(v))
		at, top := percentileAbs(v, p)
		if at != abs[rank-1] || top != abs[len(abs)-1] {
			t.Fatalf("percentile %g is %g of at most %g, sorting says %g and %g", p, at, top, abs[rank-1], abs[len(abs)-1])
		}
	})
}

// Every pixel is a mean of samples, and all samples together weigh as much as
// the pixels do: nothing is left out when an array is made smaller.
func TestTaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "samples")
		px := rapid.IntRange(1, 300).Draw(t, "pixels")
		smooth := rapid.Bool().Draw(t, "smooth")
		use := make([]float64, n)
		last := 0
		for p, tap := range taps(n, px, smooth) {
			sum := 0.0
			for i, w := range tap.weights {
				if w < 0 || w > 1 {
					t.Fatalf("pixel %d: weight %g", p, w)
				}
				sum += float64(w)
				use[tap.first+i] += float64(w)
			}
			if math.Abs(sum-1) > 1e-5 {
				t.Fatalf("pixel %d: weights sum to %g", p, sum)
			}
			if tap.first < last {
				t.Fatalf("pixel %d starts at sample %d, the one before at %d", p, tap.first, last)
			}
			last = tap.first
		}
		if n > px {
			for i, u := range use {
				if want := float64(px) / float64(n); math.Abs(u-want) > 1e-4 {
					t.Fatalf("sample %d counts %g, want %g", i, u, want)
				}
			}
		}
	})
}

// A checkerboard finer than the pixels averages to nothing; picking samples
// would show stripes.
func TestFineDetailDoesNotAlias(t *testing.T) {
	const n0, n1 = 1200, 900
	v := make([]float32, n0*n1)
	for i := range v {
		v[i] = float32(1 - 2*((i/n1+i%n1)%2))
	}
	for i, x := range (&raster{v: v, n0: n0, n1: n1, smooth: true}).resample(100, 90) {
		if math.Abs(float64(x)) > 1e-3 {
			t.Fatalf("pixel %d of a checkerboard is %g", i, x)
		}
	}
}

// toLab converts sRGB values in [0, 255] (IEC 61966-2-1) to CIELAB under the white point
// D65 (CIE 15:2004).
func toLab(rgb [3]float64) [3]float64 {
	var u [3]float64
	for i, v := range rgb {
		v /= 255
		if v <= 0.04045 {
			u[i] = v / 12.92
		} else {
			u[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	f := func(t float64) float64 {
		if t > 216.0/24389 {
			return math.Cbrt(t)
		}
		return (24389.0/27*t + 16) / 116
	}
	fx := f((0.4124564*u[0] + 0.3575761*u[1] + 0.1804375*u[2]) / 0.95047)
	fy := f(0.2126729*u[0] + 0.7151522*u[1] + 0.0721750*u[2])
	fz := f((0.0193339*u[0] + 0.1191920*u[1] + 0.9503041*u[2]) / 1.08883)
	return [3]float64{116*fy - 16, 500 * (fx - fy), 200 * (fy - fz)}
}

func TestColorMapsAreEven(t *testing.T) {
	const steps = 1024
	lightness := func(colors Colors, i int) float64 {
		c := colors.at(float64(i) / (steps - 1))
		return toLab([3]float64{float64(c.R), float64(c.G), float64(c.B)})[0]
	}
	div := Diverging
	for i := range steps / 2 {
		a, b := lightness(div, i), lightness(div, steps-1-i)
		if math.Abs(a-b) > 1.5 {
			t.Errorf("diverging: lightness %.1f at %d, %.1f at its mirror", a, i, b)
		}
	}
	if c := div.at(0.5); c.R != c.G || c.G != c.B || c.R < 240 {
		t.Errorf("diverging: zero is %v, want near white", c)
	}
	if lo, hi := div.at(0), div.at(1); lo.B <= lo.R || hi.R <= hi.B {
		t.Errorf("diverging: negative %v and positive %v, want blue and red", lo, hi)
	}
	seq := Sequential
	for i := 1; i < steps; i++ {
		if lightness(seq, i) < lightness(seq, i-1)-0.7 { // rounding to 8 bits
			t.Errorf("sequential: lightness falls at %d", i)
		}
	}
	gr := Grey
	for i := range steps {
		want := 100 * (1 - float64(i)/(steps-1))
		if got := lightness(gr, i); math.Abs(got-want) > 0.6 {
			t.Errorf("grey: lightness %.1f at %d, want %.1f", got, i, want)
		}
	}
}

func FuzzParseColors(f *testing.F) {
	for _, n := range colorNames {
		f.Add(n)
	}
	f.Add("jet")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseColors(s)
		if err == nil && colorNames[c] != s {
			t.Errorf("%q is read as %v", s, c)
		}
		if err != nil && slices.Contains(colorNames, s) {
			t.Errorf("%q: %v", s, err)
		}
	})
}

func TestNumberAndOrdinal(t *testing.T) {
	for v, want := range map[float64]string{
		3.2e-3: "3.2e-3", 0.14: "0.14", 27.3: "27", 2400: "2400", 1.5e6: "1.5e6", 2e-9: "2e-9", 1: "1", 0.5: "0.5", 0: "0", -2.26: "-2.3",
	} {
		if got := number(v); got != want {
			t.Errorf("number(%g) = %q, want %q", v, got, want)
		}
	}
	for p, want := range map[float64]string{99: "99th", 99.5: "99.5th", 91: "91st", 92: "92nd", 93: "93rd", 12: "12th"} {
		if got := ordinal(p); got != want {
			t.Errorf("ordinal(%g) = %q, want %q", p, got, want)
		}
	}
}

// Labels tell ticks apart, lie on the axis, and name the place they stand at.
func TestTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Float64Range(-1e4, 1e4).Draw(t, "from")
		a := axis{from: from, to: from + rapid.Float64Range(1e-3, 1e5).Draw(t, "span")}
		if rapid.Bool().Draw(t, "upward") {
			a.from, a.to = a.to, a.from
		}
		seen := map[string]bool{}
		for _, tk := range a.ticks(rapid.Float64Range(1, 8).Draw(t, "inches"), 0.6) {
			if tk.Value < min(a.from, a.to) || tk.Value > max(a.from, a.to) {
				t.Fatalf("tick at %g", tk.Value)
			}
			if tk.Label == "" {
				continue
			}
			if v, err := strconv.ParseFloat(tk.Label, 64); err != nil || math.Abs(v-tk.Value) > 1e-6*a.length() {
				t.Fatalf("label %q at %g: %v", tk.Label, tk.Value, err)
			}
			if seen[tk.Label] {
				t.Fatalf("label %q twice", tk.Label)
			}
			seen[tk.Label] = true
		}
		if len(seen) == 0 || len(seen) > 30 {
			t.Fatalf("%d labels on an axis", len(seen))
		}
	})
	got := []string{}
	for _, tk := range (axis{from: 0, to: 3000}).ticks(6, 1) {
		if tk.Label != "" {
			got = append(got, tk.Label)
		}
	}
	if want := []string{"0", "500", "1000", "1500", "2000", "2500", "3000"}; !slices.Equal(got, want) {
		t.Errorf("labels are %v, want %v", got, want)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.png")
	f, err := Image(grid2(3, 3), make([]float32, 9), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, f, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an existing file: %v, want fs.ErrExist", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "old" {
		t.Error("an existing file was changed without force")
	}
	if err := WriteFile(path, f, true); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || len(b) < 8 || string(b[1:4]) != "PNG" {
		t.Errorf("the file holds no PNG (%v)", err)
	}
	if err := WriteFile(filepath.Join(dir, "b.png"), f, false); err != nil {
		t.Errorf("a new file: %v", err)
	}
	if err := WriteFile(filepath.Join(dir, "none", "c.png"), f, true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v, want fs.ErrNotExist", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("the folder holds %v, want a.png and b.png alone", left)
	}
}

// Angles of a model are averaged as those of axes where several fall on a pixel.
func TestAngles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		turn, a, b float64
		want       float32
	}{{180, 85, -85, 90}, {180, 10, 30, 20}, {360, 350, 10, 360}, {360, 5, 355, 360}, {0, 85, -85, 0}} {
		v := make([]float32, 40)
		for i := range v {
			if v[i] = float32(c.a); i%2 == 1 {
				v[i] = float32(c.b)
			}
		}
		r := &raster{v: v, n0: 4, n1: 10, turn: c.turn, win: window{lo: 0, hi: max(c.a, c.b)}}
		if c.turn == 360 {
			r.win.hi = 720
		}
		for i, x := range r.resample(4, 5) {
			if math.Abs(float64(x-c.want)) > 1e-3 {
				t.Fatalf("%g and %g degrees that repeat after %g: pixel %d is %g, want %g", c.a, c.b, c.turn, i, x, c.want)
			}
		}
	}
}
