package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"pgregory.net/rapid"
)

func TestLines(t *testing.T) {
	source := strings.Join([]string{
		1:  `# [nothing]`,
		2:  `a.b = 1 # c = 2`,
		3:  `"x y".'z' = "]["`,
		4:  `[ s ] # [t]`,
		5:  `k = """`,
		6:  `l = 1`,
		7:  `\""" [u]""""`,
		8:  `m = [ # n = 1`,
		9:  `  "o = 1]", '''p]`,
		10: `q = 1''',`,
		11: `  { r = 1 }, [2, 3], # ]`,
		12: `] # end`,
		13: `v = { w = 1, x = { y = 2 } }`,
		14: `d = 1979-05-27 07:32:00`,
		15: "\t e\t=\t''",
		16: `[s.sub]`,
		17: `k = 2`,
		18: `[[list]]`,
		19: `f = true`,
		20: `[top]`,
		21: `[inline]`,
		22: `g = 1 `,
		23: ``,
	}, "\n")[1:]
	if _, err := toml.Decode(source, &map[string]any{}); err != nil {
		t.Fatalf("the source of this test is not TOML: %v", err)
	}
	pos := locate(source)
	want := map[[2]string]int{
		{"a", ""}: 2, {"a", "b"}: 2, {"x y", ""}: 3, {"x y", "z"}: 3,
		{"s", ""}: 4, {"s", "k"}: 5, {"s", "m"}: 8, {"s", "v"}: 13, {"s", "d"}: 14, {"s", "e"}: 15,
		{"s", "sub"}: 16, {"list", ""}: 18, {"top", ""}: 20, {"inline", ""}: 21, {"inline", "g"}: 22,
	}
	for k, line := range want {
		if got := pos.line(k[0], k[1]); got != line {
			t.Errorf("%q at line %d, want %d", k, got, line)
		}
	}
}

func TestLinesOfInlineSection(t *testing.T) {
	pos := locate("s = { a = 1, 'b' = [1, 2], c = { a = 1, d = 2 }, e = '}' }\nt = { }\nu = 1\r\nv.w = 2\r\n")
	for k, line := range map[[2]string]int{
		{"s", "a"}: 1, {"s", "b"}: 1, {"s", "c"}: 1, {"s", "e"}: 1, {"t", ""}: 2, {"u", ""}: 3, {"v", "w"}: 4, {"s", "d"}: 0,
	} {
		if got := pos.line(k[0], k[1]); got != line {
			t.Errorf("%q at line %d, want %d", k, got, line)
		}
	}
}

// Documents put together from pieces of known height: every key is found at its
// line.
func TestLinesOfAnyDocument(t *testing.T) {
	values := []string{
		"1", "-2.5e3 # k1 = 2", `"k1 = 1"`, `'[s1]'`, `"""` + "\n[s2]\nk3 = 1\n" + `"""`, "'''\n'\n'''", "[1,\n2, # ]\n3]",
		`[[1, "]"], ["}"]]`, "{ a = 1 }", "true", `"\"" # "`, `"\\"`, `["k = 1", '''` + "\nk2 = 1''']",
	}
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		line := 1
		want := map[[2]string]int{}
		write := func(s string) {
			b.WriteString(s)
			line += strings.Count(s, "\n")
		}
		for s := range rapid.IntRange(0, 4).Draw(t, "sections") {
			section := fmt.Sprintf("s%d", s)
			if rapid.Bool().Draw(t, "comment") {
				write("# [s9]\n\n")
			}
			want[[2]string{section, ""}] = line
			dotted := rapid.Bool().Draw(t, "dotted") && s == 0
			if !dotted {
				header := rapid.SampledFrom([]string{"[%s]\n", "[ %s ]\n", "  ['%s'] # x\n", "[\"%s\"]\r\n"}).Draw(t, "header")
				write(fmt.Sprintf(header, section))
			}
			keys := rapid.IntRange(0, 4).Draw(t, "keys")
			if dotted {
				keys++ // else the section would not be mentioned
			}
			for k := range keys {
				key := fmt.Sprintf("k%d", k)
				want[[2]string{section, key}] = line
				if dotted {
					key = section + " . " + key
				}
				write(key + " = " + rapid.SampledFrom(values).Draw(t, "value") + "\n")
			}
		}
		source := b.String()
		if _, err := toml.Decode(source, &map[string]any{}); err != nil {
			t.Fatalf("not TOML: %v\n%s", err, source)
		}
		pos := locate(source)
		for k, line := range want {
			if got := pos.line(k[0], k[1]); got != line {
				t.Fatalf("%q at line %d, want %d, in\n%s", k, got, line, source)
			}
		}
	})
}
