package h5

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
	for range 3 {
		err = try(path)
	}
	return err
}

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
		func(f *File) error { _, err := f.Describe(DescribeOptions{}); return err },
		(*File).tryAll,
	} {
		f, err := Open(path)
		if err != nil {
			return err
		}
		if err := read(f); err != nil && first == nil {
			first = err
		}
		f.Close()
	}
	return first
}

// tryAll opens every dataset as reading does, and reads what filters make of it that can
// crash.
func (f *File) tryAll() error {
	info, err := f.Describe(DescribeOptions{})
	if err != nil {
		return err
	}
	for _, o := range info.Objects {
		again, err := Open(f.path)
		if err != nil {
			return err
		}
		if d, err := again.Dataset(o.Name); err == nil && d.believing() {
			_ = locked(func() error { return d.pass(discarded{}, d.readRaw) }) // reading it again will say
		}
		again.Close()
	}
	return nil
}

// discarded takes any bytes.
type discarded struct{}

func (discarded) Write(b []byte) (int, error) { return len(b), nil }
