package inputs

import (
	"errors"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Ranks are those that read together.
type Ranks struct {
	World  comm.Comm
	Report *progress.Reporter

	// Try, if not nil, finds out whether an HDF5 file can be read without harm to this
	// process.
	Try func(path string) error
}

// Root reports whether this rank reads and writes for all.
func (r *Ranks) Root() bool { return r.World.Rank() == 0 }

// Together makes an error of a file everyone's, with its exit status.
func (r *Ranks) Together(err error) error { return comm.Together(r.World, FileError(err)) }

// AtRoot does on rank 0 what one rank does for all; its error is everyone's.
func (r *Ranks) AtRoot(do func() error) error {
	var err error
	if r.Root() {
		err = do()
	}
	return r.Together(err)
}

// TryFile is Try, where there is one.
func (r *Ranks) TryFile(path string) error {
	if r.Try == nil {
		return nil
	}
	return FileError(r.Try(path))
}

// verifier is an open file that can compare with digests what is read from it in
// pieces.
type verifier interface {
	Verify() error
	Close() error
}

// verify lets rank 0 compare a file with its digests for all ranks, in one pass.
func (r *Ranks) verify(open func() (verifier, error)) error {
	defer r.Report.Time("hash inputs")()
	return r.AtRoot(func() error {
		f, err := open()
		if err != nil {
			return err
		}
		defer f.Close()
		return f.Verify()
	})
}

// FileError gives the error of a file its exit status.
func FileError(err error) error {
	switch {
	case err == nil || status.Code(err) != status.Other:
		return err
	case errors.Is(err, h5.ErrResource):
		return status.Resource(err)
	case errors.Is(err, h5.ErrOutput):
		return status.Usage(err)
	case errors.Is(err, h5.ErrInput):
		return status.Input(err)
	}
	return err
}
