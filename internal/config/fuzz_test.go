package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// FuzzParse: whatever the file, an option and a variable hold, the answer is
// problems with text, or a configuration that survives its own round trip.
func FuzzParse(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.toml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(source, "solver.iterations=5", "LSM_SOLVER_DAMPING=0.1")
	}
	f.Add([]byte(Template()), "kirchhoff.angle_limit=60", "LSM_IMAGE_SHAPE=3,4")
	f.Fuzz(func(t *testing.T, source []byte, set, env string) {
		c, err := Parse("config.toml", source, []string{set}, []string{env})
		if err == nil {
			roundTrip(t, c)
			return
		}
		var problems *Problems
		if !errors.As(err, &problems) || len(problems.List) == 0 {
			t.Fatalf("error %v (%T), want *Problems", err, err)
		}
		lines := strings.Count(string(source), "\n") + 1
		for _, p := range problems.List {
			text := p.String()
			if p.Source == "" || p.Message == "" || strings.ContainsFunc(text, unicode.IsControl) {
				t.Errorf("problem %+v reads %q", p, text)
			}
			if p.Line < 0 || p.Line > lines {
				t.Errorf("line %d of %d: %s", p.Line, lines, text)
			}
		}
	})
}
