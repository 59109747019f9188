package h5

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gonum.org/v1/hdf5"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
)

// Revise gives the root of a file other attributes and leaves all else as it is: it copies
// the file, replaces those attributes whose names begin with the prefix by the given texts,
// renews the digest of the attributes, and publishes the copy at out, which may be the file
// itself. Readers see the file before or after, never between. Every dataset is compared with
// its digest on the way.
func Revise(path, out, prefix string, texts []Attr, force bool) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Verify(); err != nil {
		return err
	}
	w := &Writer{path: out, target: resolve(out), force: force || out == path, digests: map[string]string{}, scales: map[string]bool{}}
	if err := checkTarget(out, w.force); err != nil {
		return err
	}
	w.temp = temporary(w.target)
	w.dropped = plainfile.Unfinished(w.temp)
	if err := w.startFrom(f, prefix); err != nil {
		w.close(false)
		discard(w.temp)
		w.dropped()
		return err
	}
	defer w.Abort()
	if err := w.SetAttrs("/", texts...); err != nil {
		return err
	}
	return w.Commit()
}

// startFrom makes the temporary file a copy of f, without the attributes of the prefix.
func (w *Writer) startFrom(f *File, prefix string) error {
	info, err := f.Describe(DescribeOptions{})
	if err != nil {
		return err
	}
	for _, o := range info.Objects {
		for _, a := range o.Attrs {
			if text, ok := a.Value.(string); ok && a.Name == sumAttr && o.Class == "dataset" && strings.Contains(text, " ") {
				w.digests[o.Name] = text
			}
		}
	}
	if err := copyFile(w.temp, f.path); err != nil {
		return resourceError(w.path, "", fmt.Errorf("cannot be written: %w", plainfile.Cause(err)))
	}
	return locked(func() error {
		if w.file, err = hdf5.OpenFile(w.temp, hdf5.F_ACC_RDWR); err != nil {
			return resourceError(w.path, "", wrapf(libraryError(), "its copy cannot be opened"))
		}
		for _, a := range info.Attrs {
			switch {
			case strings.HasPrefix(a.Name, prefix):
				if C.H5Adelete(C.hid_t(w.file.ID()), cString(a.Name)) < 0 {
					return resourceError(w.path, "@"+a.Name, wrapf(libraryError(), "attribute cannot be replaced"))
				}
			case slices.Contains(sealedBy(info.Attrs), a.Name):
				w.root = append(w.root, a)
			}
		}
		return nil
	})
}

// sealedBy lists what the digest of the root's attributes covers, nil in a file that has none:
// attributes of other programs stay as they are.
func sealedBy(attrs []Attr) []string {
	for _, a := range attrs {
		if text, ok := a.Value.(string); ok && a.Name == sealAttr && text != "" {
			return strings.Fields(text)[1:]
		}
	}
	return nil
}

func copyFile(to, from string) error {
	in, err := plainfile.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
