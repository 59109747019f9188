// Package program gives tests the program lsm, built once.
package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Variable names a folder with the program. make test builds it once for all packages.
const Variable = "LSM_TEST_PROGRAM"

// Folder returns a folder that holds the program lsm of this module: the one that Variable
// names or, where a package is tested by itself, one in which it is built now.
func Folder(t *testing.T) string {
	t.Helper()
	if folder := os.Getenv(Variable); folder != "" {
		// Go asks for this file again before it takes a result from its cache.
		if _, err := os.Stat(filepath.Join(folder, "lsm")); err != nil {
			t.Fatalf("%s: %v", Variable, err)
		}
		return folder
	}
	folder := t.TempDir()
	build := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(folder, "lsm"), "github.com/kirchhoff-lsm/lsm/cmd/lsm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return folder
}
