package modelfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/sniff"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// Format is how a file is built.
type Format string

// The formats.
const (
	SEGY   Format = "segy"
	SU     Format = "su"
	RSF    Format = "rsf"
	Raw    Format = "raw"
	NetCDF Format = "netcdf"
	HDF5   Format = "hdf5"
	NPY    Format = "npy"
	NPZ    Format = "npz"  // this and all below by Python, see [openPython]
	MAT    Format = "mat"  // of MATLAB 5; later ones are HDF5
	TIFF   Format = "tiff" // GeoTIFF too
	VTK    Format = "vtk"  // image data and rectilinear grids, legacy and XML
	Zarr   Format = "zarr"
)

// Formats lists all formats.
var Formats = []Format{SEGY, SU, RSF, Raw, NetCDF, HDF5, NPY, NPZ, MAT, TIFF, VTK, Zarr}

// FormatOf is the format that the ending of a name stands for, "" for any other ending.
func FormatOf(path string) Format {
	return map[string]Format{
		".segy": SEGY, ".sgy": SEGY, ".su": SU, ".rsf": RSF, ".bin": Raw, ".nc": NetCDF, ".h5": HDF5, ".hdf5": HDF5,
	}[strings.ToLower(filepath.Ext(path))]
}

// Axis is an axis of an array in a file, as far as the file describes it.
type Axis struct {
	Name    string  // "x", "y", "z", "time"; "" where the file does not say
	N       int     // points
	Origin  float64 // of the first point, in Unit
	Spacing float64 // in Unit; 0 where the file does not say; below 0 where coordinates fall
	Unit    string  // "m", "km", "ft", "kft", "s", "ms", "us"; "" where the file does not say
}

// Source is an array in a file, open for reading.
type Source struct {
	Path    string
	Format  Format
	What    string   // format, type and byte order in words
	Dataset string   // name of the array in the file; "" in formats without names
	Axes    []Axis   // slowest first
	Wide    bool     // float32 does not hold all values of its type
	Unit    string   // of the values, as the file has it; "" where it does not say
	Files   []string // that hold the elements, beside Path
	Notes   []string // statements of the file about itself, in words
	Guesses []string // what was guessed, and from what

	frame *grid.Frame // of x and y, with lengths in the unit of the axis x; nil: the map's, or not known
	order []string    // names of the axes where the file gives none, by convention
	usual string      // unit that values of their name have by convention; "" for none
	scan  func(take taker) error
	close func() error
}

// taker gets elements from number first on, in C order over the axes. It may keep none.
type taker func(first int, v []float64) error

// Close closes the file.
func (s *Source) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

func (s *Source) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

func (s *Source) guess(format string, args ...any) {
	s.Guesses = append(s.Guesses, fmt.Sprintf(format, args...))
}

// fault is an error of the file, which must be mended or read with other options.
func (s *Source) fault(format string, args ...any) error { return faultOf(s.Path, format, args...) }

func faultOf(path, format string, args ...any) error {
	return status.Input(fmt.Errorf("%s: "+format, append([]any{path}, args...)...))
}

// against is for an option that contradicts the file: an error, unless the option is to count.
// It returns what is to be said then.
func (o *Options) against(path, format string, args ...any) (guess string, err error) {
	if o.Override {
		return fmt.Sprintf(format+"; the requested value is used", args...), nil
	}
	return "", status.Hint(faultOf(path, format, args...), "--override lets the flags count; --resample gives the model another spacing, with values between points")
}

// mostAxes is how many axes an array may have before those of one point are left out.
const mostAxes = 9

// points is the number of elements of the source, compared with what the file holds: at most
// that many bytes of elements of a size.
func (s *Source) points(elements float64, held int64) (int, error) {
	n := 1.0
	for _, a := range s.Axes {
		if a.N < 1 {
			return 0, s.fault("has shape %s, without a point", s.shapeText())
		}
		n *= float64(a.N)
	}
	switch {
	case len(s.Axes) == 0 || len(s.Axes) > mostAxes:
		return 0, s.fault("has %d axes, want 2 or 3", len(s.Axes))
	case n*elements > float64(held) || n > math.MaxInt/16:
		return 0, s.fault("shape %s takes %.0f bytes, the file holds %d", s.shapeText(), n*elements, held)
	}
	return int(n), nil
}

// shapeText is the shape in the file, slowest axis first.
func (s *Source) shapeText() string {
	var n []int
	for _, a := range s.Axes {
		n = append(n, a.N)
	}
	return "[" + readable.Join("%d", ", ", n) + "]"
}

// Open opens a file as the options say, or as it looks. A format that Python reads takes time:
// ctx ends it.
func Open(ctx context.Context, path string, opt Options) (*Source, error) {
	format := opt.Format
	if format == "" {
		var err error
		if format, err = formatOf(path, opt); err != nil {
			return nil, err
		}
	}
	if err := opt.fits(format); err != nil {
		return nil, err
	}
	open := map[Format]func(string, Options) (*Source, error){
		SEGY: openTraces, SU: openTraces, RSF: openRSF, Raw: openRaw, NetCDF: openNetCDF, HDF5: openHDF5, NPY: openNPY,
	}[format]
	if open == nil {
		open = func(path string, opt Options) (*Source, error) { return openPython(ctx, path, opt) }
	}
	opt.Format = format
	s, err := open(path, opt)
	if err != nil {
		return nil, withHint(err)
	}
	s.Format = format
	return s, nil
}

// withHint says what helps where the reader of traces, which gets what no other reader knows,
// refuses the file.
func withHint(err error) error {
	var at *segy.Error
	var other *segy.Foreign
	switch {
	case status.HintOf(err) != "" || !errors.As(err, &at):
		return err
	case errors.As(err, &other) && formats[sniff.Kind(other.Kind)] != "":
		return status.Hint(err, "without --format it is read as what it is")
	case errors.As(err, &other):
		return status.Hint(err, sniff.Kind(other.Kind).Hint(at.Path))
	}
	return status.Hint(err, "--shape N,N[,N] says that it is raw binary; docs/models.md lists the formats")
}

// formats are the formats of the kinds of files that their beginning identifies.
var formats = map[sniff.Kind]Format{
	sniff.HDF5: HDF5, sniff.MAT73: HDF5, sniff.NetCDF: NetCDF, sniff.NPY: NPY, sniff.NPZ: NPZ, sniff.MAT5: MAT,
	sniff.TIFF: TIFF, sniff.VTK: VTK, sniff.Zarr: Zarr, sniff.MDIO: Zarr,
}

// formatOf tells the format by the first bytes of a file, the options and the name.
func formatOf(path string, opt Options) (Format, error) {
	kind, err := sniff.Path(path)
	if err != nil {
		return "", openFault(path, err)
	}
	if info, err := os.Stat(path); err == nil && info.Size() == 0 && info.Mode().IsRegular() {
		return "", faultOf(path, "is empty")
	}
	named := FormatOf(path)
	switch {
	case opt.Shape != nil:
		return Raw, nil
	case formats[kind] != "":
		return formats[kind], nil
	case named == SEGY || named == SU || named == RSF:
		return named, nil
	case kind == sniff.RSF:
		return RSF, nil
	case named != "":
		return named, nil
	case kind != sniff.Unknown && !kind.Model():
		return "", status.Hint(faultOf(path, "is %s, which holds no model that lsm reads", kind), kind.Hint(path))
	}
	return SEGY, nil
}

// plain opens a regular file.
func plain(path string) (*os.File, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, openFault(path, err)
	}
	return f, nil
}

// openFault is an error of opening.
func openFault(path string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return faultOf(path, "no such file")
	}
	return status.Input(fmt.Errorf("%s: %w", path, plainfile.Cause(err)))
}

// systemFault is an error of reading, which is the system's.
func systemFault(path string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return faultOf(path, "is cut short")
	}
	return status.Resource(fmt.Errorf("%s: %w", path, plainfile.Cause(err)))
}

// piece is how many elements are read at a time.
const piece = 1 << 18

// scanNumbers reads count elements of a type that lie one after the other in a file.
func scanNumbers(path string, r io.Reader, n number, order string, first, count int, take taker) error {
	raw, v := make([]byte, n.bytes*min(piece, count)), make([]float64, min(piece, count))
	for done := 0; done < count; done += len(v) {
		v = v[:min(len(v), count-done)]
		raw = raw[:n.bytes*len(v)]
		if _, err := io.ReadFull(r, raw); err != nil {
			return systemFault(path, err)
		}
		for i := range v {
			v[i] = n.get(raw[i*n.bytes:], orders[order])
		}
		if err := take(first+done, v); err != nil {
			return err
		}
	}
	return nil
}

// textUnit is the unit of lengths or times that a text means; "" for any other.
func textUnit(text string) string {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "m", "meter", "meters", "metre", "metres":
		return "m"
	case "km", "kilometer", "kilometers", "kilometre", "kilometres":
		return "km"
	case "ft", "foot", "feet":
		return "ft"
	case "kft", "us-ft":
		return strings.ToLower(strings.TrimSpace(text))
	case "s", "sec", "second", "seconds":
		return "s"
	case "ms", "msec", "millisecond", "milliseconds":
		return "ms"
	case "us", "microsecond", "microseconds":
		return "us"
	}
	return ""
}

// axisName is the axis that a label or name means; "" for any other.
func axisName(label string) string {
	label, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(label)), " ")
	for name, all := range map[string][]string{
		"x":    {"x", "distance", "lateral", "position", "easting", "east", "cdp", "midpoint", "horizontal"},
		"y":    {"y", "northing", "north"},
		"z":    {"z", "depth"},
		"time": {"time", "t", "tau", "twt"},
	} {
		if slices.Contains(all, label) {
			return name
		}
	}
	return ""
}

// factors of the units of axes in m and s.
var axisFactors = map[string]float64{"m": 1, "km": 1000, "ft": 0.3048, "us-ft": 1200.0 / 3937, "kft": 304.8, "s": 1, "ms": 1e-3, "us": 1e-6}

// ofTime reports whether a unit is one of time.
func ofTime(unit string) bool { return unit == "s" || unit == "ms" || unit == "us" }

// domainOf is the domain that the last axis of a model says.
func (a Axis) domain() (d grid.Domain, said bool) {
	switch {
	case a.Name == "time" || ofTime(a.Unit):
		return grid.Time, true
	case a.Name == "z" && a.Unit != "":
		return grid.Depth, true
	}
	return grid.Depth, false
}

// segyOptions returns the options for the reader of traces.
func (o Options) segyOptions() segy.Options {
	kind := segy.SEGY
	if o.Format == SU {
		kind = segy.SU
	}
	return segy.Options{Kind: kind, Order: segy.Order(o.Order), Format: o.SampleFormat,
		Samples: o.Samples, Texts: o.Texts, Salvage: o.Salvage}
}
