package house

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// stub stands for the program: it writes what share.sh asks for.
const stub = `#!/bin/sh
case $1 in
completion) echo "completion for $2" ;;
manual) mkdir -p "$2" && echo page >"$2/lsm.1" && echo page >"$2/lsm-run.1" ;;
esac
`

// make install puts the program, its manual pages and completions below PREFIX, readable by all,
// and make uninstall removes exactly these.
func TestInstall(t *testing.T) {
	for _, program := range []string{"make", "gzip", "install"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("not run: ", err)
		}
	}
	tree, destination := t.TempDir(), t.TempDir()
	for name, from := range map[string]string{"Makefile": "Makefile", "scripts/share.sh": "scripts/share.sh", "bin/lsm": ""} {
		text := []byte(stub)
		if from != "" {
			var err error
			if text, err = os.ReadFile(filepath.Join(root, from)); err != nil {
				t.Fatal(err)
			}
		}
		write(t, filepath.Join(tree, name), text)
	}
	other := filepath.Join(destination, "opt/share/man/man1/lsm-of-others.1")
	write(t, other, []byte("of another program\n"))
	run := func(target string) []string {
		t.Helper()
		// The program is there: make need not build it.
		make := exec.Command("sh", "-c", `umask 077 && exec make -s -o build "$@"`, "-", "-C", tree, target, "PREFIX=/opt", "DESTDIR="+destination)
		if out, err := make.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return files(t, destination)
	}
	want := []string{"opt/bin/lsm", "opt/share/bash-completion/completions/lsm", "opt/share/fish/vendor_completions.d/lsm.fish",
		"opt/share/man/man1/lsm-of-others.1", "opt/share/man/man1/lsm-run.1.gz", "opt/share/man/man1/lsm.1.gz", "opt/share/zsh/site-functions/_lsm"}
	if got := run("install"); !slices.Equal(got, want) {
		t.Errorf("installed %q, want %q", got, want)
	}
	if info, err := os.Stat(filepath.Join(destination, "opt/share/zsh/site-functions/_lsm")); err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if got := run("uninstall"); !slices.Equal(got, []string{"opt/share/man/man1/lsm-of-others.1"}) {
		t.Errorf("what is left: %q", got)
	}
	run("uninstall")
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o700); err != nil {
		t.Fatal(err)
	}
}

// files lists the files below a folder.
func files(t *testing.T, folder string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(folder, path)
			list = append(list, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
