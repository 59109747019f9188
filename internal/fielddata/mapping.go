package fielddata

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// Position is where a number lies in the trace header.
type Position struct {
	segy.Field
	Scale float64 // of the number, in place of the header's scalar; 0 for that
}

// Mapping says where each quantity lies; one that is not in it is not read.
type Mapping map[string]Position

// Names of the quantities.
const (
	SourceX           = "source_x"
	SourceY           = "source_y"
	ReceiverX         = "receiver_x"
	ReceiverY         = "receiver_y"
	SourceElevation   = "source_elevation"
	ReceiverElevation = "receiver_elevation"
	SourceDepth       = "source_depth"
	ReceiverDepth     = "receiver_depth"
	CoordinateScalar  = "coordinate_scalar"
	ElevationScalar   = "elevation_scalar"
	CoordinateUnits   = "coordinate_units"
	OffsetField       = "offset"
	TraceID           = "trace_id"
	Delay             = "delay"
	TimeScalar        = "time_scalar"
	SourceStatic      = "source_static"
	ReceiverStatic    = "receiver_static"
	TotalStatic       = "total_static"
	FieldRecord       = "field_record"
	Channel           = "channel"
	CDP               = "cdp"
)

// quantities are the names, where the standard has them in the trace header, and at
// which byte of its first extension in revision 2 they are IEEE doubles (section 7.1,
// tables 3 and 4). No revision has a depth of the receiver in its first 240 bytes.
var quantities = []struct {
	name     string
	field    segy.Field
	extended int
}{
	{SourceX, segy.SourceX, 97}, {SourceY, segy.SourceY, 105}, {ReceiverX, segy.ReceiverX, 113}, {ReceiverY, segy.ReceiverY, 121},
	{SourceElevation, segy.SourceElevation, 49}, {ReceiverElevation, segy.ReceiverElevation, 33},
	{SourceDepth, segy.SourceDepth, 57}, {ReceiverDepth, segy.Field{}, 41}, {OffsetField, segy.Offset, 129},
	{CoordinateScalar, segy.CoordinateScalar, 0}, {ElevationScalar, segy.ElevationScalar, 0}, {CoordinateUnits, segy.CoordinateUnits, 0},
	{TraceID, segy.TraceID, 0}, {Delay, segy.Delay, 0}, {TimeScalar, segy.TimeScalar, 0},
	{SourceStatic, segy.SourceStatic, 0}, {ReceiverStatic, segy.ReceiverStatic, 0}, {TotalStatic, segy.TotalStatic, 0},
	{FieldRecord, segy.FieldRecord, 0}, {Channel, segy.Channel, 0}, {CDP, segy.CDP, 0},
}

// extension is the byte, from 1, of the first extension that repeats a field; 0 for none.
func extension(f segy.Field) int {
	switch f {
	case segy.CDPX:
		return 161
	case segy.CDPY:
		return 169
	}
	for _, q := range quantities {
		if q.field == f {
			return q.extended
		}
	}
	return 0
}

// DefaultMapping is the standard's.
func DefaultMapping() Mapping {
	m := Mapping{}
	for _, q := range quantities {
		if q.field.Byte > 0 {
			m[q.name] = Position{Field: q.field}
		}
	}
	return m
}

// MappingNames lists the quantities.
func MappingNames() []string {
	var names []string
	for _, q := range quantities {
		names = append(names, q.name)
	}
	slices.Sort(names)
	return names
}

// Set takes one entry such as "source_x=73:4": the byte, counted from 1, and the
// length in bytes, with "u" for unsigned integers or "f" for IEEE floats; a scale
// behind a further colon stands in for the header's scalar. A float that has no
// scale is taken as it is. "none" means that the files do not have the quantity.
func (m Mapping) Set(entry string) error {
	name, text, ok := strings.Cut(entry, "=")
	if !ok {
		return fmt.Errorf("header %q: want NAME=BYTE:LENGTH[:SCALE]", entry)
	}
	if !slices.Contains(MappingNames(), name) {
		return status.Hint(fmt.Errorf("header %q is unknown", name), "one of "+strings.Join(MappingNames(), ", "))
	}
	if text == "none" {
		delete(m, name)
		return nil
	}
	p, err := parsePosition(text)
	if err != nil {
		return fmt.Errorf("header %s: %q: %w", name, text, err)
	}
	m[name] = p
	return nil
}

// longestHeader bounds the bytes of a mapping: a trace has at most 65535 header
// extensions (revision 2.0, section 7.1).
const longestHeader = 240 * 65536

func parsePosition(text string) (p Position, err error) {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return p, fmt.Errorf("want BYTE:LENGTH[:SCALE], such as 73:4")
	}
	if p.Byte, err = strconv.Atoi(parts[0]); err != nil || p.Byte > longestHeader {
		return p, fmt.Errorf("byte is %q, want a whole number up to %d", parts[0], longestHeader)
	}
	length := parts[1]
	p.Float, p.Unsigned = strings.HasSuffix(length, "f"), strings.HasSuffix(length, "u")
	if p.Float || p.Unsigned {
		length = length[:len(length)-1]
	}
	if p.Length, err = strconv.Atoi(length); err != nil {
		return p, fmt.Errorf("length is %q, want 1, 2, 4 or 8, perhaps with u or f", parts[1])
	}
	if p.Float {
		p.Scale = 1
	}
	if len(parts) == 3 {
		if p.Scale, err = strconv.ParseFloat(parts[2], 64); err != nil || !(p.Scale != 0) || p.Scale-p.Scale != 0 {
			return p, fmt.Errorf("scale is %q, want a number other than 0", parts[2])
		}
	}
	return p, p.Validate()
}

// ReadMapping takes the entries of a TOML file: a table [header] of texts like
// those of Set, such as source_x = "73:4".
func (m Mapping) ReadMapping(path string) error {
	f, err := plainfile.Open(path)
	if err != nil {
		return status.Usage(err)
	}
	defer f.Close()
	var file struct {
		Header map[string]string `toml:"header"`
	}
	meta, err := toml.NewDecoder(f).Decode(&file)
	if err != nil {
		return status.Usage(fmt.Errorf("%s: %w", path, err))
	}
	for _, key := range meta.Undecoded() {
		return status.Usage(fmt.Errorf("%s: %s is unknown, want a table [header]", path, key))
	}
	for _, name := range slices.Sorted(maps.Keys(file.Header)) {
		if err := m.Set(name + "=" + file.Header[name]); err != nil {
			return status.Usage(fmt.Errorf("%s: %w", path, err))
		}
	}
	return nil
}
