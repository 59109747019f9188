package fielddata

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// input is one file of an import: it reads the headers of its traces, and keeps what is
// needed of them.
type input struct {
	File   *segy.File
	number int // among the files, from 0
	opt    *Options
	found  *Findings
	order  binary.ByteOrder
	unit   float64 // m

	given map[segy.Field]float64 // what other files say about the trace, m and ms

	t                          *segy.Trace // the one that is read
	horizontal, vertical, time int         // its scalars
	err                        error       // the first fault of its header

	records []record
	seen    seen
	odd     []tally // of numbers that are unusual, in order of appearance
	noted   map[string]bool
}

func newInput(number int, f *segy.File, opt *Options, found *Findings) *input {
	in := &input{File: f, number: number, opt: opt, found: found, order: f.ByteOrder(), unit: 1, noted: map[string]bool{}}
	in.seen = in.newSeen()
	switch {
	case opt.Units != "":
		in.unit = lengths[opt.Units]
	case f.Units == 2:
		in.unit = lengths["ft"]
	}
	return in
}

// holds checks that the headers may be long enough for all quantities.
func (in *input) holds(mapping Mapping) error {
	longest := 240 * (1 + in.File.Extra)
	for _, name := range MappingNames() {
		if p, ok := mapping[quantities[name]]; ok && p.End() > longest {
			return status.Usage(fmt.Errorf("%s: header %s ends at byte %d, trace headers at byte %d", in.File.Path, name, p.End(), longest))
		}
	}
	return nil
}

// kept yields the traces of the file that are in the survey so far.
func (in *input) kept(yield func(t *record) bool) {
	for i := range in.records {
		if t := &in.records[i]; !t.out && !yield(t) {
			return
		}
	}
}

// once notes something about the file, unless that is noted already.
func (in *input) once(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !in.noted[text] {
		in.noted[text] = true
		in.found.Notes = append(in.found.Notes, in.File.Path+": "+text)
	}
}

// strange counts the traces that have an unusual number in a header, and its values; notes tells
// them together.
func (in *input) strange(quantity segy.Field, v float64, what string) {
	i := slices.IndexFunc(in.odd, func(t tally) bool { return t.field == quantity })
	if i < 0 {
		i, in.odd = len(in.odd), append(in.odd, tally{field: quantity, what: what, lo: v, hi: v})
	}
	t := &in.odd[i]
	t.n, t.lo, t.hi = t.n+1, math.Min(t.lo, v), math.Max(t.hi, v)
}

// fault keeps what is wrong with a quantity, unless another one has a fault already.
func (in *input) fault(quantity segy.Field, hint, format string, args ...any) {
	if in.err == nil {
		p := in.opt.Mapping[quantity]
		in.err = status.Hint(&segy.Error{Path: in.File.Path, Trace: in.t.Number + 1, Byte: in.t.At + int64(p.Byte),
			Field: fmt.Sprintf("%s, header byte %d", nameOf(quantity), p.Byte), Err: fmt.Errorf(format, args...)}, hint)
	}
}

// get is the number of a quantity with the scale of its position; 0 where the mapping
// lacks it.
func (in *input) get(quantity segy.Field) (v float64, p Position) {
	p, ok := in.opt.Mapping[quantity]
	if !ok {
		return 0, p
	}
	if p.End() > len(in.t.Header) {
		in.fault(quantity, "", "ends at byte %d, this trace's header at byte %d", p.End(), len(in.t.Header))
		return 0, p
	}
	v = p.Value(in.t.Header, in.order)
	if p.Scale != 0 {
		v *= p.Scale
	}
	return v, p
}

// length is a quantity in metres, with the scalar unless the mapping has a scale of
// its own. The number in the first trace header extension of revision 2 counts where it
// is not zero, the mapping has no scale, and it points to a field that the extension
// repeats.
func (in *input) length(quantity segy.Field, scalar int) float64 {
	if v, ok := in.given[quantity]; ok {
		return v
	}
	v, p := in.get(quantity)
	if p.Scale == 0 {
		v = segy.Scaled(v, scalar)
		if exact := in.double(p.Field); exact != 0 && (p.Byte > 0 || quantity == receiverDepth) {
			v = exact
		}
	}
	return v * in.unit
}

// double is the IEEE double of the extension that repeats a field, 0 where the trace has
// none.
func (in *input) double(f segy.Field) float64 {
	if !segy.Extended(in.t.Header) || extensions[f] == 0 {
		return 0
	}
	return segy.Field{Byte: 240 + extensions[f], Length: 8, Float: true}.Value(in.t.Header, in.order)
}

// duration is a quantity in s, which the header has in ms with the scalar of times.
func (in *input) duration(quantity segy.Field) float64 {
	v, p := in.get(quantity)
	if p.Scale == 0 {
		v = segy.Scaled(v, in.time)
	}
	if given, ok := in.given[quantity]; ok {
		v = given
	}
	if !(math.Abs(v) < 1e9) {
		in.fault(quantity, "", "is %g ms, want less than 1e9", v)
	}
	return v / 1000
}

// scalar reads a scalar; the standard has 1, 10, 100, 1000 and 10000 with either
// sign, and 0 for 1.
func (in *input) scalar(quantity segy.Field) int {
	v, _ := in.get(quantity)
	n := int(v)
	if float64(n) != v {
		in.fault(quantity, "", "is %g, must be a whole number", v)
	} else if !slices.Contains([]float64{0, 1, 10, 100, 1000, 10000}, math.Abs(v)) {
		in.strange(quantity, v, "want a power of ten up to 10000, or its negative; taken as it is")
	}
	return n
}

// read fills the record from the header. A trace that holds no data is left out.
func (in *input) read(rec *record, t *segy.Trace) error {
	in.t, in.err = t, nil
	in.navigate(rec)
	in.units()
	in.horizontal, in.vertical, in.time = in.scalar(segy.CoordinateScalar), in.scalar(segy.ElevationScalar), in.scalar(segy.TimeScalar)
	if in.File.Kind == segy.SU {
		in.time = 0 // unassigned there
	}
	for role, q := range [2]struct {
		x, y, elevation, depth segy.Field
		z                      *float64
	}{
		source:   {segy.SourceX, segy.SourceY, segy.SourceElevation, segy.SourceDepth, in.opt.SourceZ},
		receiver: {segy.ReceiverX, segy.ReceiverY, segy.ReceiverElevation, receiverDepth, in.opt.ReceiverZ},
	} {
		z := in.opt.Datum - in.length(q.elevation, in.vertical) + in.length(q.depth, in.vertical)
		if q.z != nil {
			z = *q.z
		}
		rec.place[role] = [3]float64{in.length(q.x, in.horizontal), in.length(q.y, in.horizontal), z}
	}
	if in.opt.Midpoints.On {
		at := in.midpoint()
		for role := range rec.place {
			rec.place[role][0], rec.place[role][1] = at[0], at[1]
		}
	}
	rec.offset = in.length(segy.Offset, 1)
	rec.own = in.File.TraceInterval(t)
	rec.delay = in.duration(segy.Delay)
	rec.static = remaining(in.duration(segy.SourceStatic), in.duration(segy.ReceiverStatic), in.duration(segy.TotalStatic))
	rec.depth, rec.uphole = float32(in.length(segy.SourceDepth, in.vertical)), float32(in.duration(segy.UpholeTime))
	for i, quantity := range []segy.Field{segy.FieldRecord, segy.Channel, segy.CDP} {
		v, _ := in.get(quantity)
		rec.label[i] = int32(v)
	}
	id, _ := in.get(segy.TraceID)
	if in.opt.Mapping.has(segy.TraceID) && !slices.Contains(in.opt.IDs, int(id)) {
		in.found.QC.NoData++
		rec.leave("trace identification code is %d%s, not one of %v", int(id), meaning(int(id)), in.opt.IDs)
	}
	return in.err
}

// meaning explains the codes of traces other than seismic data (section 7.1, bytes 29-30).
func meaning(id int) string {
	text := map[int]string{-1: "other", 2: "dead", 3: "dummy", 4: "time break", 5: "uphole", 6: "sweep", 7: "timing",
		8: "water break", 9: "near-field gun signature", 10: "far-field gun signature",
		13: "cross-line component", 14: "in-line component", 15: "rotated vertical component", 16: "rotated transverse component",
		17: "rotated radial component", 18: "vibrator reaction mass", 19: "vibrator baseplate", 20: "vibrator estimated ground force",
		21: "vibrator reference", 22: "time-velocity pairs"}[id]
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// units refuses angles, because they are not map coordinates (section 7.1, bytes 89-90). Revision 0
// has only length and seconds of arc.
func (in *input) units() {
	_, sources := in.given[segy.SourceX]
	_, receivers := in.given[segy.ReceiverX]
	if in.opt.Units != "" || sources && receivers {
		return
	}
	v, _ := in.get(segy.CoordinateUnits)
	angle := map[float64]string{2: "seconds of arc", 3: "decimal degrees", 4: "degrees, minutes, seconds"}[v]
	switch {
	case v == 0 || v == 1:
	case angle != "" && (v == 2 || in.File.Major > 0):
		in.fault(segy.CoordinateUnits, "project the coordinates to a map grid first; --units m says that they are metres after all",
			"is %g: coordinates are %s, want 1 (metres or feet)", v, angle)
	default:
		in.strange(segy.CoordinateUnits, v, fmt.Sprintf("which revision %d does not have; coordinates are taken as lengths", in.File.Major))
	}
}
