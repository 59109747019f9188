package config

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// update rewrites the generated files instead of comparing with them:
// go test ./internal/config -update
var update = flag.Bool("update", false, "rewrite the .want files and docs/configuration.md")

// fixture reads a configuration of testdata. Its comments "# set: x" and
// "# env: x" give the options and the environment that go with it.
func fixture(t *testing.T, path string) (source []byte, set, environ []string) {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(source), "\n") {
		if s, ok := strings.CutPrefix(line, "# set: "); ok {
			set = append(set, s)
		}
		if s, ok := strings.CutPrefix(line, "# env: "); ok {
			environ = append(environ, s)
		}
	}
	return source, set, environ
}

func fixtures(t *testing.T, pattern string, least int) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < least {
		t.Fatalf("%d files %s in testdata, want at least %d", len(paths), pattern, least)
	}
	return paths
}

// compare holds text against the file at path.
func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

// Each bad configuration is refused with exactly the text beside it.
func TestBadFiles(t *testing.T) {
	for _, path := range fixtures(t, "*.bad.toml", 90) {
		name := strings.TrimSuffix(filepath.Base(path), ".bad.toml")
		t.Run(name, func(t *testing.T) {
			source, set, environ := fixture(t, path)
			c, err := Parse("config.toml", source, set, environ)
			var problems *Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error is %v (%T), want *Problems", err, err)
			}
			if c != nil {
				t.Errorf("a configuration came with the problems")
			}
			compare(t, strings.TrimSuffix(path, ".toml")+".want", err.Error()+"\n")
		})
	}
}

// changed lists the keys of c that differ from their defaults, in the order of the template, so that a
// new key changes no golden file.
func changed(c *Config) string {
	var b strings.Builder
	for _, f := range table().fields() {
		if v := f.encoded(c); v != f.Default {
			fmt.Fprintf(&b, "%s = %s\n", f.Name(), v)
		}
	}
	return b.String()
}

// Each good configuration resolves to the keys in the text beside it, all others at their defaults, its
// notes after them. What a file records of it resolves to itself.
func TestGoodFiles(t *testing.T) {
	for _, path := range fixtures(t, "*.good.toml", 12) {
		name := strings.TrimSuffix(filepath.Base(path), ".good.toml")
		t.Run(name, func(t *testing.T) {
			source, set, environ := fixture(t, path)
			c, err := Parse("config.toml", source, set, environ)
			if err != nil {
				t.Fatal(err)
			}
			got := changed(c)
			for _, n := range c.Notes() {
				got += "# " + n.String() + "\n"
			}
			compare(t, strings.TrimSuffix(path, ".toml")+".want", got)
			roundTrip(t, c)
		})
	}
}

// roundTrip checks that the resolved text of c reads back as c.
func roundTrip(t *testing.T, c *Config) {
	t.Helper()
	text := c.TOML()
	again, err := Parse(c.Path(), []byte(text), nil, nil)
	if err != nil {
		t.Fatalf("the resolved configuration does not parse: %v\n%s", err, text)
	}
	if again.TOML() != text {
		t.Errorf("resolved twice:\n%s\nwant:\n%s", again.TOML(), text)
	}
	a, errA := json.Marshal(c)
	b, errB := json.Marshal(again)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("JSON %s (%v), want %s (%v)", b, errB, a, errA)
	}
	for _, f := range table().fields() {
		if f.Type != "path" {
			continue
		}
		p, q := f.value(c).Interface().(Path), f.value(again).Interface().(Path)
		if p.IsSet() != q.IsSet() || p.IsSet() && !p.same(q) {
			t.Errorf("%s: reads back as %q, want %q", f.Name(), q.File, p.File)
		}
	}
}
