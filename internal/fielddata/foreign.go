package fielddata

import (
	"errors"
	"strings"

	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// foreignHint says what reads a file that is neither SEG-Y nor SU.
func foreignHint(err error, format string) string {
	path := "FILE"
	var at *segy.Error
	if errors.As(err, &at) {
		path = at.Path
	}
	if hint, ok := foreignHints[format]; ok {
		return strings.ReplaceAll(hint, "FILE", path)
	}
	return "import reads SEG-Y and SU; unpack or convert the file first"
}

const aPicture = "a picture holds no traces; ask for the SEG-Y file that it was drawn from"

// foreignHints are by format, with FILE for the file's name.
var foreignHints = map[string]string{
	segy.FormatHDF5: "lsm info FILE says what is in it; a survey file needs no import",
	segy.FormatSEG2: `convert it first, with ObsPy: obspy.read("FILE", format="SEG2").write("out.sgy", format="SEGY"); positions must be added to its headers`,
	segy.FormatText: "lsm import takes a text as a wavelet alone, --wavelet FILE; lsm check FILE reads a configuration",
	segy.FormatGzip: "gunzip -c FILE > out.sgy makes the file that is inside",
	segy.FormatZip:  "unzip FILE makes the files that are inside",
	segy.FormatTIFF: aPicture, segy.FormatPNG: aPicture, segy.FormatJPEG: aPicture,
	segy.FormatSU:   "--format su reads it whatever its name: lsm import FILE --format su",
	segy.FormatSEGD: "convert it to SEG-Y first, with the geometry in its trace headers",
	segy.FormatSEGY: "--format segy reads it whatever its name: lsm import FILE --format segy",
}
