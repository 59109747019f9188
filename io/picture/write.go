package picture

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Encode writes the figure as a PNG. The same figure gives the same bytes.
func (f *Figure) Encode(w io.Writer) error {
	var b bytes.Buffer
	if err := png.Encode(&b, f.Draw()); err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	if _, err := w.Write(f.mark(b.Bytes())); err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	return nil
}

// WriteFile publishes the figure at path: it is written beside its final place
// under a temporary name, synced, and renamed, so that path holds either the
// old picture or the whole new one. Without force an existing file is an error
// that wraps fs.ErrExist.
func WriteFile(path string, f *Figure, force bool) (err error) {
	if !force {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("picture: %s: %w", path, fs.ErrExist)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("picture: %w", err)
		}
	}
	tmp, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	defer func() {
		if e := tmp.Cleanup(); err == nil && e != nil {
			err = fmt.Errorf("picture: %w", e)
		}
	}()
	buf := bufio.NewWriter(tmp)
	if err := f.Encode(buf); err != nil {
		return err
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	if err := tmp.CloseAtomicallyReplace(); err != nil { // syncs, then renames
		return fmt.Errorf("picture: %w", err)
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes the rename itself durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("picture: sync of %s: %w", dir, err)
	}
	return nil
}
