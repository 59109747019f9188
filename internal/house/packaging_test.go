package house

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// recipe reads a file of packaging/.
func recipe(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "packaging", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// named are the paths of this tree in recipes and in pages about them.
var named = regexp.MustCompile(`(?:\./)?\b(?:packaging|scripts|cmd|internal/[a-z]+|docs)/[A-Za-z0-9_./-]*[A-Za-z0-9_-]`)

// What recipes name is there.
func TestRecipesNameFiles(t *testing.T) {
	pages := []string{"docs/install.md", "scripts/dist.sh", "scripts/gpu-bundle.sh"}
	err := filepath.WalkDir(filepath.Join(root, "packaging"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Ext(path) != ".go" {
			short, _ := filepath.Rel(root, path)
			pages = append(pages, short)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		plain := strings.ReplaceAll(string(text), "github.com/kirchhoff-lsm/lsm/internal/provenance.version", "internal/provenance")
		plain = regexp.MustCompile(`github\.com/goreleaser/[^ ]*`).ReplaceAllString(plain, "")
		for _, path := range named.FindAllString(plain, -1) {
			seen++
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s names %s: %v", page, path, err)
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d paths", seen)
	}
}

// The recipes are in the languages of their tools. The tools themselves are not here.
func TestRecipes(t *testing.T) {
	var packages struct {
		Name, Arch, Version, License string
		Contents                     []struct{ Src, Dst, Type string }
		Overrides                    map[string]struct{ Depends []string }
	}
	if err := yaml.Unmarshal([]byte(recipe(t, "nfpm.yaml")), &packages); err != nil {
		t.Fatal(err)
	}
	if packages.Name != "lsm" || packages.Version != "${VERSION}" || packages.Arch != "${ARCH}" || len(packages.Contents) == 0 {
		t.Errorf("nfpm.yaml: %+v", packages)
	}
	for _, format := range []string{"deb", "rpm"} {
		depends := packages.Overrides[format].Depends
		if len(depends) != 1 || !strings.Contains(depends[0], glibcLimit(t)) {
			t.Errorf("nfpm.yaml: the .%s depends on %q, and programs on glibc %s", format, depends, glibcLimit(t))
		}
	}
	for _, name := range []string{"conda/recipe.yaml", "conda-python/recipe.yaml"} {
		var conda map[string]any
		if err := yaml.Unmarshal([]byte(recipe(t, name)), &conda); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if conda["package"] == nil || conda["requirements"] == nil || conda["tests"] == nil {
			t.Errorf("%s: %v", name, conda)
		}
	}
	var variants map[string]any
	if err := yaml.Unmarshal([]byte(recipe(t, "conda/variants.yaml")), &variants); err != nil {
		t.Errorf("conda/variants.yaml: %v", err)
	} else if got := fmt.Sprint(variants["c_stdlib_version"]); got != "["+glibcLimit(t)+"]" {
		t.Errorf("conda/variants.yaml: C library %s, and programs need glibc %s", got, glibcLimit(t))
	}
	if python, err := exec.LookPath("python3"); err != nil {
		t.Log("package.py is not compiled: ", err)
	} else if out, err := exec.Command(python, "-c", "compile(open('../../packaging/spack/package.py').read(), 'package.py', 'exec')").CombinedOutput(); err != nil {
		t.Errorf("spack/package.py: %v\n%s", err, out)
	}
	for _, script := range []string{"packaging/sysroot.sh", "packaging/roots.sh", "scripts/try-wheel.sh", "scripts/vulnerabilities.sh", "packaging/glibc.sh", "packaging/try.sh", "packaging/try-inside.sh", "scripts/dist.sh", "scripts/arm64.sh", "scripts/relocate.sh", "scripts/gpu-bundle.sh", "scripts/python.sh", "scripts/share.sh"} {
		if out, err := exec.Command("sh", "-n", filepath.Join(root, script)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}

// glibcLimit is the oldest glibc that packages are for.
func glibcLimit(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "scripts/dist.sh"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^glibc=([0-9.]+)`).FindSubmatch(text)
	if found == nil {
		t.Fatal("scripts/dist.sh names no glibc")
	}
	return string(found[1])
}

// A program that needs a newer glibc than it may is found, with what it needs; the header of
// packages takes older versions of the same functions.
func TestGlibcLimit(t *testing.T) {
	if _, err := exec.LookPath("objdump"); err != nil {
		t.Skip("not run: ", err)
	}
	for _, compiler := range []string{"x86_64-linux-gnu-gcc", "aarch64-linux-gnu-gcc"} {
		t.Run(compiler, func(t *testing.T) { testGlibcLimit(t, compiler) })
	}
}

func testGlibcLimit(t *testing.T, compiler string) {
	cc, err := exec.LookPath(compiler)
	if err != nil {
		t.Skip("not run: ", err)
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "a.c")
	text := "#include <math.h>\ndouble f(double x, double y) { return pow(x, y) + exp(x) + log(y) + exp2(x) + log2(y); }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(limit string, flags ...string) (string, error) {
		library := filepath.Join(dir, "a.so")
		args := append(flags, "-shared", "-fPIC", "-fno-builtin", "-o", library, source, "-lm")
		if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err := exec.Command(filepath.Join(root, "packaging/glibc.sh"), limit, library).CombinedOutput()
		return string(out), err
	}
	out, err := check("2.2")
	if err == nil || !strings.Contains(out, "needs pow of glibc") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := check("2.99"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := check(glibcLimit(t), "-include", filepath.Join(root, "packaging/glibc.h")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
