package pipeline

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A plan can be made for any ranks anywhere: the stages that make it, in files that begin with their
// names, open no file, talk to no rank and report nothing.
func TestPlansArePure(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		stage, _, _ := strings.Cut(strings.TrimSuffix(name, ".go"), "_")
		if !slices.Contains([]string{"geometry", "times", "plan"}, stage) || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, impure := range []string{"os", "io", "/comm", "/dist", "/device/gpu", "/internal/progress", "/internal/machine"} {
				if path == impure || strings.HasPrefix(impure, "/") && strings.HasSuffix(path, impure) {
					t.Errorf("%s imports %s", name, path)
				}
			}
		}
	}
}
