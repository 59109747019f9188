// Package docs holds the pages; its test runs the commands of those that tell a reader what to type.
package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/program"
)

// block is fenced code of a page. One with a title is a file, which the blocks after it use.
type block struct{ language, title, text string }

var fenced = regexp.MustCompile("(?ms)^```(\\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$")

func blocks(t *testing.T, page string) (all []block) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fenced.FindAllStringSubmatch(string(text), -1) {
		all = append(all, block{m[1], m[2], m[3]})
	}
	return all
}

// TestPages runs each page in a folder of its own: its shell and Python blocks, in their order.
func TestPages(t *testing.T) {
	pages, err := filepath.Glob("how-to/*.md")
	if err != nil || len(pages) < 6 {
		t.Fatalf("found %d pages (%v), want at least 6", len(pages), err)
	}
	pages = append(pages, "coming-from.md")
	bin := program.Folder(t)
	python, err := filepath.Abs("../python")
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "PYTHONPATH="+python, "MPLBACKEND=Agg")
	for _, page := range pages {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, b := range blocks(t, page) {
				switch {
				case b.title != "":
					if err := os.WriteFile(filepath.Join(dir, b.title), []byte(b.text), 0o644); err != nil {
						t.Fatal(err)
					}
				case b.language == "sh":
					run(t, dir, env, b.text, "sh", "-eu", "-c", b.text)
				case b.language == "python":
					runPython(t, dir, env, b.text)
				}
			}
		})
	}
}

func run(t *testing.T, dir string, env []string, text, command string, args ...string) {
	t.Helper()
	cmd := exec.Command(command, args...)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, out)
	}
}

var imports = regexp.MustCompile(`(?m)^(?:import|from) .*$`)

// runPython runs a block with PYTHON (python3). Where that lacks what the block imports, the block is
// skipped; so nothing after it may need its files.
func runPython(t *testing.T, dir string, env []string, text string) {
	t.Helper()
	python := os.Getenv("PYTHON")
	if python == "" {
		python = "python3"
	}
	t.Run("python", func(t *testing.T) {
		try := exec.Command(python, "-c", strings.Join(imports.FindAllString(text, -1), "\n"))
		try.Dir, try.Env = dir, env
		if out, err := try.CombinedOutput(); err != nil {
			t.Skipf("%s cannot run this block: %v\n%s", python, err, out)
		}
		run(t, dir, env, text, python, "-c", text)
	})
}
