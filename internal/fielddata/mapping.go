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
	Scale float64 // of the number, instead of the header's scalar; 0: the header's
}

// Mapping says where each quantity lies. Its key is the field that the standard has for
// the quantity; only quantities that are in it are read.
type Mapping map[segy.Field]Position

// receiverDepth is the key of a quantity that no revision has in the first 240 bytes.
var receiverDepth = segy.Field{}

// quantities are the quantities that a mapping may have, by name.
var quantities = map[string]segy.Field{
	"source_x": segy.SourceX, "source_y": segy.SourceY, "receiver_x": segy.ReceiverX, "receiver_y": segy.ReceiverY,
	"source_elevation": segy.SourceElevation, "receiver_elevation": segy.ReceiverElevation,
	"source_depth": segy.SourceDepth, "receiver_depth": receiverDepth, "offset": segy.Offset,
	"coordinate_scalar": segy.CoordinateScalar, "elevation_scalar": segy.ElevationScalar, "coordinate_units": segy.CoordinateUnits,
	"trace_id": segy.TraceID, "delay": segy.Delay, "time_scalar": segy.TimeScalar,
	"uphole_time": segy.UpholeTime, "source_static": segy.SourceStatic, "receiver_static": segy.ReceiverStatic, "total_static": segy.TotalStatic,
	"field_record": segy.FieldRecord, "channel": segy.Channel, "cdp": segy.CDP,
}

// extensions are the bytes, from 1, of the first trace header extension of revision 2
// that repeat a field as an IEEE double (section 7.1, tables 3 and 4).
var extensions = map[segy.Field]int{
	segy.SourceX: 97, segy.SourceY: 105, segy.ReceiverX: 113, segy.ReceiverY: 121, segy.SourceElevation: 49,
	segy.ReceiverElevation: 33, segy.SourceDepth: 57, receiverDepth: 41, segy.Offset: 129, segy.CDPX: 161, segy.CDPY: 169,
}

// DefaultMapping is the standard's.
func DefaultMapping() Mapping {
	m := Mapping{}
	for _, field := range quantities {
		if field != receiverDepth {
			m[field] = Position{Field: field}
		}
	}
	return m
}

// MappingNames lists the quantities.
func MappingNames() []string { return slices.Sorted(maps.Keys(quantities)) }

// nameOf is the name of a quantity.
func nameOf(quantity segy.Field) string {
	for name, field := range quantities {
		if field == quantity {
			return name
		}
	}
	return ""
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
	quantity, known := quantities[name]
	if !known {
		return status.Hint(fmt.Errorf("header %q is unknown", name), "one of "+strings.Join(MappingNames(), ", "))
	}
	if text == "none" {
		delete(m, quantity)
		return nil
	}
	p, err := parsePosition(text)
	if err != nil {
		return fmt.Errorf("header %s: %q: %w", name, text, err)
	}
	m[quantity] = p
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
