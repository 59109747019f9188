package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Files that nest as deep as their size allows are refused before they are parsed: the
// parser would take minutes, and the test with it.
func TestDeepFiles(t *testing.T) {
	keys := func(n int) string { return strings.Repeat("a.", n-1) + "a" }
	for _, c := range []struct{ name, source, want string }{
		{"section", "# deep\n[" + keys(500000) + "]\n", "config.toml:2:"},
		{"key", keys(500000) + " = 1\n", "config.toml:1:32: "},
		{"key in a table", "x = { " + keys(500000) + " = 1 }\n", "config.toml:1:"},
		{"tables", "a = " + strings.Repeat("{a=", 200000) + "1" + strings.Repeat("}", 200000), "config.toml:1:"},
		{"lists", "a = " + strings.Repeat("[", 500000), "config.toml:1:21: "},
		{"quoted keys", strings.Repeat("\"a\".", 200000) + "b = 1\n", "config.toml:1:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("config.toml", []byte(c.source), nil, nil)
			var problems *Problems
			if !errors.As(err, &problems) || len(problems.List) != 1 {
				t.Fatalf("error %v, want one problem", err)
			}
			if text := err.Error(); !strings.HasPrefix(text, c.want) || !strings.HasSuffix(text, "nested deeper than 16 levels, want sections of keys") {
				t.Errorf("%s; want %s…", text, c.want)
			}
		})
	}
	if _, err := Parse("config.toml", []byte(plain), []string{"image.shape=" + strings.Repeat("[", 100000)}, nil); err == nil {
		t.Error("a deep value of --set is accepted")
	}
}

// What is not deep may be long.
func TestDepth(t *testing.T) {
	for _, source := range []string{
		plain,
		"a = [" + strings.Repeat("1.5, ", 1000) + "]\n",
		"a = \"" + strings.Repeat("[.{", 100) + "\"  # " + strings.Repeat("[.{", 100) + "\n",
		"a = '''" + strings.Repeat("[\n.", 100) + "'''\n",
		strings.Repeat("[a.b.c]\nd.e = 1.5\n", 100),
		fmt.Sprintf("[%s]\n", strings.Repeat("a.", deepest-1)+"a"),
		strings.Repeat("[", deepest) + strings.Repeat("]", deepest),
	} {
		if at := tooDeep(source); at >= 0 {
			t.Errorf("%.40q: too deep at %d", source, at)
		}
	}
}
