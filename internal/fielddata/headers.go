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
	im    *Import
	f     *segy.File
	order binary.ByteOrder
	unit  float64 // m

	horizontal, vertical, time int // scalars of the trace that was read last

	warn map[string]bool
	seen *seen
}

func (im *Import) headers(f *segy.File) (*headers, error) {
	h := &headers{im: im, f: f, order: f.ByteOrder(), warn: map[string]bool{}, seen: newSeen(f)}
	longest := 240 * (1 + f.Extra())
	for _, name := range MappingNames() {
		if p, ok := im.opt.Mapping[name]; ok && p.End() > longest {
			return nil, status.Usage(fmt.Errorf("%s: header %s ends at byte %d, trace headers at byte %d", f.Path, name, p.End(), longest))
		}
	}
	switch {
	case im.opt.Units != "":
		h.unit = lengths[im.opt.Units]
	case f.Units == 2:
		h.unit = lengths["ft"]
	default:
		h.unit = 1
	}
	return h, nil
}

// once puts a note about the file, once for each text.
func (h *headers) once(text string) {
	if !h.warn[text] {
		h.warn[text] = true
		h.im.Notes = append(h.im.Notes, h.f.Path+": "+text)
	}
}

// get is the number of a quantity, 0 where the mapping lacks it.
func (h *headers) get(t *segy.Trace, name string) (v float64, p Position, err error) {
	p, ok := h.im.opt.Mapping[name]
	if !ok {
		return 0, p, nil
	}
	if p.End() > len(t.Header) {
		return 0, p, &segy.Error{Path: h.f.Path, Trace: t.Number + 1, Byte: t.At + 1, Field: name,
			Err: fmt.Errorf("header byte %d is wanted, this trace's header has %d", p.End(), len(t.Header))}
	}
	v = p.Value(t.Header, h.order)
	if p.Scale != 0 {
		v *= p.Scale
	}
	return v, p, nil
}

// length is a quantity in metres, with the scalar unless the mapping has a scale of
// its own.
func (h *headers) length(t *segy.Trace, name string, scalar int) (float64, error) {
	if v := h.extended(t, name); v != 0 {
		return v * h.unit, nil
	}
	v, p, err := h.get(t, name)
	if p.Scale == 0 {
		v = scaled(v, scalar)
	}
	return v * h.unit, err
}

// extended is the number that the first trace header extension of revision 2 has
// for a quantity, which counts where it is not zero (section 7.1, table 4); 0 where
// there is none, or the mapping has a scale of its own or points to no field that the
// extension repeats.
func (h *headers) extended(t *segy.Trace, name string) float64 {
	p, mapped := h.im.opt.Mapping[name]
	switch {
	case p.Scale != 0:
		return 0
	case !mapped && name == ReceiverDepth:
		return h.double(t, extendedReceiverDepth)
	}
	return h.double(t, extension[p.Field])
}

// double is an IEEE double of the extension, 0 where the trace has none or at is 0.
func (h *headers) double(t *segy.Trace, at int) float64 {
	if at == 0 || !segy.Extended(t.Header) {
		return 0
	}
	return segy.Field{Byte: at, Length: 8, Float: true}.Value(t.Header, h.order)
}

// extension is where the first extension repeats fields of the header as IEEE doubles.
var extension = map[segy.Field]int{
	segy.ReceiverElevation: 240 + 33, segy.SourceElevation: 240 + 49, segy.SourceDepth: 240 + 57,
	segy.SourceX: 240 + 97, segy.SourceY: 240 + 105, segy.ReceiverX: 240 + 113, segy.ReceiverY: 240 + 121, segy.Offset: 240 + 129,
	segy.CDPX: 240 + 161, segy.CDPY: 240 + 169,
}

// extendedReceiverDepth is where it has what the header does not.
const extendedReceiverDepth = 240 + 41

// scalar reads a scalar; the standard has 1, 10, 100, 1000 and 10000 with either
// sign, and 0 for 1.
func (h *headers) scalar(t *segy.Trace, name string) (int, error) {
	v, p, err := h.get(t, name)
	n := int(v)
	if float64(n) != v {
		return 0, h.fault(t, p, name, "is %g, must be a whole number", v)
	}
	if a := math.Abs(v); !slices.Contains([]float64{0, 1, 10, 100, 1000, 10000}, a) {
		h.once(fmt.Sprintf("%s is %d, want a power of ten up to 10000, or its negative; taken as it is", name, n))
	}
	return n, err
}

func (h *headers) fault(t *segy.Trace, p Position, name, format string, args ...any) error {
	return &segy.Error{Path: h.f.Path, Trace: t.Number + 1, Byte: t.At + int64(p.Byte),
		Field: fmt.Sprintf("%s, header byte %d", name, p.Byte), Err: fmt.Errorf(format, args...)}
}

// read fills the record with what the header says.
func (h *headers) read(rec *record, t *segy.Trace) error {
	if err := h.units(t); err != nil {
		return err
	}
	horizontal, err := h.scalar(t, CoordinateScalar)
	if err != nil {
		return err
	}
	vertical, err := h.scalar(t, ElevationScalar)
	if err != nil {
		return err
	}
	var elevation, depth [2]float64
	for _, q := range []struct {
		name   string
		scalar int
		to     *float64
	}{
		{SourceX, horizontal, &rec.place[source][0]}, {SourceY, horizontal, &rec.place[source][1]},
		{ReceiverX, horizontal, &rec.place[receiver][0]}, {ReceiverY, horizontal, &rec.place[receiver][1]},
		{SourceElevation, vertical, &elevation[source]}, {ReceiverElevation, vertical, &elevation[receiver]},
		{SourceDepth, vertical, &depth[source]}, {ReceiverDepth, vertical, &depth[receiver]},
		{OffsetField, 1, &rec.offset},
	} {
		if *q.to, err = h.length(t, q.name, q.scalar); err != nil {
			return err
		}
	}
	for i, given := range []*float64{h.im.opt.SourceZ, h.im.opt.ReceiverZ} {
		rec.place[i][2] = h.im.opt.Datum - elevation[i] + depth[i]
		if given != nil {
			rec.place[i][2] = *given
		}
	}
	rec.own = h.f.TraceInterval(t)
	h.horizontal, h.vertical = horizontal, vertical
	return h.rest(rec, t)
}

// rest reads what has to do with neither place nor sampling interval.
func (h *headers) rest(rec *record, t *segy.Trace) error {
	scalar, err := h.scalar(t, TimeScalar)
	if err != nil {
		return err
	}
	if h.f.Kind == segy.SU {
		scalar = 0 // unassigned there
	}
	h.time = scalar
	if rec.delay, err = h.duration(t, Delay); err != nil {
		return err
	}
	var static [3]float64
	for i, name := range statics {
		if static[i], err = h.duration(t, name); err != nil {
			return err
		}
	}
	rec.static = remaining(static)
	for i, name := range []string{FieldRecord, Channel, CDP} {
		v, _, err := h.get(t, name)
		if err != nil {
			return err
		}
		rec.label[i] = int32(v)
	}
	id, _, err := h.get(t, TraceID)
	if err != nil {
		return err
	}
	if _, mapped := h.im.opt.Mapping[TraceID]; mapped && !slices.Contains(h.im.opt.IDs, int(id)) {
		h.im.QC.NoData++
		h.im.leave(rec, "trace identification code is %d%s, not one of %v", int(id), meaning(int(id)), h.im.opt.IDs)
	}
	return nil
}

// duration is a quantity in s, which the header has in ms with the scalar of times.
func (h *headers) duration(t *segy.Trace, name string) (float64, error) {
	v, p, err := h.get(t, name)
	if p.Scale == 0 {
		v = scaled(v, h.time)
	}
	if err == nil && !(math.Abs(v) < 1e9) {
		return 0, h.fault(t, p, name, "is %g ms, want less than 1e9", v)
	}
	return v / 1000, err
}

// scaled is v multiplied by a scalar that is positive, divided by the amount of one
// that is negative; 0 stands for 1 (section 7.1, bytes 69 to 72 and 215).
func scaled(v float64, scalar int) float64 {
	switch {
	case scalar > 0:
		return v * float64(scalar)
	case scalar < 0:
		return v / -float64(scalar)
	}
	return v
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
func (h *headers) units(t *segy.Trace) error {
	if h.im.opt.Units != "" {
		return nil
	}
	v, p, err := h.get(t, CoordinateUnits)
	if err != nil {
		return err
	}
	angle := map[float64]string{2: "seconds of arc", 3: "decimal degrees", 4: "degrees, minutes, seconds"}[v]
	switch {
	case v == 0 || v == 1:
	case angle != "" && (v == 2 || h.f.Major > 0):
		return status.Hint(h.fault(t, p, CoordinateUnits, "is %g: coordinates are %s, want 1 (metres or feet)", v, angle),
			"project the coordinates to a map grid first; --units m says that they are metres after all")
	default:
		h.once(fmt.Sprintf("%s is %g, which revision %d does not have; coordinates are taken as lengths", CoordinateUnits, v, h.f.Major))
	}
	return nil
}
