package fielddata

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// headers reads the trace headers of one file.
type headers struct {
	opt   *Options
	found *Findings
	f     *segy.File
	order binary.ByteOrder
	unit  float64 // m

	t                          *segy.Trace // the one that is read
	horizontal, vertical, time int         // its scalars
	err                        error       // the first fault of its header

	records []record
	seen    seen
	noted   map[string]bool
}

func newHeaders(opt *Options, found *Findings, f *segy.File) (*headers, error) {
	h := &headers{opt: opt, found: found, f: f, order: f.ByteOrder(), unit: 1, seen: newSeen(), noted: map[string]bool{}}
	longest := 240 * (1 + f.Extra)
	for _, name := range MappingNames() {
		if p, ok := opt.Mapping[quantities[name]]; ok && p.End() > longest {
			return nil, status.Usage(fmt.Errorf("%s: header %s ends at byte %d, trace headers at byte %d", f.Path, name, p.End(), longest))
		}
	}
	switch {
	case opt.Units != "":
		h.unit = lengths[opt.Units]
	case f.Units == 2:
		h.unit = lengths["ft"]
	}
	return h, nil
}

// kept yields the traces of the file that are in the survey so far.
func (h *headers) kept(yield func(t *record) bool) {
	for i := range h.records {
		if t := &h.records[i]; !t.out && !yield(t) {
			return
		}
	}
}

// once notes something about the file, unless that is noted already.
func (h *headers) once(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !h.noted[text] {
		h.noted[text] = true
		h.found.Notes = append(h.found.Notes, h.f.Path+": "+text)
	}
}

// fault keeps what is wrong with a quantity, unless another one has a fault already.
func (h *headers) fault(quantity segy.Field, hint, format string, args ...any) {
	if h.err == nil {
		p := h.opt.Mapping[quantity]
		h.err = status.Hint(&segy.Error{Path: h.f.Path, Trace: h.t.Number + 1, Byte: h.t.At + int64(p.Byte),
			Field: fmt.Sprintf("%s, header byte %d", nameOf(quantity), p.Byte), Err: fmt.Errorf(format, args...)}, hint)
	}
}

// get is the number of a quantity, 0 where the mapping lacks it. scaled says that the
// mapping has a scale of its own, which is applied.
func (h *headers) get(quantity segy.Field) (v float64, scaled bool) {
	p, ok := h.opt.Mapping[quantity]
	switch {
	case !ok:
		return 0, false
	case p.End() > len(h.t.Header):
		h.fault(quantity, "", "ends at byte %d, this trace's header at byte %d", p.End(), len(h.t.Header))
		return 0, false
	}
	v = p.Value(h.t.Header, h.order)
	if p.Scale != 0 {
		v *= p.Scale
	}
	return v, p.Scale != 0
}

// length is a quantity in metres, with the scalar unless the mapping has a scale of
// its own. The number in the first trace header extension of revision 2 counts where it
// is not zero, the mapping has no scale, and it points to a field that the extension
// repeats.
func (h *headers) length(quantity segy.Field, scalar int) float64 {
	p, mapped := h.opt.Mapping[quantity]
	if p.Scale == 0 && (mapped || quantity == receiverDepth) {
		if v := h.double(p.Field); v != 0 {
			return v * h.unit
		}
	}
	v, ready := h.get(quantity)
	if !ready {
		v = scaled(v, scalar)
	}
	return v * h.unit
}

// double is the IEEE double of the extension that repeats a field, 0 where the trace has
// none.
func (h *headers) double(f segy.Field) float64 {
	at := extensions[f]
	if at == 0 || !segy.Extended(h.t.Header) {
		return 0
	}
	return segy.Field{Byte: 240 + at, Length: 8, Float: true}.Value(h.t.Header, h.order)
}

// duration is a quantity in s, which the header has in ms with the scalar of times.
func (h *headers) duration(quantity segy.Field) float64 {
	v, ready := h.get(quantity)
	if !ready {
		v = scaled(v, h.time)
	}
	if !(math.Abs(v) < 1e9) {
		h.fault(quantity, "", "is %g ms, want less than 1e9", v)
	}
	return v / 1000
}

// scalar reads a scalar; the standard has 1, 10, 100, 1000 and 10000 with either
// sign, and 0 for 1.
func (h *headers) scalar(quantity segy.Field) int {
	v, _ := h.get(quantity)
	n := int(v)
	if float64(n) != v {
		h.fault(quantity, "", "is %g, must be a whole number", v)
	} else if !slices.Contains([]float64{0, 1, 10, 100, 1000, 10000}, math.Abs(v)) {
		h.once("%s is %d, want a power of ten up to 10000, or its negative; taken as it is", nameOf(quantity), n)
	}
	return n
}

// scaled applies the scalar of a header: a positive one multiplies, a negative one
// divides, and 0 stands for 1 (section 7.1, bytes 69 to 72 and 215).
func scaled(v float64, scalar int) float64 {
	switch {
	case scalar > 0:
		return v * float64(scalar)
	case scalar < 0:
		return v / -float64(scalar)
	}
	return v
}

// read fills the record from the header. It returns a reason if the trace holds no data
// and is left out.
func (h *headers) read(rec *record, t *segy.Trace) (reason string, err error) {
	h.t, h.err = t, nil
	h.units()
	h.horizontal, h.vertical, h.time = h.scalar(segy.CoordinateScalar), h.scalar(segy.ElevationScalar), h.scalar(segy.TimeScalar)
	if h.f.Kind == segy.SU {
		h.time = 0 // unassigned there
	}
	for role, q := range [2]struct {
		x, y, elevation, depth segy.Field
		z                      *float64
	}{
		source:   {segy.SourceX, segy.SourceY, segy.SourceElevation, segy.SourceDepth, h.opt.SourceZ},
		receiver: {segy.ReceiverX, segy.ReceiverY, segy.ReceiverElevation, receiverDepth, h.opt.ReceiverZ},
	} {
		z := h.opt.Datum - h.length(q.elevation, h.vertical) + h.length(q.depth, h.vertical)
		if q.z != nil {
			z = *q.z
		}
		rec.place[role] = [3]float64{h.length(q.x, h.horizontal), h.length(q.y, h.horizontal), z}
	}
	rec.offset = h.length(segy.Offset, 1)
	rec.own = h.f.TraceInterval(t)
	rec.delay = h.duration(segy.Delay)
	rec.static = remaining(h.duration(segy.SourceStatic), h.duration(segy.ReceiverStatic), h.duration(segy.TotalStatic))
	for i, quantity := range []segy.Field{segy.FieldRecord, segy.Channel, segy.CDP} {
		v, _ := h.get(quantity)
		rec.label[i] = int32(v)
	}
	id, _ := h.get(segy.TraceID)
	if h.opt.Mapping.has(segy.TraceID) && !slices.Contains(h.opt.IDs, int(id)) && h.err == nil {
		h.found.QC.NoData++
		reason = fmt.Sprintf("trace identification code is %d%s, not one of %v", int(id), meaning(int(id)), h.opt.IDs)
	}
	return reason, h.err
}

// meaning explains the codes that are no seismic data (section 7.1, bytes 29-30).
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

// units refuses angles: they are no map coordinates (section 7.1, bytes 89-90).
// Revision 0 knows length and seconds of arc alone.
func (h *headers) units() {
	if h.opt.Units != "" {
		return
	}
	v, _ := h.get(segy.CoordinateUnits)
	angle := map[float64]string{2: "seconds of arc", 3: "decimal degrees", 4: "degrees, minutes, seconds"}[v]
	switch {
	case v == 0 || v == 1:
	case angle != "" && (v == 2 || h.f.Major > 0):
		h.fault(segy.CoordinateUnits, "project the coordinates to a map grid first; --units m says that they are metres after all",
			"is %g: coordinates are %s, want 1 (metres or feet)", v, angle)
	default:
		h.once("%s is %g, which revision %d does not have; coordinates are taken as lengths", nameOf(segy.CoordinateUnits), v, h.f.Major)
	}
}
