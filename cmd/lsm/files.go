package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// fileUse is a file and what a command takes it for, such as "survey.file" or "--trace".
type fileUse struct{ role, path string }

// distinct refuses to write over what is read, and two outputs to one file, --force or
// not: whatever the names, links included. Files without a name are left out.
func distinct(inputs, outputs []fileUse) error {
	before := inputs
	for _, out := range outputs {
		if out.path == "" {
			continue
		}
		for _, f := range before {
			if f.path != "" && sameFile(f.path, out.path) {
				return status.Usage(fmt.Errorf("%s: %s is the same file as %s, %s: the output must be another file", out.role, out.path, f.role, f.path))
			}
		}
		before = append(before[:len(before):len(before)], out)
	}
	return nil
}

// checkFiles makes sure, before anything large is read, that the output may be written
// and that the inputs can be read, those of HDF5 in a child process.
func (a *app) checkFiles(ctx context.Context, inputs []fileUse, output string, overwrite bool) error {
	if err := distinct(inputs, alike("--output", output)); err != nil {
		return err
	}
	if err := h5.CheckOutput(output, overwrite); err != nil {
		return err
	}
	var paths []string
	for _, f := range inputs {
		paths = append(paths, f.path)
	}
	return a.tryFile(ctx, paths...)
}

// wrote tells where a command's output is, with keys and values for the event "done".
func (a *app) wrote(what, path string, keyValues ...any) {
	a.report.Printf("%s: %s\n", what, path)
	a.finish(append([]any{"output", path}, keyValues...)...)
}

// sameFile reports whether two paths lead to one file, which need not be there yet.
func sameFile(a, b string) bool {
	inA, errA := os.Stat(a)
	inB, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(inA, inB)
	}
	return errA != nil && errB != nil && destination(a) == destination(b)
}

// destination is where a file will be that is not there yet: without links.
func destination(path string) string {
	const mostLinks = 40
	for range mostLinks {
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		folder = filepath.Dir(path)
	}
	whole, err := filepath.Abs(filepath.Join(folder, filepath.Base(path)))
	if err != nil {
		return path
	}
	return whole
}

// uses gives the files of a configuration their roles.
func uses(files []config.File) []fileUse {
	out := make([]fileUse, len(files))
	for i, f := range files {
		out[i] = fileUse{f.Key, f.Path.File}
	}
	return out
}

// alike gives files of one kind their role.
func alike(role string, paths ...string) []fileUse {
	out := make([]fileUse, len(paths))
	for i, p := range paths {
		out[i] = fileUse{role, p}
	}
	return out
}
