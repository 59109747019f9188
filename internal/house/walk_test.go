package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The functions that the walk of docs/architecture.md names are in the files that it names.
func TestWalk(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, walk, _ := strings.Cut(string(page), "## The walk\n")
	walk, _, _ = strings.Cut(walk, "\n## ")
	_, walk, _ = strings.Cut(walk, "```\n\n")
	named := regexp.MustCompile("`([\\w.]+)`\\s\\(`([\\w/]+(?:\\.(?:go|cu))?)`\\)").FindAllStringSubmatch(walk, -1)
	if len(named) < 20 {
		t.Errorf("%d functions with their files, want at least 20", len(named))
	}
	for _, n := range named {
		name, file := n[1][strings.LastIndex(n[1], ".")+1:], n[2]
		if !strings.Contains(file, "/") {
			file = "internal/pipeline/" + file
		}
		files := []string{filepath.Join(root, file)}
		if filepath.Ext(file) == "" {
			files, _ = filepath.Glob(filepath.Join(root, file, "*.go"))
		}
		declared := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?)?` + name + `\(`)
		found := false
		for _, f := range files {
			b, err := os.ReadFile(f)
			found = found || err == nil && declared.Match(b)
		}
		if !found {
			t.Errorf("%s is not declared in %s", n[1], n[2])
		}
	}
}
