package h5

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CheckOutput reports whether a file can be published at path: its folder
// exists and can be written, path is not a folder or device, and nothing is
// there already unless force is given. It is for the start of a run, hours
// before the output is written.
func CheckOutput(path string, force bool) error {
	if err := checkTarget(path, force); err != nil {
		return err
	}
	// Only an attempt tells whether a folder can be written: permission bits
	// know nothing of read-only mounts, quotas and root.
	probe, err := os.CreateTemp(filepath.Dir(resolve(path)), filepath.Base(path)+".probe-*")
	if err != nil {
		return resourceError(path, "", fmt.Errorf("cannot write in its folder: %w", cause(err)))
	}
	probe.Close()
	os.Remove(probe.Name())
	return nil
}

func checkTarget(path string, force bool) error {
	place := func(format string, args ...any) error {
		return &Error{Path: path, Class: ErrOutput, Err: fmt.Errorf(format, args...)}
	}
	if path == "" {
		return place("the output has no name")
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return place("is a folder, want the name of a file")
	case err == nil && !info.Mode().IsRegular():
		return place("is not a regular file (%s)", info.Mode())
	case err == nil && !force:
		return place("already exists; --force overwrites%w", hidden{fs.ErrExist})
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return resourceError(path, "", cause(err))
	}
	folder := filepath.Dir(resolve(path))
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return place("there is no folder %s", folder)
	}
	return nil
}

// resolve follows a symbolic link, so that a link from a small disk to a large
// one stays a link.
func resolve(path string) string {
	if target, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		return target
	}
	return path
}

func temporary(target string) string { return fmt.Sprintf("%s.tmp-%d", target, os.Getpid()) }

// publish makes the finished temporary file the output: synced, renamed, and
// its folder synced.
func publish(temp, target string) error {
	if err := syncPath(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, target); err != nil {
		return cause(err)
	}
	return syncPath(filepath.Dir(target))
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return cause(err)
	}
	defer f.Close()
	return cause(f.Sync())
}

// discard removes a temporary file. The library may keep a file open that it
// could not finish; cutting it to nothing frees the disk at once even then.
func discard(temp string) {
	os.Truncate(temp, 0)
	os.Remove(temp)
}
