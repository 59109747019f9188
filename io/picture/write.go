package picture

import (
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
func WriteFile(path string, f *Figure, force bool) error {
	if _, err := os.Lstat(path); err == nil && !force {
		return fmt.Errorf("picture: %s: %w", path, fs.ErrExist)
	}
	var b bytes.Buffer
	if err := f.Encode(&b); err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := renameio.WriteFile(path, b.Bytes(), 0o644, renameio.WithTempDir(folder)); err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	d, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil { // makes the rename itself durable
		return fmt.Errorf("picture: sync of %s: %w", folder, err)
	}
	return nil
}
