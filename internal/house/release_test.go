package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A release is one commit and a tag, and is refused where it would not be one.
func TestRelease(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("not run: ", err)
	}
	dir := t.TempDir()
	command := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=86400", "HOME="+dir, "MAKE="+filepath.Join(dir, "scripts/make"),
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	git := func(args ...string) string {
		t.Helper()
		out, err := command("git", args...)
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return out
	}
	release := func(version string) (string, error) { return command("scripts/release.sh", version) }
	put := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	put("scripts/release.sh", read("../../scripts/release.sh"), 0o700)
	put("scripts/make", "#!/bin/sh\nmkdir packages && echo \"$@\" >packages/made\n", 0o700)
	put(".gitignore", "/packages/\n", 0o600)
	put("CITATION.cff", read("../../CITATION.cff"), 0o600)
	versions := map[string]string{
		"internal/provenance/provenance.go":      "\tversion = \"0.10.0+source\"\n",
		"cmd/liblsm/internal/library/library.go": "var version = \"0.10.0+source\"\n",
		"python/setup.py":                        "or \"0.10.0+source\",\n",
	}
	for name := range versions {
		put(name, read("../../"+name), 0o600)
	}
	put("CHANGELOG.md", "# Changes\n\n## Unreleased\n\n- Something.\n\n## 0.1.0, 1969-12-31\n\n- The first.\n", 0o600)
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	git("tag", "v0.9.0")

	refused := func(version, want string) {
		t.Helper()
		if out, err := release(version); err == nil || !strings.Contains(out, want) {
			t.Errorf("release of %q: %v, %s; want %q", version, err, out, want)
		}
	}
	refused("1.0", "want three numbers")
	refused("0.9.0", "there is 0.9.0 already")
	refused("0.8.9", "there is 0.9.0 already")
	put("new", "", 0o600)
	refused("0.10.0", "changes that are in no commit")
	if err := os.Remove(filepath.Join(dir, "new")); err != nil {
		t.Fatal(err)
	}

	if out, err := release("0.10.0"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, want := read(filepath.Join(dir, "CHANGELOG.md")), "## Unreleased\n\n## 0.10.0, 1970-01-02\n\n- Something.\n\n## 0.1.0"; !strings.Contains(got, want) {
		t.Errorf("CHANGELOG.md is\n%s", got)
	}
	if got := read(filepath.Join(dir, "CITATION.cff")); !strings.HasSuffix(got, "\nversion: 0.10.0\ndate-released: 1970-01-02\n") {
		t.Errorf("CITATION.cff is\n%s", got)
	}
	for name, want := range versions {
		if got := read(filepath.Join(dir, name)); !strings.Contains(got, want) {
			t.Errorf("%s lacks %q:\n%s", name, want, got)
		}
	}
	if got := read(filepath.Join(dir, "packages/made")) + read(filepath.Join(dir, "packages/NOTES.md")); got != "dist ARCH=amd64 arm64\n\n- Something.\n\n" {
		t.Errorf("packages: %q", got)
	}
	if got := git("describe", "--exact-match") + git("status", "--porcelain"); got != "v0.10.0\n" {
		t.Errorf("tag and changes: %q", got)
	}
	refused("0.11.0", `nothing under "## Unreleased"`)
}
