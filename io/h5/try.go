package h5

import "errors"

// Try reads, in a process of its own, what damage can crash the library with: all
// structures, attributes and texts, and numbers behind filters that believe what the
// file says. It calls the library as the readers of each kind of file do, each on a file
// that was opened afresh: whether damage is an error or a crash depends on what is asked
// for first. See [CheckInChild].
//
// Whether what lies beyond a buffer can be read is partly chance: it tries more than
// once. Its error is that of the first reader to refuse the file, and most files are
// refused by some.
func Try(path string) (err error) {
	restore := limitData(textMemory)
	for range 3 {
		if err = try(path); errors.Is(err, errHuge) {
			return err
		}
	}
	restore()
	if f, err := Open(path); err == nil {
		defer f.Close()
		f.tryFilters()
	}
	return err
}

// textMemory is what texts and structures may take of memory, in bytes.
const textMemory = 512 << 20

func try(path string) error {
	var first error
	for _, read := range []func(f *File) error{
		func(f *File) error { return (&SurveyReader{f: f}).read() },
		func(f *File) error { return (&Tables{f: f}).read() },
		func(f *File) error { return (&GatherReader{f: f}).read() },
		func(f *File) error { _, _, err := f.modelGrid(); return err },
		func(f *File) error { _, _, err := f.imageGrid(); return err },
		func(f *File) error { return f.readHistory(&Image{}) },
		func(f *File) error { _, _, err := f.surface(2); return err },
		(*File).tryAll,
	} {
		f, err := Open(path)
		if err != nil {
			return err
		}
		if err := read(f); err != nil && (first == nil || errors.Is(err, errHuge)) {
			first = err
		}
		f.Close()
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
		again, err := Open(f.path)
		if err != nil {
			return err
		}
		d, err := again.Dataset(o.Name)
		if err == nil {
			err = locked(func() error { _, err := d.sum(); return err })
		}
		again.Close()
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
			_ = locked(func() error { return d.pass(discarded{}, d.readRaw) }) // reading it again will say
		}
	}
}

// discarded takes any bytes.
type discarded struct{}

func (discarded) Write(b []byte) (int, error) { return len(b), nil }
