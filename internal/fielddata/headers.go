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

	warn map[string]bool
	seen *seen
}

func newHeaders(opt *Options, found *Findings, f *segy.File) (*headers, error) {
	h := &headers{opt: opt, found: found, f: f, order: f.ByteOrder(), unit: 1, warn: map[string]bool{}, seen: newSeen()}
	longest := 240 * (1 + f.Extra)
	for _, name := range MappingNames() {
		if p, ok := opt.Mapping[name]; ok && p.End() > longest {
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

// once notes something about the file, unless that is noted already.
func (h *headers) once(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !h.warn[text] {
		h.warn[text] = true
		h.found.Notes = append(h.found.Notes, h.f.Path+": "+text)
	}
}

func (h *headers) fault(p Position, name, format string, args ...any) error {
	return &segy.Error{Path: h.f.Path, Trace: h.t.Number + 1, Byte: h.t.At + int64(p.Byte),
		Field: fmt.Sprintf("%s, header byte %d", name, p.Byte), Err: fmt.Errorf(format, args...)}
}

// get is the number of a quantity, 0 where the mapping lacks it.
func (h *headers) get(name string) (v float64, p Position, err error) {
	p, ok := h.opt.Mapping[name]
	if !ok {
		return 0, p, nil
	}
	if p.End() > len(h.t.Header) {
		return 0, p, &segy.Error{Path: h.f.Path, Trace: h.t.Number + 1, Byte: h.t.At + 1, Field: name,
			Err: fmt.Errorf("header byte %d is wanted, this trace's header has %d", p.End(), len(h.t.Header))}
	}
	v = p.Value(h.t.Header, h.order)
	if p.Scale != 0 {
		v *= p.Scale
	}
	return v, p, nil
}

// length is a quantity in metres, with the scalar unless the mapping has a scale of
// its own. The number in the first trace header extension of revision 2 counts where it
// is not zero, the mapping has no scale, and it points to a field that the extension
// repeats.
func (h *headers) length(name string, scalar int) (float64, error) {
	p, mapped := h.opt.Mapping[name]
	at := extension(p.Field)
	if name != ReceiverDepth && !mapped || p.Scale != 0 {
		at = 0
	}
	if v := h.double(at); v != 0 {
		return v * h.unit, nil
	}
	v, p, err := h.get(name)
	if p.Scale == 0 {
		v = scaled(v, scalar)
	}
	return v * h.unit, err
}

// double is an IEEE double of the extension, 0 where the trace has none or at is 0.
func (h *headers) double(at int) float64 {
	if at == 0 || !segy.Extended(h.t.Header) {
		return 0
	}
	return segy.Field{Byte: 240 + at, Length: 8, Float: true}.Value(h.t.Header, h.order)
}

// duration is a quantity in s, which the header has in ms with the scalar of times.
func (h *headers) duration(name string) (float64, error) {
	v, p, err := h.get(name)
	if p.Scale == 0 {
		v = scaled(v, h.time)
	}
	if err == nil && !(math.Abs(v) < 1e9) {
		return 0, h.fault(p, name, "is %g ms, want less than 1e9", v)
	}
	return v / 1000, err
}

// scalar reads a scalar; the standard has 1, 10, 100, 1000 and 10000 with either
// sign, and 0 for 1.
func (h *headers) scalar(name string) (int, error) {
	v, p, err := h.get(name)
	n := int(v)
	if float64(n) != v {
		return 0, h.fault(p, name, "is %g, must be a whole number", v)
	}
	if a := math.Abs(v); !slices.Contains([]float64{0, 1, 10, 100, 1000, 10000}, a) {
		h.once("%s is %d, want a power of ten up to 10000, or its negative; taken as it is", name, n)
	}
	return n, err
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

// read fills the record from the header. It returns a reason if the trace holds no data
// and is left out.
func (h *headers) read(rec *record, t *segy.Trace) (reason string, err error) {
	h.t = t
	if err := h.units(); err != nil {
		return "", err
	}
	for _, s := range []struct {
		name string
		to   *int
	}{{CoordinateScalar, &h.horizontal}, {ElevationScalar, &h.vertical}, {TimeScalar, &h.time}} {
		if *s.to, err = h.scalar(s.name); err != nil {
			return "", err
		}
	}
	if h.f.Kind == segy.SU {
		h.time = 0 // unassigned there
	}
	var elevation, depth [2]float64
	for _, q := range []struct {
		name   string
		scalar int
		to     *float64
	}{
		{SourceX, h.horizontal, &rec.place[source][0]}, {SourceY, h.horizontal, &rec.place[source][1]},
		{ReceiverX, h.horizontal, &rec.place[receiver][0]}, {ReceiverY, h.horizontal, &rec.place[receiver][1]},
		{SourceElevation, h.vertical, &elevation[source]}, {ReceiverElevation, h.vertical, &elevation[receiver]},
		{SourceDepth, h.vertical, &depth[source]}, {ReceiverDepth, h.vertical, &depth[receiver]},
		{OffsetField, 1, &rec.offset},
	} {
		if *q.to, err = h.length(q.name, q.scalar); err != nil {
			return "", err
		}
	}
	for i, given := range []*float64{h.opt.SourceZ, h.opt.ReceiverZ} {
		rec.place[i][2] = h.opt.Datum - elevation[i] + depth[i]
		if given != nil {
			rec.place[i][2] = *given
		}
	}
	rec.own = h.f.TraceInterval(t)
	var static [3]float64
	for _, q := range []struct {
		name string
		to   *float64
	}{{Delay, &rec.delay}, {SourceStatic, &static[0]}, {ReceiverStatic, &static[1]}, {TotalStatic, &static[2]}} {
		if *q.to, err = h.duration(q.name); err != nil {
			return "", err
		}
	}
	rec.static = remaining(static)
	for i, name := range []string{FieldRecord, Channel, CDP} {
		v, _, err := h.get(name)
		if err != nil {
			return "", err
		}
		rec.label[i] = int32(v)
	}
	id, _, err := h.get(TraceID)
	if _, mapped := h.opt.Mapping[TraceID]; err == nil && mapped && !slices.Contains(h.opt.IDs, int(id)) {
		h.found.QC.NoData++
		reason = fmt.Sprintf("trace identification code is %d%s, not one of %v", int(id), meaning(int(id)), h.opt.IDs)
	}
	return reason, err
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
func (h *headers) units() error {
	if h.opt.Units != "" {
		return nil
	}
	v, p, err := h.get(CoordinateUnits)
	if err != nil {
		return err
	}
	angle := map[float64]string{2: "seconds of arc", 3: "decimal degrees", 4: "degrees, minutes, seconds"}[v]
	switch {
	case v == 0 || v == 1:
	case angle != "" && (v == 2 || h.f.Major > 0):
		return status.Hint(h.fault(p, CoordinateUnits, "is %g: coordinates are %s, want 1 (metres or feet)", v, angle),
			"project the coordinates to a map grid first; --units m says that they are metres after all")
	default:
		h.once("%s is %g, which revision %d does not have; coordinates are taken as lengths", CoordinateUnits, v, h.f.Major)
	}
	return nil
}
