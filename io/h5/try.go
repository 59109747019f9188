package h5

import (
	"errors"
	"io"
)

// Try reads, in a process of its own, what damage can crash the library with: all
// structures, attributes and texts, and numbers behind filters that believe what the
// file says. It calls the library as the readers of each kind of file do, each on a file
// that was opened afresh: whether damage is an error or a crash depends on what is asked
// for first. See [CheckInChild].
//
// Whether a read beyond a buffer crashes is partly chance, so it tries more than once.
// Its error is that of the first reader to refuse the file; some reader refuses most
// files.
func Try(path string) (err error) {
	restore := limitData(textMemory)
	for range 3 {
		if err = try(path); errors.Is(err, errHuge) {
			return err
		}
	}
	restore()
	_, _ = reading(path, func(f *File) (any, error) {
		f.tryFilters()
		return nil, nil
	})
	return err
}

// textMemory is what texts and structures may take of memory, in bytes.
const textMemory = 512 << 20

func try(path string) error {
	var first error
	readers := []func(f *File) error{}
	for _, k := range formats {
		readers = append(readers, k.readers...)
	}
	for _, read := range append(readers, (*File).tryAll) {
		_, err := reading(path, func(f *File) (any, error) { return nil, read(f) })
		if err != nil && (first == nil || errors.Is(err, errHuge)) {
			first = err
		}
	}
	return first
}

// tryAll describes the file, and opens every dataset first of all, as reading does.
func (f *File) tryAll() error {
	info, err := f.Describe(DescribeOptions{})
	if err != nil {
		return err
	}
	for _, o := range info.Objects {
		if errors.Is(o.fault, errHuge) {
			return o.fault
		}
		_, err := reading(f.path, func(again *File) (string, error) {
			d, err := again.Dataset(o.Name)
			if err != nil {
				return "", err
			}
			return on(f.path, d.Attrs().sum)
		})
		if errors.Is(err, errHuge) {
			return err
		}
	}
	return nil
}

// tryFilters reads numbers whose filters can crash on them.
func (f *File) tryFilters() {
	info, err := f.Describe(DescribeOptions{})
	if err != nil {
		return // as reading will find
	}
	for _, o := range info.Objects {
		if d, err := f.Dataset(o.Name); err == nil && d.believing() {
			_ = locked(func() error { return d.pass(io.Discard, d.readRaw) }) // reading it again will say
		}
	}
}
