package h5

// #include "shim.h"
import "C"

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"gonum.org/v1/hdf5"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/sniff"
)

// File is an HDF5 file open for reading. Its methods may be called from any
// goroutine.
type File struct {
	path string
	file *hdf5.File
	open map[string]*Dataset

	trusted bool // the numbers have been compared with their digests elsewhere
}

// Open opens a file for reading. A file that is not HDF5 is refused, and the error says
// what it looks like. So is one whose own attributes differ from the digest that was
// written with them.
func Open(path string) (*File, error) {
	if err := Sniff(path); err != nil {
		return nil, err
	}
	if err := Guarded(path); err != nil {
		return nil, err
	}
	return open(path)
}

// open is Open without looking at the file first.
func open(path string) (*File, error) {
	f := &File{path: path, open: map[string]*Dataset{}}
	err := locked(func() (err error) {
		mind(path)
		// External links lead to unchecked files, so the library is made to refuse them.
		if !noExternal && C.H5Lunregister(C.H5L_TYPE_EXTERNAL) < 0 {
			return resourceError(path, "", wrapf(libraryError(), "external links cannot be switched off"))
		}
		noExternal = true
		if f.file, err = hdf5.OpenFile(path, hdf5.F_ACC_RDONLY); err != nil {
			return openError(path, libraryError())
		}
		return f.verifySeal(f.Attrs())
	})
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// noExternal says that the library follows no external links any more. It is changed
// inside the library.
var noExternal bool

// opening opens a file for a reader, which has to close it.
func opening[R any](path string, read func(f *File) (R, error)) (r R, err error) {
	f, err := Open(path)
	if err != nil {
		return r, err
	}
	if r, err = read(f); err != nil {
		var none R
		f.Close()
		return none, err
	}
	return r, nil
}

// reading opens a file for one call of read.
func reading[R any](path string, read func(f *File) (R, error)) (R, error) {
	return opening(path, func(f *File) (R, error) {
		defer f.Close()
		return read(f)
	})
}

// openError explains why a file with the right signature did not open.
func openError(path string, err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "truncated file"):
		return inputError(path, "", "is cut short: it was not written or copied to its end (%w)", err)
	case strings.Contains(text, "already open for write"), strings.Contains(text, "temporarily unavailable"):
		return readError(path, "", wrapf(err, "another program has it open for writing; close it there, or set HDF5_USE_FILE_LOCKING=FALSE"))
	}
	return readError(path, "", wrapf(err, "cannot be opened as HDF5, it may be damaged"))
}

// Close closes the file and every dataset opened from it.
func (f *File) Close() error {
	return locked(func() error {
		for _, d := range f.open {
			d.set.Close()
		}
		clear(f.open)
		if f.file == nil {
			return nil
		}
		err := f.file.Close()
		if err != nil {
			err = readError(f.path, "", libraryError())
		}
		f.file = nil
		return err
	})
}

// Path is the path that the file was opened with.
func (f *File) Path() string { return f.path }

// Attrs are the attributes of the file's root.
func (f *File) Attrs() Attrs { return Attrs{path: f.path, id: f.id()} }

func (f *File) id() C.hid_t { return C.hid_t(f.file.ID()) }

// Has reports whether something is linked under the absolute name, such as "/data" or
// "/history/residual_norm". If the answer is unknown it returns true, so that opening it
// gives the reason.
func (f *File) Has(name string) (has bool) {
	_ = locked(func() error {
		_, missing, _ := f.follow(name)
		has = !missing
		return nil
	})
	return has
}

// follow looks at each part of a name, "/history" and then "/history/residual_norm", until one is
// missing or an external link. It returns the last part that it looked at and tells which of the
// two it is, if either.
func (f *File) follow(name string) (part string, missing, external bool) {
	for i := 1; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		part = name[:i]
		var info C.H5L_info_t
		has := C.H5Lexists(f.id(), cString(part), C.H5P_DEFAULT)
		if has <= 0 || C.H5Lget_info(f.id(), cString(part), &info, C.H5P_DEFAULT) < 0 {
			return part, has == 0, false
		}
		if info._type == C.H5L_TYPE_EXTERNAL {
			return part, false, true
		}
	}
	return part, false, false
}

func (f *File) openSet(name string) (*hdf5.Dataset, error) {
	part, missing, external := f.follow(name)
	if missing {
		return nil, inputError(f.path, name, "is missing (the file holds %s)", f.contents())
	}
	set, err := f.file.OpenDataset(name)
	if err == nil {
		return set, nil
	}
	err = libraryError()
	if !external && strings.Contains(err.Error(), "link class") {
		part, external = "to which soft links lead", true
	}
	if external {
		return nil, inputError(f.path, name, "lies behind an external link, %s, and what that leads to can change unseen; copy the data into this file (h5py: copy with expand_external)", part)
	}
	return nil, readError(f.path, name, wrapf(err, "cannot be opened as a dataset"))
}

// contents lists the names at the top of the file, for error messages.
func (f *File) contents() string {
	const most = 8
	var names []string
	err := locked(func() error {
		n, err := f.file.NumObjects()
		for i := uint(0); err == nil && i < min(n, most); i++ {
			var name string
			name, err = f.file.ObjectNameByIndex(i)
			names = append(names, "/"+name)
		}
		if n > most {
			names = append(names, "...")
		}
		return err
	})
	switch {
	case err != nil:
		return "nothing readable"
	case len(names) == 0:
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// Sniff looks at a path without the library and says in plain words why it cannot be an
// HDF5 file. It returns nil if it may be one.
func Sniff(path string) error {
	f, err := plainfile.Open(path)
	var refused syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return inputError(path, "", "no such file%w", hidden{err})
	case errors.As(err, &refused):
		return resourceError(path, "", refused)
	case err != nil:
		return inputError(path, "", "%w, want an HDF5 file", plainfile.Cause(err))
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, err := f.ReadAt(head, 0)
	switch head = head[:n]; {
	case n == 0 && errors.Is(err, io.EOF):
		return inputError(path, "", "is empty")
	case err != nil && !errors.Is(err, io.EOF):
		return resourceError(path, "", plainfile.Cause(err))
	case sniff.HasSignature(f):
		return nil
	}
	switch kind := sniff.Head(head); kind {
	case sniff.Unknown:
		return inputError(path, "", "is not an HDF5 file but begins with bytes % x", head[:min(8, n)])
	case sniff.Text:
		return inputError(path, "", "is not an HDF5 file but a text file that begins with %s", sniff.Begins(head))
	default:
		return inputError(path, "", "is not an HDF5 file but %s", kind)
	}
}

// hidden keeps an error in the chain without its text.
type hidden struct{ error }

func (hidden) Error() string   { return "" }
func (h hidden) Unwrap() error { return h.error }
