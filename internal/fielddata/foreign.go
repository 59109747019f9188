package fielddata

import (
	"errors"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// foreignHint says what reads a file that is neither SEG-Y nor SU.
func foreignHint(err error, format string) string {
	path := "FILE"
	var at *segy.Error
	if errors.As(err, &at) {
		path = at.Path
	}
	switch format {
	case segy.FormatHDF5:
		return fmt.Sprintf("lsm info %s says what is in it; a survey file needs no import", path)
	case segy.FormatSEG2:
		return fmt.Sprintf(`convert it first, with ObsPy: obspy.read(%q, format="SEG2").write("out.sgy", format="SEGY"); positions must be added to its headers`, path)
	case segy.FormatText:
		return fmt.Sprintf("lsm import takes a text as a wavelet alone, --wavelet %s; lsm check %s reads a configuration", path, path)
	case segy.FormatGzip:
		return fmt.Sprintf("gunzip -c %s > out.sgy makes the file that is inside", path)
	case segy.FormatZip:
		return fmt.Sprintf("unzip %s makes the files that are inside", path)
	case segy.FormatTIFF, segy.FormatPNG, segy.FormatJPEG:
		return "a picture holds no traces; ask for the SEG-Y file that it was drawn from"
	case segy.FormatSU:
		return fmt.Sprintf("--format su reads it whatever its name: lsm import %s --format su", path)
	case segy.FormatSEGD:
		return "convert it to SEG-Y first, with the geometry in its trace headers"
	case segy.FormatSEGY:
		return fmt.Sprintf("--format segy reads it whatever its name: lsm import %s --format segy", path)
	}
	return "import reads SEG-Y and SU; unpack or convert the file first"
}
