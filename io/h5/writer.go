package h5

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"gonum.org/v1/hdf5"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
)

// WriteOptions are common to all functions that write a file.
type WriteOptions struct {
	Force bool   // overwrite an existing output
	Attrs []Attr // more attributes of the root, such as provenance, in this order
}

// Writer writes one file. Nothing is seen at its path before Commit; Abort, or
// a failed Commit, leaves what was there. Its methods may be called from any
// goroutine.
//
// Errors stick: after the first one every method returns it.
type Writer struct {
	path, target, temp string
	dropped            func() // says that temp is published or removed

	force    bool
	file     *hdf5.File
	sections []*Section
	digests  map[string]string // by dataset, what was handed over
	root     []Attr            // attributes of the root
	scales   map[string]bool   // of axes, that are there

	mu  sync.Mutex // guards err
	err error
}

// Create starts a file of the given format, which becomes the root attributes
// format and format_version. With an empty format there are none.
func Create(path, format string, opt WriteOptions) (*Writer, error) {
	if err := checkTarget(path, opt.Force); err != nil {
		return nil, err
	}
	target := resolve(path)
	w := &Writer{path: path, target: target, temp: temporary(target), force: opt.Force, digests: map[string]string{}, scales: map[string]bool{}}
	w.dropped = plainfile.Unfinished(w.temp)
	Sweep(EscapeGlob(target) + temporaryMark + "*") // what killed processes have left
	err := locked(func() (err error) {
		if w.file, err = hdf5.CreateFile(w.temp, hdf5.F_ACC_EXCL); err != nil {
			discard(w.temp) // it may be there, without its first block
			return resourceError(path, "", wrapf(libraryError(), "cannot be created"))
		}
		return nil
	})
	if err != nil {
		w.dropped()
		return nil, err
	}
	// The digest comes first, so that damage to the list of attributes that loses the
	// last of them does not lose it with those that it covers.
	attrs := []Attr{{sealAttr, ""}}
	if format != "" {
		attrs = append(attrs, Attr{"format", format}, Attr{"format_version", FormatVersion})
	}
	attrs = append(attrs, opt.Attrs...)
	if err := w.SetAttrs("/", attrs...); err != nil {
		w.Abort()
		return nil, err
	}
	return w, nil
}

func (w *Writer) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && w.err == nil {
		w.err = err
	}
	return w.err
}

// failed is the sticking error, if any.
func (w *Writer) failed() error { return w.fail(nil) }

func (w *Writer) resource(object string, err error) error {
	return w.fail(resourceError(w.path, object, err))
}

// in runs fn inside the library unless the writer has failed or ended.
func (w *Writer) in(fn func() error) error {
	if err := w.failed(); err != nil {
		return err
	}
	return locked(func() error {
		if w.file == nil {
			panic("h5: " + w.path + ": written to after Commit or Abort")
		}
		return fn()
	})
}

// Group makes a group; its parents must exist.
func (w *Writer) Group(name string) error {
	return w.in(func() error {
		g, err := w.file.CreateGroup(name)
		if err != nil {
			return w.resource(name, wrapf(libraryError(), "cannot create the group"))
		}
		g.Close()
		return nil
	})
}

// SetAttrs gives attributes to the root ("/"), a group or a dataset. Digests cover the attributes
// of the root, and those that a dataset was created with.
func (w *Writer) SetAttrs(object string, attrs ...Attr) error {
	return w.in(func() error {
		id := C.H5Oopen(C.hid_t(w.file.ID()), cString(object), C.H5P_DEFAULT)
		if id < 0 {
			return w.resource(object, wrapf(libraryError(), "cannot be opened"))
		}
		defer C.H5Oclose(id)
		if object == "/" {
			w.root = append(w.root, attrs...)
		}
		for _, a := range attrs {
			if err := w.setAttr(id, object, a); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *Writer) setAttr(id C.hid_t, object string, a Attr) error {
	if err := writeAttr(id, object, a); err != nil {
		return w.resource(object+"@"+a.Name, wrapf(err, "attribute cannot be written"))
	}
	return nil
}

// Commit completes the file, verifies it and publishes it at its path. After an
// error nothing was published.
func (w *Writer) Commit() error {
	defer w.dropped()
	for _, step := range []func() error{
		w.finish,
		w.verify,
		func() error { return checkTarget(w.path, w.force) }, // hours may have passed since Create looked
		func() error {
			if err := publish(w.temp, w.target); err != nil {
				return resourceError(w.path, "", fmt.Errorf("cannot be published: %w", err))
			}
			return nil
		},
	} {
		if err := step(); err != nil {
			discard(w.temp)
			return w.fail(err)
		}
	}
	tried.Store(w.path, true)
	return w.failed()
}

// finish computes the digests that are still missing and closes the file.
func (w *Writer) finish() error {
	if w.file == nil {
		panic("h5: " + w.path + ": committed after Commit or Abort")
	}
	err := w.failed()
	for _, s := range w.sections {
		if err == nil {
			err = s.seal()
		}
	}
	if err == nil {
		err = w.SetAttrs("/", Attr{sealAttr, seal("/", w.root, slices.Sorted(maps.Keys(w.digests))...)})
	}
	return errors.Join(err, w.close(err == nil))
}

// close closes whatever is open. Without report it ignores errors, because an earlier one
// is known.
func (w *Writer) close(report bool) error {
	return locked(func() (err error) {
		if w.file == nil {
			return nil
		}
		for _, s := range w.sections {
			s.set.Close()
		}
		if w.file.Close() != nil && report {
			err = resourceError(w.path, "", wrapf(libraryError(), "cannot be completed"))
		}
		w.file = nil
		return err
	})
}

// verify reopens the temporary file and compares every dataset with what was
// handed over.
func (w *Writer) verify() error {
	f, err := open(w.temp)
	if err != nil {
		return resourceError(w.path, "", fmt.Errorf("does not read back: %w", err))
	}
	defer f.Close()
	for _, name := range slices.Sorted(maps.Keys(w.digests)) {
		got, stored, err := f.digests(name)
		switch want := w.digests[name]; {
		case err != nil:
			return resourceError(w.path, name, fmt.Errorf("does not read back: %w", err))
		case got != want || stored != want:
			return resourceError(w.path, name, fmt.Errorf("reads back other than it was written (SHA-256 %s, attribute %s, want %s): the disk or its file system is at fault", got, stored, want))
		}
	}
	return nil
}

// Abort drops the file. After Commit it does nothing, so that it can be
// deferred.
func (w *Writer) Abort() {
	if w.file == nil {
		return
	}
	w.close(false)
	discard(w.temp)
	w.dropped()
}
