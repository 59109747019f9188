// Package house holds tests of how the tree is built: which room may import which, what
// exported names show, how long a function may be.
package house

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "github.com/kirchhoff-lsm/lsm/"
	root   = "../.."
	page   = root + "/docs/architecture.md"

	mostLines = 80 // of a function
)

var update = flag.Bool("update", false, "write the imports of the rooms into docs/architecture.md")

// source is a parsed file that is not a test.
type source struct {
	path string // from the root, with slashes
	file *ast.File
}

func (s *source) folder() string { return filepath.ToSlash(filepath.Dir(s.path)) }

// imports lists the packages of this module that a file imports.
func (s *source) imports() (list []string) {
	for _, i := range s.file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		if rest, ok := strings.CutPrefix(path, module); ok {
			list = append(list, rest)
		}
	}
	return list
}

// sources parses all Go files but tests.
func sources(t *testing.T) (*token.FileSet, []*source) {
	t.Helper()
	set := token.NewFileSet()
	var all []*source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (name[0] == '.' || name == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		short, err := filepath.Rel(root, path)
		all = append(all, &source{filepath.ToSlash(short), file})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return set, all
}

// room is one row of the table in docs/architecture.md. It holds the packages in its
// folders and below, but for those of another room.
type room struct {
	folders []string
	text    string // the first two columns
}

const heading = "| folder | holds | imports |\n|---|---|---|\n"

// rooms reads the table: the rooms from the top of the house to its ground.
func rooms(t *testing.T) (list []*room, before, table, after string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, table, found := strings.Cut(string(text), heading)
	if !found {
		t.Fatalf("%s has no table that begins with\n%s", page, heading)
	}
	table, after, _ = strings.Cut(table, "\n\n")
	for _, line := range strings.Split(table, "\n") {
		columns := strings.Split(line, " | ")
		r := &room{text: strings.Join(columns[:2], " | ")}
		for i, part := range strings.Split(columns[0], "`") {
			if i%2 == 1 {
				r.folders = append(r.folders, part)
			}
		}
		list = append(list, r)
	}
	return list, before + heading, table, "\n\n" + after
}

// owner is the number of the room that a package lies in, −1 for none, and the folder
// there that holds it.
func owner(list []*room, path string) (number int, folder string) {
	number = -1
	for i, r := range list {
		for _, f := range r.folders {
			if (path == f || strings.HasPrefix(path, f+"/")) && len(f) > len(folder) {
				number, folder = i, f
			}
		}
	}
	return number, folder
}

// TestImports makes sure that a room imports rooms below it alone, and that the table in
// docs/architecture.md says which.
func TestImports(t *testing.T) {
	list, before, table, after := rooms(t)
	_, files := sources(t)
	uses := make([]map[string]bool, len(list))
	for i := range uses {
		uses[i] = map[string]bool{}
	}
	for _, f := range files {
		from, _ := owner(list, f.folder())
		if from < 0 {
			t.Errorf("%s: no room in %s holds %s", f.path, page, f.folder())
			continue
		}
		for _, path := range f.imports() {
			switch to, folder := owner(list, path); {
			case to < 0:
				t.Errorf("%s imports %s, which lies in no room", f.path, path)
			case to < from:
				t.Errorf("%s imports %s, which lies above it", f.path, path)
			case to > from:
				uses[from][folder] = true
			}
		}
	}
	var want []string
	for i, r := range list {
		var names []string
		for _, other := range list {
			for _, folder := range other.folders {
				if uses[i][folder] {
					names = append(names, "`"+folder+"`")
				}
			}
		}
		if names == nil {
			names = []string{"nothing"}
		}
		want = append(want, r.text+" | "+strings.Join(names, ", ")+" |")
	}
	if text := strings.Join(want, "\n"); text != table {
		if !*update {
			t.Fatalf("the table of rooms in %s is stale: go test ./internal/house -update writes it", page)
		}
		if err := os.WriteFile(page, []byte(before+text+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestExportedNames makes sure that packages which other programs may import show
// nothing that they may not.
func TestExportedNames(t *testing.T) {
	set, files := sources(t)
	for _, f := range files {
		if strings.Contains("/"+f.folder()+"/", "/internal/") || strings.HasPrefix(f.path, "cmd/") {
			continue
		}
		hidden := map[string]bool{}
		for _, path := range f.imports() {
			if strings.Contains("/"+path+"/", "/internal/") {
				hidden[filepath.Base(path)] = true
			}
		}
		look := func(name string, n ast.Node) {
			ast.Inspect(n, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if of, ok := s.X.(*ast.Ident); ok && hidden[of.Name] {
						t.Errorf("%s: %s shows %s.%s", set.Position(s.Pos()), name, of.Name, s.Sel.Name)
					}
				}
				return true
			})
		}
		for _, d := range f.file.Decls {
			exported(d, look)
		}
	}
}

// exported calls look for the types in a declaration that other packages see.
func exported(d ast.Decl, look func(name string, n ast.Node)) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
			look(d.Name.Name, d.Type)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if fields, ok := s.Type.(*ast.StructType); ok && s.Name.IsExported() {
					for _, f := range fields.Fields.List {
						if len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
							look(s.Name.Name, f.Type)
						}
					}
				} else if s.Name.IsExported() {
					look(s.Name.Name, s.Type)
				}
			case *ast.ValueSpec:
				if s.Type != nil && s.Names[0].IsExported() {
					look(s.Names[0].Name, s.Type)
				}
			}
		}
	}
}

// receiver names the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	e := d.Recv.List[0].Type
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// TestSizes limits functions to what a reader can hold in mind.
func TestSizes(t *testing.T) {
	set, files := sources(t)
	for _, f := range files {
		for _, d := range f.file.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := set.Position(d.End()).Line - set.Position(d.Pos()).Line + 1; n > mostLines {
				t.Errorf("%s: %s has %d lines, at most %d", set.Position(d.Pos()), d.Name.Name, n, mostLines)
			}
		}
	}
}
