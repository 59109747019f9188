package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// FileUse is a file and what a command takes it for, such as "survey.file" or "--trace".
type FileUse struct{ Role, Path string }

// Use is a file that a command takes for something.
func Use(role, path string) FileUse { return FileUse{role, path} }

// Named are files with their roles, a role before each file.
func Named(rolesAndPaths ...string) (list []FileUse) {
	for p := range slices.Chunk(rolesAndPaths, 2) {
		list = append(list, Use(p[0], p[1]))
	}
	return list
}

// Files is the table of the files of a command. Each goes in before anything is written: those of the command
// line at once, those that are named inside other files when these are read.
type Files struct{ reads, writes []FileUse }

// Reads notes files that the command reads, and refuses one that it is to write. Files without a name are
// left out.
func (f *Files) Reads(files ...FileUse) error {
	for _, in := range files {
		if in.Path == "" {
			continue
		}
		for _, out := range f.writes {
			if SameFile(in.Path, out.Path) {
				return overwritten(out, in)
			}
		}
		f.reads = append(f.reads, in)
	}
	return nil
}

// Writes notes files that the command writes. It refuses to write over what it reads, or to write two
// outputs to one file, even with --force. It follows links. Files without a name are left out, and those
// that are noted already in the same role.
func (f *Files) Writes(files ...FileUse) error {
	noted := f.writes
	for _, out := range files {
		if out.Path == "" || slices.Contains(noted, out) {
			continue
		}
		for _, by := range slices.Concat(f.reads, f.writes) {
			if SameFile(by.Path, out.Path) {
				return overwritten(out, by)
			}
		}
		f.writes = append(f.writes, out)
	}
	return nil
}

// Distinct is for files that are all known: it refuses to write over an input, or to write two outputs to
// one file.
func Distinct(inputs, outputs []FileUse) error {
	var f Files
	return InOrder(func() error { return f.Reads(inputs...) }, func() error { return f.Writes(outputs...) })
}

func overwritten(out, by FileUse) error {
	return status.Usage(fmt.Errorf("%s: %s is the same file as %s, %s: the output must be another file", out.Role, out.Path, by.Role, by.Path))
}

// CheckOutputs makes sure, before anything large is read, that the outputs may be written.
func (a *App) CheckOutputs(inputs, outputs []FileUse, overwrite bool) error {
	if err := InOrder(func() error { return a.Reads(inputs...) }, func() error { return a.Writes(outputs...) }); err != nil {
		return err
	}
	for _, out := range outputs {
		if out.Path == "" {
			continue
		}
		if err := h5.CheckOutput(out.Path, overwrite); err != nil {
			return err
		}
	}
	return nil
}

// CheckOutput is CheckOutputs for a command of one output, which must have a name.
func (a *App) CheckOutput(inputs []FileUse, output string, overwrite bool) error {
	if output == "" {
		return h5.CheckOutput(output, overwrite)
	}
	return a.CheckOutputs(inputs, Named("--output", output), overwrite)
}

// SameFile reports whether two paths lead to one file, which need not be there yet.
func SameFile(a, b string) bool {
	inA, errA := os.Stat(a)
	inB, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(inA, inB)
	}
	return errA != nil && errB != nil && destination(a) == destination(b)
}

// destination is the path, without links, of a file that is not there yet.
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

// Uses gives the files of a configuration their roles.
func Uses(files []config.File) []FileUse {
	out := make([]FileUse, len(files))
	for i, f := range files {
		out[i] = Use(f.Key, f.Path.File)
	}
	return out
}

// Alike gives files of one kind their role.
func Alike(role string, paths ...string) []FileUse {
	out := make([]FileUse, len(paths))
	for i, p := range paths {
		out[i] = Use(role, p)
	}
	return out
}

// Made is the provenance of an output that a command makes of files, by the roles that the files
// have. Files without a path are left out.
func Made(command string, files ...FileUse) ([]h5.Attr, error) {
	r := provenance.New(command)
	for _, f := range files {
		if f.Path == "" {
			continue
		}
		in, err := provenance.Hash(f.Role, f.Path)
		if err != nil {
			return nil, status.Input(err)
		}
		r.Inputs = append(r.Inputs, in)
	}
	return r.Attrs(), nil
}
