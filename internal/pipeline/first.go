package pipeline

// First calls do on rank 0 and returns its value there. Other ranks get the zero value.
// An error is returned on all ranks.
func CallOnRoot[T any](r *Ranks, do func() (T, error)) (v T, err error) {
	err = r.AtRoot(func() (err error) {
		v, err = do()
		return err
	})
	return v, err
}

// Publish makes a file that all ranks fill and rank 0 writes, completely or not at all.
// The writer is nil on the other ranks.
func PublishFile[W interface {
	Abort()
	Commit() error
}](r *Ranks, create func() (W, error), fill func(w W) error) error {
	w, err := CallOnRoot(r, create)
	if err != nil {
		return err
	}
	if r.Root() {
		defer w.Abort()
	}
	if err := fill(w); err != nil {
		return FileError(err)
	}
	return r.AtRoot(func() error { return w.Commit() })
}
