package fielddata

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/quality"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// tally counts the values that the traces of a file have in one header field.
type tally struct {
	name   string
	field  segy.Field
	scalar *int   // of the trace that is read; nil for none
	unit   string // "m", "ms" or ""
	what   string // import does with it; "" if only a hint uses it
	n      int    // traces where it is not 0
	lo, hi float64
}

func (t *tally) varies() bool { return t.lo != t.hi }

// seen holds the properties that the traces of a file have in common, without those that are left
// out.
type seen struct {
	traces      int
	scalar      int     // of the coordinates of the first trace
	least, most float32 // sample
	zeros, all  int64   // samples
	fields      []tally
}

// stackedTraces is the number of horizontally stacked traces.
var stackedTraces = segy.Field{Byte: 33, Length: 2}

// newSeen lists what is looked at besides the geometry: first where else positions may
// be, then what changes the meaning of a trace and is not used (section 7.1, table 3).
func (in *input) newSeen() seen {
	short := func(at int) segy.Field { return segy.Field{Byte: at, Length: 2} }
	datum := func(role string, at int) tally {
		return tally{name: "datum elevation at the " + role, field: segy.Field{Byte: at, Length: 4}, scalar: &in.vertical, unit: "m",
			what: "not used: --datum gives the elevation of z = 0"}
	}
	duration := func(name string, at int, what string) tally {
		return tally{name: name, field: short(at), scalar: &in.time, unit: "ms", what: "not used: " + what}
	}
	return seen{least: math.MaxFloat32, most: -math.MaxFloat32, fields: []tally{
		{field: segy.CDPX, scalar: &in.horizontal, unit: "m"}, {field: segy.CDPY, scalar: &in.horizontal, unit: "m"},
		{field: segy.Inline}, {field: segy.Crossline}, {field: segy.CDP}, {field: segy.SourcePoint}, {field: stackedTraces},
		datum("receivers", 53), datum("sources", 57),
		duration("lag time A", 105, "times count from the delay of byte 109"),
		duration("lag time B", 107, "times count from the delay of byte 109"),
		duration("start of the mute", 111, "data.mute_offsets and data.mute_times mute"),
		duration("end of the mute", 113, "data.mute_offsets and data.mute_times mute"),
		{name: "trace weighting factor, a power of two", field: short(169), what: "not applied to the samples"},
	}}
}

// of is the tally of a field.
func (s *seen) of(field segy.Field) *tally {
	return &s.fields[slices.IndexFunc(s.fields, func(f tally) bool { return f.field == field })]
}

// look takes a trace that counts into account.
func (in *input) look(s quality.Samples) {
	all := &in.seen
	if s.Peak > 0 {
		all.least = min(all.least, s.Least)
		all.most = max(all.most, s.Peak) // exact for traces without a negative sample; only these matter
		all.zeros += int64(s.Zeros)
		all.all += int64(in.t.NS)
	}
	if all.traces == 0 {
		all.scalar = in.horizontal
	}
	for i := range all.fields {
		f := &all.fields[i]
		if in.File.Kind == segy.SU && f.field.Byte > 180 {
			continue // SU has other things there
		}
		v := f.field.Value(in.t.Header, in.order)
		if f.scalar != nil {
			v = segy.Scaled(v, *f.scalar)
		}
		if f.unit == "m" {
			v = cmp.Or(in.double(f.field), v) * in.unit
		}
		if all.traces == 0 {
			f.lo, f.hi = v, v
		}
		f.lo, f.hi = math.Min(f.lo, v), math.Max(f.hi, v)
		if v != 0 {
			f.n++
		}
	}
	all.traces++
}

// Between is a range as text: "3 ms", "3 to 7 ms".
func Between(lo, hi float64, unit string) string {
	if unit != "" {
		unit = " " + unit
	}
	if lo == hi {
		return fmt.Sprintf("%.10g%s", lo, unit)
	}
	return fmt.Sprintf("%.10g to %.10g%s", lo, hi, unit)
}

// feet is how a textual header speaks of them.
var feet = regexp.MustCompile(`(?i)\b(feet|foot|ft)\b`)

// notes reports which parts of a file's headers are not used, and what was assumed.
func (in *input) notes() {
	for _, f := range in.odd {
		in.once("%s is %s in %d traces, %s", nameOf(f.field), Between(f.lo, f.hi, ""), f.n, f.what)
	}
	for _, f := range in.seen.fields {
		if f.what != "" && f.n > 0 {
			in.once("%s (byte %d) is %s, not 0 in %d of %d traces: %s", f.name, f.field.Byte, Between(f.lo, f.hi, f.unit), f.n, in.seen.traces, f.what)
		}
	}
	spoken := feet.FindString(in.File.Text)
	switch {
	case in.opt.Units != "":
		in.once("lengths are in %s, as --units says: 1 is %.10g m", in.opt.Units, in.unit)
	case in.File.Units == 2:
		in.once("lengths are in feet, as byte 3255 says: 1 is 0.3048 m; --units us-ft takes US survey feet")
	case spoken != "" && in.File.Units == 0:
		in.found.warn("%s: lengths are taken in metres, since byte 3255 gives no unit; but the textual header speaks of feet (%q): --units ft or --units m says which",
			in.File.Path, spoken)
	case in.File.Units == 0:
		in.once("lengths are taken in metres: the headers give no unit; --units ft says otherwise")
	case spoken != "":
		in.once("lengths are in metres, as byte 3255 says; the textual header speaks of feet (%q)", spoken)
	}
	if in.File.Reel == nil {
		return
	}
	// The binary header has properties of the samples that an import does not undo (section 5, bytes
	// 3249 to 3258).
	number := func(at int) int64 { return segy.Field{Byte: at, Length: 2}.Int(in.File.Reel, in.order) }
	if number(3249) == 1 && (number(3233) != 0 || number(3235) != 0) { // with a sweep
		in.found.warn("%s: byte 3249 says that the traces are not correlated with their sweep: correlate them first", in.File.Path)
	}
	if number(3251) == 2 {
		in.once("byte 3251 says that binary gain is not recovered; samples are taken as they are")
	}
	if number(3257) == 2 {
		in.once("byte 3257 says that an increase in pressure, or upward motion, is a positive number (2); samples are taken as they are")
	}
}
