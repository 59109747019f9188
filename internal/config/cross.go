package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
)

// cross checks the keys against each other, as far as that needs no file. It skips keys
// whose own values are wrong.
func (r *reader) cross() {
	r.required()
	r.ordered()
	r.mute()
	for _, key := range []string{"kirchhoff.angle_limit", "kirchhoff.takeoff_limit", "kirchhoff.dip_limit", "kirchhoff.opening_limit"} {
		r.taper(key)
	}
	for _, u := range refused {
		r.apply(u, r.clash)
	}
	r.units()
	r.image()
	r.gathers()
	r.taps()
	r.stream()
	r.outputs()
	for _, u := range noted {
		r.apply(u, r.note)
	}
	r.strong()
	r.idle()
}

// strong notes a damping that leaves nothing of the image, as one in plain units may.
func (r *reader) strong() {
	const damping, scale = "solver.damping", "solver.penalty_scale"
	if s := r.cfg.Solver; s.PenaltyScale == "relative" && s.Damping > 1 && r.good(damping, scale) {
		r.note(fmt.Sprintf("%g times the largest singular value of the operator leaves hardly more than a migration; solver.penalty_scale = \"absolute\" has it in plain units", s.Damping), damping)
	}
}

// good reports whether no problem with the values themselves names one of the keys.
func (r *reader) good(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(k string) bool { return r.named[k] })
}

// where is the origin of the first of the keys that was given, or else the
// section of the first in the file.
func (r *reader) where(keys ...string) origin {
	for _, k := range keys {
		if o, ok := r.cfg.origins[k]; ok {
			return o
		}
	}
	section, _, _ := strings.Cut(keys[0], ".")
	return origin{r.path, r.pos.line(section, "")}
}

// clash reports a value that does not go with the others, at the place of the
// first of the keys that was given.
func (r *reader) clash(message string, keys ...string) *Problem {
	return r.add(r.where(keys...), keys[0], message)
}

// note is clash for a combination that is allowed.
func (r *reader) note(message string, keys ...string) *Problem {
	at := r.where(keys...)
	r.cfg.notes = append(r.cfg.notes, Problem{Source: at.source, Line: at.line, Key: keys[0], Message: message})
	return &r.cfg.notes[len(r.cfg.notes)-1]
}

func (r *reader) required() {
	for _, f := range r.fields() {
		if _, given := r.cfg.origins[f.Name()]; f.Required && r.good(f.Name()) && !given {
			r.clash("missing, want "+f.want(), f.Name()).Hint = "it has no default"
		}
	}
}

// idle notes keys that have no effect beside the others, more than two in one note.
func (r *reader) idle() {
	var keys, reasons []string
	for _, f := range r.fields() {
		if f.with == "" {
			continue
		}
		if v := f.encoded(r.cfg); v == f.Default || v == "[]" {
			continue
		}
		if on := r.condition(f.with); !on.holds(r.cfg) && r.good(f.Name(), on.field.Name()) {
			keys, reasons = append(keys, f.Name()), append(reasons, on.failed())
		}
	}
	if len(keys) <= 2 {
		for i, key := range keys {
			r.note(reasons[i], key)
		}
		return
	}
	at := r.where(keys[0])
	r.cfg.notes = append(r.cfg.notes, Problem{Source: at.source, Line: at.line, Message: fmt.Sprintf(
		"%d keys have no effect: %s %s, %s %s, and also %s", len(keys), keys[0], reasons[0], keys[1], reasons[1], english.WordSeries(keys[2:], "and"))})
}

// ordered refuses lists whose values do not ascend.
func (r *reader) ordered() {
	for _, f := range r.fields() {
		values, ok := f.value(r.cfg).Interface().([]float64)
		if !ok || f.order == "" || !r.good(f.Name()) {
			continue
		}
		for i := 1; i < len(values); i++ {
			if a, b := values[i-1], values[i]; a > b || a == b && f.order == "ascending" {
				r.clash(fmt.Sprintf("%g follows %g, must ascend", b, a), f.Name())
				break
			}
		}
	}
}

// mute wants a time for each offset.
func (r *reader) mute() {
	const offsets, times = "data.mute_offsets", "data.mute_times"
	if n, m := len(r.cfg.Data.MuteOffsets), len(r.cfg.Data.MuteTimes); n != m && r.good(offsets, times) {
		r.clash(fmt.Sprintf("%s beside %d in data.mute_times, want a time for each offset", readable.Count(n, "value"), m), offsets, times)
	}
}

// taper gives a limit of angles its full form: [], or taper start and cut.
func (r *reader) taper(key string) {
	value := r.field(key).value(r.cfg).Addr().Interface().(*[]float64)
	l := *value
	if !r.good(key) || len(l) == 0 {
		return
	}
	if len(l) == 1 {
		l = []float64{0.8 * l[0], l[0]}
		*value = l
	}
	switch {
	case l[0] > l[1]:
		r.clash(fmt.Sprintf("taper start %g lies above the cut %g degrees, want 0 <= start <= cut <= 180", l[0], l[1]), key)
	case l[1] == 0:
		r.clash("the cut is 0 degrees, which leaves nothing, want more; [] means no limit", key)
	}
}

// UnitsHint says how to settle velocities that do not look like m/s.
const UnitsHint = `velocity.units = "km/s" or "ft/s" converts, "m/s" takes them as they stand`

// units turns constant velocities into m/s, unless velocity.units is needed for a file too.
func (r *reader) units() {
	v := &r.cfg.Velocity
	if !r.good("velocity.constant", "velocity.receiver_constant", "velocity.file", "velocity.receiver_file", "velocity.units") {
		return
	}
	source, receiver := v.Constants()
	for _, c := range []struct {
		key  string
		si   float64
		file Path
	}{{"velocity.constant", source, v.File}, {"velocity.receiver_constant", receiver, v.ReceiverFile}} {
		if c.si == 0 || c.file.IsSet() {
			continue
		}
		if err := velocity.Possible(c.si); err != nil {
			r.clash(err.Error(), c.key)
		} else if err := velocity.Plausible(c.si, c.si); err != nil && v.Units == "auto" {
			r.clash(err.Error(), c.key).Hint = UnitsHint
		}
	}
	if v.Constant > 0 && !v.File.IsSet() && !v.ReceiverFile.IsSet() && v.Units != "auto" {
		v.Constant, v.ReceiverConstant, v.Units = source, receiver, "m/s"
	}
}

// image wants all of the grid or nothing.
func (r *reader) image() {
	const origin, spacing, shape = "image.origin", "image.spacing", "image.shape"
	if !r.good(origin, spacing, shape) {
		return
	}
	im := r.cfg.Image
	var empty, full []string
	for _, k := range []string{origin, spacing, shape} {
		if r.condition(k).holds(r.cfg) {
			full = append(full, k)
		} else {
			empty = append(empty, k)
		}
	}
	switch n := len(im.Shape); {
	case len(full) == 0: // that of the velocity model
	case len(empty) > 0:
		r.clash(fmt.Sprintf("missing beside %s, want all three of image.origin, image.spacing and image.shape or none",
			english.WordSeries(full, "and")), append(empty, full...)...)
	case len(im.Origin) != n || len(im.Spacing) != n:
		r.clash(fmt.Sprintf("%s beside %d in image.origin and %d in image.spacing, want as many in each: 2 (x, z) or 3 (x, y, z)",
			readable.Count(n, "value"), len(im.Origin), len(im.Spacing)), shape)
	default:
		if err := im.Grid().Validate(); err != nil {
			r.clash(strings.TrimPrefix(err.Error(), "grid: "), shape)
		}
	}
}

// gathers checks the classes of image.gathers.
func (r *reader) gathers() {
	const kind, bins, least = "image.gathers", "image.gather_bins", 2
	im := r.cfg.Image
	if im.Gathers == "none" || !r.good(kind, bins) {
		return
	}
	n := len(im.GatherBins)
	if n < least {
		r.clash(fmt.Sprintf("%s, image.gathers = %s needs at least %d", readable.Count(n, "value"), Quote(im.Gathers), least), bins, kind)
	}
	if im.Gathers == "angle" && r.good("image.gather_angle") && n > 0 && im.GatherBins[n-1] > im.LargestAngle() {
		r.clash(fmt.Sprintf("%g degrees, %s angles reach %g", im.GatherBins[n-1], im.GatherAngle, im.LargestAngle()), bins, "image.gather_angle")
	}
}

// taps wants filters with a centre.
func (r *reader) taps() {
	const key = "solver.matching_filter"
	s := r.cfg.Solver
	if s.Method == "matching" && r.good(key) && slices.ContainsFunc(s.Filter, func(n int) bool { return n%2 == 0 }) {
		r.clash(fmt.Sprintf("%s has an even length, want odd ones", encode(s.Filter)), key)
	}
}

// stream refuses to stream if another key needs all traces at once.
func (r *reader) stream() {
	if key := r.cfg.Unstreamed(); key != "" && r.cfg.Data.Read == "stream" && r.good("data.read", key) {
		r.clash(fmt.Sprintf("\"stream\" does not go with %s = %s, which needs all traces in memory", key, r.cfg.Value(key)), "data.read", key)
	}
}

// outputs refuses to write over what is read.
func (r *reader) outputs() {
	before := append([]File{{"the configuration file", Path{Text: r.path, File: r.path}}}, r.cfg.Reads()...)
	for _, out := range r.cfg.Writes() {
		for _, f := range before {
			if r.good(out.Key, f.Key) && f.Path.same(out.Path) {
				r.clash(fmt.Sprintf("%s is %s as well, want another file", Quote(out.Path.Text), f.Key), out.Key, f.Key)
			}
		}
		before = append(before, out)
	}
}
