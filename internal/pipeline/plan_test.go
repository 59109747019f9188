package pipeline

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A plan can be made for any ranks anywhere: it opens no file, talks to no rank and
// reports nothing.
func TestPlansArePure(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
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
			for _, impure := range []string{"os", "io", "/comm", "/dist", "/device/gpu", "/internal/progress", "/internal/machine", "/internal/operator"} {
				if path == impure || strings.HasPrefix(impure, "/") && strings.HasSuffix(path, impure) {
					t.Errorf("%s imports %s", name, path)
				}
			}
		}
	}
}
