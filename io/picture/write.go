package picture

import (
	"bytes"
	"fmt"
	"image/png"
	"io"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
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

// WriteFile publishes the figure at path, which holds either the old picture or the
// whole new one. Without force an existing file is an error that wraps fs.ErrExist.
func WriteFile(path string, f *Figure, force bool) error {
	var b bytes.Buffer
	if err := f.Encode(&b); err != nil {
		return err
	}
	if err := plainfile.Write(path, b.Bytes(), force); err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	return nil
}
