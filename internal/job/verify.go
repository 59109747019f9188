package job

// verifier is an open file that can compare with digests what is read from it in
// pieces.
type verifier interface {
	Verify() error
	Close() error
}

// verifyOnce lets rank 0 compare a file with its digests for all ranks, in one pass. It
// is collective.
func (j *Job) verifyOnce(open func() (verifier, error)) error {
	defer j.report.Time("hash inputs")()
	return j.atRoot(func() error {
		f, err := open()
		if err != nil {
			return err
		}
		defer f.Close()
		return f.Verify()
	})
}

// tryFile is Try, where there is one.
func (j *Job) tryFile(path string) error {
	if j.Try == nil {
		return nil
	}
	return FileError(j.Try(path))
}
