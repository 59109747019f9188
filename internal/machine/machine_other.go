//go:build !linux

package machine

import (
	"os"
	"path/filepath"
)

// addressLimit is for systems that limit the address space in other ways, or not.
func addressLimit() uint64 { return 1<<64 - 1 }

func affinity() []int { return unbound() }

func whereIs(path string, _ os.FileInfo) string {
	if whole, err := filepath.EvalSymlinks(path); err == nil {
		path = whole
	}
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	return host() + " " + path
}
