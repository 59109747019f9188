// Package sniff tells what a file is by its first bytes, and a folder by the names in it.
// Readers ask it before they read, so that each kind has one name and one hint.
package sniff

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
)

// Kind names the kind of a file in messages.
type Kind string

// The kinds. Unknown are files that may be SEG-Y, SU or raw binary, which their readers judge.
const (
	Unknown Kind = ""
	SEGY    Kind = "a SEG-Y file"
	SU      Kind = "an SU file"
	HDF5    Kind = "an HDF5 file"
	MAT73   Kind = "a MATLAB 7.3 file" // which is HDF5
	MAT5    Kind = "a MATLAB 5 file"
	NetCDF  Kind = "a classic NetCDF file"
	RSF     Kind = "an RSF file"
	NPY     Kind = "a NumPy array"
	NPZ     Kind = "an archive of NumPy arrays"
	TIFF    Kind = "a TIFF picture"
	VTK     Kind = "a VTK file"
	Zarr    Kind = "a Zarr folder"
	MDIO    Kind = "an MDIO folder"

	SEG2  Kind = "a SEG-2 file"
	SEGD  Kind = "a SEG-D file"
	Text  Kind = "a text file"
	PNG   Kind = "a PNG picture"
	JPEG  Kind = "a JPEG picture"
	PDF   Kind = "a PDF document"
	Zip   Kind = "a zip archive"
	Gzip  Kind = "compressed with gzip"
	Bzip2 Kind = "compressed with bzip2"
	XZ    Kind = "compressed with xz"
	Zstd  Kind = "compressed with zstd"
)

// Model reports whether lsm import --model reads files of the kind.
func (k Kind) Model() bool {
	switch k {
	case SEGY, SU, HDF5, MAT73, MAT5, NetCDF, RSF, NPY, NPZ, TIFF, VTK, Zarr, MDIO:
		return true
	}
	return false
}

const (
	aModel    = "lsm import --model FILE reads a model in it; surveys come in SEG-Y, SU and MDIO"
	aPicture  = "a picture holds colours, not numbers; ask for the file that it was drawn from"
	geometry  = "; positions must be added to its headers"
	theNumber = `a matrix of numbers becomes a file that lsm import --model reads by numpy.save("model.npy", numpy.loadtxt("FILE")) in Python`
)

// hints give one way to read files that import does not take, with FILE for the name.
var hints = map[Kind]string{
	SEGY:   "--format segy reads it whatever its name: lsm import FILE --format segy",
	SU:     "--format su reads it whatever its name: lsm import FILE --format su",
	HDF5:   "lsm info FILE says what is in it; a survey file needs no import; lsm import --model FILE reads a model",
	MAT73:  aModel,
	MAT5:   aModel,
	NetCDF: aModel,
	RSF:    aModel,
	NPY:    aModel,
	NPZ:    aModel,
	TIFF:   aModel,
	VTK:    aModel,
	Zarr:   aModel,
	MDIO:   "lsm import FILE -o SURVEY reads it, where it is the only input",
	SEG2:   `convert it first, with ObsPy: obspy.read("FILE", format="SEG2").write("out.sgy", format="SEGY")` + geometry,
	SEGD:   "convert it first, with Seismic Unix: segdread tape=FILE use_stdio=1 > out.su" + geometry,
	Text:   "lsm import takes a text as a wavelet alone, --wavelet FILE; lsm check FILE reads a configuration; " + theNumber,
	PNG:    aPicture,
	JPEG:   aPicture,
	PDF:    "a document holds no numbers; ask for the file of the data",
	Zip:    "unzip FILE makes the files that are inside",
	Gzip:   "gunzip -c FILE > out makes the file that is inside",
	Bzip2:  "bunzip2 -c FILE > out makes the file that is inside",
	XZ:     "xz -dc FILE > out makes the file that is inside",
	Zstd:   "zstd -dc FILE > out makes the file that is inside",
}

// Hint is one way that works for a file that import does not take; "" for an unknown one.
func (k Kind) Hint(path string) string { return strings.ReplaceAll(hints[k], "FILE", path) }

// Signature is how an HDF5 file begins, after a user block of 0, 512, 1024, 2048, ... bytes.
const Signature = "\x89HDF\r\n\x1a\n"

// magics are the first bytes of formats.
var magics = []struct {
	bytes string
	kind  Kind
}{
	{Signature, HDF5},
	{"MATLAB 7.3 MAT-file", MAT73},
	{"MATLAB 5.0 MAT-file", MAT5},
	{"CDF\x01", NetCDF}, {"CDF\x02", NetCDF}, {"CDF\x05", NetCDF},
	{"\x93NUMPY", NPY},
	{"II*\x00", TIFF}, {"MM\x00*", TIFF}, {"II+\x00", TIFF}, {"MM\x00+", TIFF},
	{"# vtk DataFile", VTK},
	{"\x55\x3a\x01\x00", SEG2}, {"\x3a\x55\x00\x01", SEG2}, // Pullan (1990): block identifier, revision 1
	{"\x89PNG\r\n\x1a\n", PNG},
	{"\xff\xd8\xff", JPEG},
	{"%PDF-", PDF},
	{"PK\x03\x04", Zip}, {"PK\x05\x06", Zip},
	{"\x1f\x8b", Gzip},
	{"BZh", Bzip2},
	{"\xfd7zXZ\x00", XZ},
	{"\x28\xb5\x2f\xfd", Zstd},
	// The first card of a textual header, "C 1" or "C01", in ASCII or EBCDIC.
	{"C 1", SEGY}, {"C01", SEGY}, {"C1 ", SEGY}, {"\xc3\x40\xf1", SEGY}, {"\xc3\xf0\xf1", SEGY}, {"\xc3\xf1\x40", SEGY},
}

// reelBytes is the length of the headers of a SEG-Y file. Its textual header may be a text in
// ASCII, but the binary header behind it is not.
const reelBytes = 3600

// Head tells a file by its first bytes, which should be 4096 or all that there are.
func Head(head []byte) Kind {
	for at := 512; at < len(head); at *= 2 { // after a user block, as Julia and MATLAB write it
		if bytes.HasPrefix(head[at:], []byte(Signature)) && !bytes.HasPrefix(head, []byte("MATLAB 7.3")) {
			return HDF5
		}
	}
	for _, m := range magics {
		if !bytes.HasPrefix(head, []byte(m.bytes)) {
			continue
		}
		if m.kind == Zip && ofArrays(head) {
			return NPZ
		}
		return m.kind
	}
	if bytes.HasPrefix(head, []byte("<")) && bytes.Contains(head[:min(len(head), 1000)], []byte("<VTKFile")) {
		return VTK // XML, which may have raw binary appended
	}
	text := head[:min(len(head), reelBytes)]
	for cut := 1; cut < utf8.UTFMax && len(text) > 1000 && !utf8.Valid(text); cut++ {
		text = text[:len(text)-1] // the piece may end inside a character
	}
	switch {
	case looksRSF(head):
		return RSF
	case len(text) == 0 || bytes.ContainsFunc(text, notText):
		return Unknown
	}
	return Text
}

// ofArrays reports whether the first file of a zip archive is a NumPy array.
func ofArrays(head []byte) bool {
	const at = 30 // of the name in the header of a file
	if len(head) < at {
		return false
	}
	end := at + int(binary.LittleEndian.Uint16(head[26:]))
	return end <= len(head) && bytes.HasSuffix(head[at:end], []byte(".npy"))
}

// parameters matches the parameters that identify an RSF header.
var parameters = regexp.MustCompile(`(?:^|\s)(n1|in|data_format)=`)

// looksRSF reports whether a file begins like the header of an RSF file.
func looksRSF(head []byte) bool {
	head, _, _ = bytes.Cut(head, []byte("\x0c\x0c\x04"))
	if bytes.IndexByte(head, 0) >= 0 {
		return false // no text
	}
	found := map[string]bool{}
	for _, m := range parameters.FindAllSubmatch(head, -1) {
		found[string(m[1])] = true
	}
	return found["n1"] && (found["in"] || found["data_format"])
}

// notText tells the characters that no text has; bytes that are no UTF-8 are among them.
func notText(r rune) bool {
	return r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f' || r == 0x7F || r == utf8.RuneError
}

// Begins is the first line of a text, in quotes.
func Begins(head []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(head)), "\n")
	if line = strings.TrimSpace(line); len(line) > 40 {
		line = strings.ToValidUTF8(line[:40], "") + "..."
	}
	return fmt.Sprintf("%q", line)
}

// TapeHeader reports whether a file begins with a format code of SEG-D, in bytes 3 and 4 of its
// first general header. SEG-Y files may do so too.
func TapeHeader(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	switch binary.BigEndian.Uint16(head[2:]) {
	case 0x8015, 0x8022, 0x8024, 0x8036, 0x8038, 0x8042, 0x8044, 0x8048, 0x8058:
		return true
	}
	return false
}

// headBytes are looked at.
const headBytes = 4096

// Path tells what a file or folder is. Unknown is no error.
func Path(path string) (Kind, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return folder(path), nil
	}
	f, err := plainfile.Open(path)
	if err != nil {
		return Unknown, err
	}
	defer f.Close()
	head := make([]byte, headBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return Unknown, err
	}
	kind := Head(head[:n])
	if kind == Unknown && HasSignature(f) {
		kind = HDF5
	}
	return kind, nil
}

// HasSignature reports whether a file is HDF5, with a user block of any size.
func HasSignature(f io.ReaderAt) bool {
	mark := make([]byte, len(Signature))
	for at := int64(0); ; at = max(512, 2*at) {
		if _, err := f.ReadAt(mark, at); err != nil {
			return false
		}
		if string(mark) == Signature {
			return true
		}
	}
}

// folder tells a folder by the files of metadata in it: zarr.json of version 3, .zgroup or .zarray
// and .zattrs of version 2. The root of MDIO has the attributes apiVersion and createdOn, or in
// versions before 1 api_version and created.
func folder(path string) Kind {
	kind := Unknown
	for _, name := range []string{"zarr.json", ".zgroup", ".zarray", ".zmetadata"} {
		if info, err := os.Stat(filepath.Join(path, name)); err == nil && info.Mode().IsRegular() {
			kind = Zarr
		}
	}
	if kind == Unknown {
		return Unknown
	}
	var v3 struct{ Attributes map[string]any }
	var v2 map[string]any
	readJSON(filepath.Join(path, "zarr.json"), &v3)
	readJSON(filepath.Join(path, ".zattrs"), &v2)
	for _, attrs := range []map[string]any{v3.Attributes, v2} {
		for version, created := range map[string]string{"apiVersion": "createdOn", "api_version": "created"} {
			if attrs[version] != nil && attrs[created] != nil {
				return MDIO
			}
		}
	}
	return kind
}

// mostJSON bounds a file of metadata, which holds that of all arrays where it is consolidated.
const mostJSON = 64 << 20

// readJSON reads a file of metadata, as far as it can. It ignores errors.
func readJSON(path string, to any) {
	f, err := plainfile.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	_ = json.NewDecoder(io.LimitReader(f, mostJSON)).Decode(to) // damaged: says nothing
}
