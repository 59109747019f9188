package house

import (
	"go/ast"
	"slices"
	"testing"
)

// What the C library is made of starts its goroutines by internal/workers: a panic on another one
// would end the process of the library's caller. The library's own watches a flag.
func TestWorkersOfTheLibrary(t *testing.T) {
	set, all := sources(t)
	of := map[string][]*source{}
	for _, s := range all {
		of[s.folder()] = append(of[s.folder()], s)
	}
	packages := []string{"cmd/liblsm"}
	for i := 0; i < len(packages); i++ {
		for _, s := range of[packages[i]] {
			for _, path := range s.imports() {
				if !slices.Contains(packages, path) {
					packages = append(packages, path)
				}
			}
		}
	}
	if !slices.Contains(packages, "kirchhoff") || !slices.Contains(packages, "internal/workers") {
		t.Fatalf("the library is made of %q", packages)
	}
	for _, path := range packages {
		for _, s := range of[path] {
			if path == "internal/workers" || s.path == "cmd/liblsm/internal/library/library.go" {
				continue
			}
			for _, i := range s.file.Imports {
				if i.Path.Value == `"golang.org/x/sync/errgroup"` {
					t.Errorf("%s imports errgroup, whose goroutines end the process", s.path)
				}
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				_, starts := n.(*ast.GoStmt)
				if x, ok := n.(*ast.SelectorExpr); ok && x.Sel.Name == "WaitGroup" { // its Go starts some, too
					starts = true
				}
				if starts {
					t.Errorf("%s: a goroutine not of internal/workers", set.Position(n.Pos()))
				}
				return true
			})
		}
	}
}
