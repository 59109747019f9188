package h5

// #include "shim.h"
import "C"

import (
	"strings"
	"unsafe"

	"gonum.org/v1/hdf5"
)

// File is an HDF5 file open for reading. Its methods may be called from any
// goroutine.
type File struct {
	path string
	file *hdf5.File
	open map[string]*Dataset

	trusted bool // the numbers have been compared with their digests elsewhere
}

// Open opens a file for reading. What is not an HDF5 file at all is refused
// with what it looks like; so is one whose own attributes differ from the digest
// that was written with them.
func Open(path string) (*File, error) {
	if err := Sniff(path); err != nil {
		return nil, err
	}
	f := &File{path: path, open: map[string]*Dataset{}}
	err := locked(func() (err error) {
		mind(path)
		if C.lsm_h5_no_external() < 0 {
			return resourceError(path, "", wrapf(libraryError(), "external links cannot be switched off"))
		}
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

// Has reports whether something is linked under the absolute name, such as
// "/data" or "/history/residual_norm". What cannot be told counts as there, so that
// opening it says why.
func (f *File) Has(name string) bool {
	has := false
	locked(func() error {
		has = f.has(name)
		return nil
	})
	return has
}

func (f *File) has(name string) bool {
	there := f.link(name, func(_ string, link C.int) bool { return link != 1 })
	return there != 0
}

// external is the first part of a name that is an external link, "" for none.
func (f *File) external(name string) (part string) {
	f.link(name, func(at string, link C.int) bool {
		if link == 2 {
			part = at
		}
		return link != 1
	})
	return part
}

// link looks at each part of a name, "/history" and then "/history/residual_norm",
// until stop says so, and returns what the last one is (lsm_h5_link).
func (f *File) link(name string, stop func(part string, link C.int) bool) (link C.int) {
	for i := 1; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		c := C.CString(name[:i])
		link = C.lsm_h5_link(C.hid_t(f.file.ID()), c)
		C.free(unsafe.Pointer(c))
		if stop(name[:i], link) {
			break
		}
	}
	return link
}

// contents lists the names at the top of the file, for error messages.
func (f *File) contents() string {
	n, err := f.file.NumObjects()
	if err != nil || n == 0 {
		return "nothing"
	}
	const most = 8
	var names []string
	for i := range min(n, most) {
		name, err := f.file.ObjectNameByIndex(i)
		if err != nil {
			return "nothing readable"
		}
		names = append(names, "/"+name)
	}
	if n > most {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}

// Attrs are the attributes of the file's root.
func (f *File) Attrs() Attrs { return Attrs{path: f.path, object: "", id: f.file.ID()} }

// names is contents for callers outside the library's lock.
func (f *File) names() string {
	text := ""
	locked(func() error {
		text = f.contents()
		return nil
	})
	return text
}
