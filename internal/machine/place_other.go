//go:build !linux

package machine

import (
	"os"
	"path/filepath"
)

func whereIs(path string, _ os.FileInfo) string {
	if whole, err := filepath.EvalSymlinks(path); err == nil {
		path = whole
	}
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	return host() + " " + path
}
