package pipeline

import (
	"fmt"
	"path/filepath"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Convention is the meaning of an image's amplitudes. Empty texts: the file does not say.
type Convention struct {
	Scale  string // of output.scale
	Filter string // kirchhoff.wavelet_filter of its operator
	Dim    int    // axes
}

// ConventionOf reads the convention of an image file from its attributes or, for a file of an earlier
// version, from the configuration that it holds.
func ConventionOf(path string, dim int) (c Convention, err error) {
	f, err := h5.Open(path)
	if err != nil {
		return c, FileError(err)
	}
	defer f.Close()
	c.Dim = dim
	for name, to := range map[string]*string{h5.ScaleAttr: &c.Scale, h5.FilterAttr: &c.Filter} {
		if f.Attrs().Has(name) {
			if *to, err = f.Attrs().Text(name); err != nil {
				return c, FileError(err)
			}
		}
	}
	if c.Filter == "" && f.Has("/config") {
		text, err := f.Text("/config")
		if err != nil {
			return c, FileError(err)
		}
		if made, err := config.Recorded(filepath.Join(filepath.Dir(path), "config.toml"), []byte(text), nil); err == nil {
			c.Filter = made.Kirchhoff.WaveletFilter
		}
	}
	return c, nil
}

// Differs says how the amplitudes of two images differ in meaning, "" if they do not as far as the
// files say. Opposite reports whether their polarities are opposite.
func (c Convention) Differs(o Convention) (text string, opposite bool) {
	if c.Filter != "" && o.Filter != "" && c.Filter != o.Filter {
		text = fmt.Sprintf("kirchhoff.wavelet_filter = %q, not %q", c.Filter, o.Filter)
		if opposite = c.Dim == 3 && c.Filter != "off" && o.Filter != "off"; opposite {
			text += ", which has the opposite polarity in 3-D"
		}
	}
	return text, opposite
}

// CheckImage refuses an image whose values an operator with a convention cannot take. The
// text is a warning of another difference, or "".
func (c Convention) CheckImage(path string, own Convention) (warning string, err error) {
	if c.Scale == "reflectivity" {
		return "", status.Hint(status.Input(fmt.Errorf("%s: was written with output.scale = \"reflectivity\", want an image in the operator's units", path)),
			`make it again with output.scale = "operator"`)
	}
	text, opposite := c.Differs(own)
	switch {
	case text == "":
		return "", nil
	case opposite:
		return "", status.Hint(status.Input(fmt.Errorf("%s: was made with %s", path, text)),
			fmt.Sprintf("kirchhoff.wavelet_filter = %q goes on with that operator; or make the image again", c.Filter))
	}
	return fmt.Sprintf("%s: was made with %s", path, text), nil
}
