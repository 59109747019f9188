package config

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whatever encode writes, TOML reads as the same value.
func TestEncodeReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		if v, ok := decodeValue(encode(s)); !ok || v != s {
			t.Fatalf("text %q written as %s reads as %#v", s, encode(s), v)
		}
		x := rapid.Float64().Draw(t, "number")
		if v, ok := decodeValue(encode(x)); !ok || v != x {
			t.Fatalf("number %g written as %s reads as %#v", x, encode(x), v)
		}
		n := rapid.Int().Draw(t, "integer")
		if v, ok := decodeValue(encode(n)); !ok || v != int64(n) {
			t.Fatalf("integer %d written as %s reads as %#v", n, encode(n), v)
		}
	})
}

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		tag, words string
		in, out    []float64
	}{
		{"", "", []float64{-math.MaxFloat64, 0, math.MaxFloat64}, []float64{math.Inf(1)}},
		{"[0,)", "0 or more", []float64{0, 1e300}, []float64{-1e-300}},
		{"(0,)", "above 0", []float64{1e-300}, []float64{0, -1}},
		{"[0,180]", "from 0 to 180", []float64{0, 180}, []float64{-1, 180.0001}},
		{"(0,1]", "above 0, up to 1", []float64{1, 0.5}, []float64{0, 1.5}},
		{"[-1.5,1000000]", "from -1.5 to 1000000", []float64{-1.5}, []float64{-2}},
	} {
		var f Field
		f.setRange(c.tag)
		if f.Range != c.words {
			t.Errorf("%q in words: %q, want %q", c.tag, f.Range, c.words)
		}
		for _, x := range c.in {
			if _, ok := f.number(x); !ok {
				t.Errorf("%q does not contain %g", c.tag, x)
			}
		}
		for _, x := range append(c.out, math.NaN()) {
			if _, ok := f.number(x); ok {
				t.Errorf("%q contains %g", c.tag, x)
			}
		}
	}
	for _, bad := range []string{"[0]", "[a,b]", "0..1"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("the tag range:%q went through", bad)
				}
			}()
			new(Field).setRange(bad)
		}()
	}
}

// Typed values: TOML, bare words for texts, bare lists.
func TestParseTypedValues(t *testing.T) {
	table := table()
	for _, c := range []struct{ key, text, want string }{
		{"solver.iterations", "5", "5"},
		{"solver.iterations", "5.0", "5"},
		{"solver.iterations", "1e3", "1000"},
		{"solver.iterations", "0x10 # sixteen", "16"},
		{"solver.damping", "5", "5.0"},
		{"solver.damping", "-0.0", "0.0"},
		{"solver.method", "cg", `"cg"`},
		{"solver.method", "'cg'", `"cg"`},
		{"output.file", "a b.h5", `"a b.h5"`},
		{"output.file", "2024", `"2024"`},
		{"output.file", "true", `"true"`},
		{"output.file", `"a\tb"`, ""},
		{"output.file", `a"b`, `"a\"b"`},
		{"output.file", "x # y", `"x # y"`},
		{"output.adjoint", "", `""`},
		{"kirchhoff.dynamic", "true", "true"},
		{"kirchhoff.dynamic", "yes", ""},
		{"kirchhoff.angle_limit", "60", "[60.0]"},
		{"kirchhoff.angle_limit", "60,70", "[60.0, 70.0]"},
		{"kirchhoff.angle_limit", "[]", "[]"},
		{"comm.grid", "2,0", "[2, 0]"},
		{"comm.grid", "[2.0, 1]", "[2, 1]"},
		{"comm.grid", "2", ""},
		{"comm.grid", "2,0]\nx = [1,2", ""},
		{"solver.iterations", "5\nx = 1", ""},
		{"solver.iterations", "inf", ""},
		{"image.shape", "9007199254740993, 1", ""},
	} {
		f := table.field(c.key)
		v, found := f.parse(c.text)
		if (found == "") != (c.want != "") {
			t.Errorf("%s=%q: %v, found %q, want %q", c.key, c.text, v, found, c.want)
		} else if found == "" && encode(v) != c.want {
			t.Errorf("%s=%q: %s, want %s", c.key, c.text, encode(v), c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	table := table()
	var all []string
	for _, f := range table.fields() {
		if !slices.Contains(all, f.Key) {
			all = append(all, f.Key)
		}
	}
	for _, c := range []struct{ name, want string }{
		{"iteratons", "iterations"}, {"itreations", "iterations"}, {"ITERATIONS", "iterations"},
		{"fiel", "file"}, {"fil", "file"}, {"methode", "method"}, {"angle-limit", "angle_limit"},
		{"whiten", "whiten"}, {"x", ""}, {"", ""}, {"colour", ""}, {"zzz", ""},
	} {
		if got := nearest(c.name, all); got != c.want {
			t.Errorf("%q is like %q, want %q", c.name, got, c.want)
		}
	}
	if got := nearest("gpu", []string{"auto", "cpu", "cuda"}); got != "" {
		t.Errorf(`"gpu" is like %q, want nothing`, got)
	}
}

// One letter lost, doubled or swapped with the next, in any key of six letters
// or more, is understood.
func TestSlipsAreUnderstood(t *testing.T) {
	table := table()
	for _, s := range table.sections {
		for _, f := range s.fields {
			k := f.Key
			for i := range len(k) - 1 {
				for _, slip := range []string{
					k[:i] + k[i+1:],
					k[:i] + k[i:i+1] + k[i:],
					k[:i] + k[i+1:i+2] + k[i:i+1] + k[i+2:],
				} {
					if len(k) < 6 || slip == k {
						continue
					}
					if found := table.suggest(s, slip); len(found) != 1 || found[0] != f {
						t.Errorf("%s.%s: suggests %v, want %s", s.name, slip, found, f.Name())
					}
				}
			}
		}
	}
}
