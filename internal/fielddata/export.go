package fielddata

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"strconv"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// ExportOptions steer an export.
type ExportOptions struct {
	Kind   segy.Kind   // SEGY or SU
	Order  segy.Order  // "" for big-endian SEG-Y and little-endian SU
	Format segy.Format // 0 for IEEE floats of 4 bytes
	Line   Line        // where on the map a 2-D line lies
	Frame  *grid.Frame // of a 3-D image or model that has none itself
	Datum  float64     // elevation of z = 0, m
	Text   []string    // first lines of the textual header
}

// NoLine returns the line of a 2-D survey without a known line: east is x and north is 0.
func NoLine() Line { return Line{Azimuth: 90, How: "as recorded"} }

// Exported says what became of an export.
type Exported struct {
	Dim      int // 2 or 3
	Traces   int
	Revision int
	Lost     []string // what the format could not hold exactly, with its size
}

func (e *Exported) lose(what string, worst float64, unit string) {
	if worst > 0 {
		e.Lost = append(e.Lost, fmt.Sprintf("%s are rounded by %.3g %s at most", what, worst, unit))
	}
}

// publish writes a file whole or not at all.
func publish(path string, fill func(w io.Writer) error) error {
	fail := func(err error) error { return status.Resource(fmt.Errorf("%s: %w", path, err)) }
	tmp, drop, err := plainfile.Pending(path)
	if err != nil {
		return fail(err)
	}
	defer drop()
	buf := bufio.NewWriterSize(tmp, 1<<20)
	if err := fill(buf); err != nil {
		return err
	}
	if err := buf.Flush(); err != nil {
		return fail(err)
	}
	if err := tmp.CloseAtomicallyReplace(); err != nil {
		return fail(err)
	}
	return nil
}

// scalar is how a header holds numbers with a scalar beside them: v is stored as
// round(v × per × times), to be multiplied by the scalar where that is positive
// and divided by its amount where it is negative.
type scalar struct {
	header int64
	times  float64
	per    float64 // units of the header in one of v
	worst  float64 // greatest error of a v
}

// store is the number for the header.
func (s scalar) store(v float64) int64 { return int64(math.Round(v * s.per * s.times)) }

// load returns the value that a reader makes of n.
func (s scalar) load(n int64) float64 { return segy.Scaled(float64(n), int(s.header)) / s.per }

// chooseScalar takes the first scalar of the standard, from 1 to -10000, that holds
// all numbers exactly in an integer up to most, otherwise the finest for which they fit. Numbers
// that do not fit with any are an error.
func chooseScalar(name string, per, most float64, lists ...[]float64) (best scalar, err error) {
	for _, header := range []int64{1, -10, -100, -1000, -10000, 10, 100, 1000, 10000} {
		s := scalar{header: header, times: math.Abs(float64(header)), per: per}
		if header > 1 {
			s.times = 1 / s.times
		}
		if header > 1 && best.header != 0 {
			break // a finer one fits
		}
		if !s.try(most, lists) {
			continue
		}
		if best = s; s.worst == 0 {
			break
		}
	}
	if best.header == 0 {
		err = status.Input(fmt.Errorf("%s reach beyond what the trace header holds, %g", name, 1e4*most/per))
	}
	return best, err
}

// roundoff is the relative difference below which two numbers are the same except for the rounding
// of their computation in float64.
const roundoff = 1e-12

// try measures the error of a scalar, and reports whether the numbers fit.
func (s *scalar) try(most float64, lists [][]float64) bool {
	for _, list := range lists {
		for _, v := range list {
			n := math.Round(v * s.per * s.times)
			if !(math.Abs(n) <= most) {
				return false
			}
			if off := math.Abs(s.load(int64(n)) - v); off > roundoff*math.Abs(v) {
				s.worst = math.Max(s.worst, off)
			}
		}
	}
	return true
}

// interval makes the sample interval of a header, in millionths, and the revision
// that can hold it: a number that is not whole, or does not fit into two bytes,
// takes revision 2.
func interval(dt float64, kind segy.Kind) (stored float64, major int, err error) {
	v := dt * 1e6
	if whole := math.Round(v); math.Abs(v-whole) <= 1e-9*v && whole >= 1 && whole <= math.MaxUint16 {
		return whole, 1, nil
	}
	if kind == segy.SU {
		return 0, 0, status.Input(fmt.Errorf("the sampling interval is %g µs, or mm in depth; SU headers hold whole numbers from 1 to %d", v, math.MaxUint16))
	}
	return v, 2, nil
}

// target is a file that is being written and the header values that all its traces share.
type target struct {
	opt  ExportOptions
	spec segy.Spec
	time scalar // of the delay
	t0   float64
	mark int64 // of SU
	out  *Exported
}

// newTarget settles the sampling: dt is stored in millionths of its unit, t0 in
// thousandths.
func newTarget(opt ExportOptions, dim, samples int, dt, t0 float64) (*target, error) {
	stored, major, err := interval(dt, opt.Kind)
	if err != nil {
		return nil, err
	}
	if samples > math.MaxUint16 && opt.Kind != segy.SU {
		major = 2
	}
	t := &target{opt: opt, t0: t0, out: &Exported{Dim: dim, Revision: major}}
	t.spec = segy.Spec{Kind: opt.Kind, Order: opt.Order, Major: major, Format: opt.Format, Samples: samples, Interval: stored}
	if t.time, err = chooseScalar("delays of the first sample", 1000, math.MaxInt16, []float64{t0}); err != nil {
		return nil, err
	}
	return t, nil
}

// room checks that memory and disk suffice for the samples held at a time and for the
// traces of the file.
func (t *target) room(path string, held, traces int64) error {
	trace := int64(t.spec.Samples) * int64(cmp.Or(t.spec.Format.Bytes(), segy.IEEE32.Bytes()))
	if err := counts.Fit(fmt.Sprintf("%s: writing traces of %d samples", path, t.spec.Samples), float64(4*held+2*trace)); err != nil {
		return err
	}
	return enoughDisk(path, float64(traces)*float64(trace+240))
}

// putTrace writes a trace with the header values that traces do not share.
type putTrace func(samples []float32, fields map[segy.Field]int64) error

// write publishes the file. fill calls put for each trace, in order; held is how many
// traces it holds at a time.
func (t *target) write(ctx context.Context, path string, held, traces int, report *progress.Reporter, fill func(put putTrace) error) (*Exported, error) {
	if err := t.room(path, int64(held)*int64(t.spec.Samples), int64(traces)); err != nil {
		return nil, err
	}
	stage := report.Stage("export")
	defer stage.End()
	stage.Total(traces, "traces")
	err := publish(path, func(w io.Writer) error {
		out, err := segy.NewWriter(w, t.spec)
		if err != nil {
			return err
		}
		return fill(func(samples []float32, fields map[segy.Field]int64) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			t.out.Traces++
			stage.Add(1)
			maps.Copy(fields, map[segy.Field]int64{
				segy.SequenceLine: int64(t.out.Traces), segy.SequenceFile: int64(t.out.Traces), segy.TraceID: 1,
				segy.CoordinateUnits: 1, segy.Delay: t.time.store(t.t0),
			})
			if t.opt.Kind != segy.SU { // where SU keeps something else
				fields[segy.TimeScalar] = t.time.header
			} else if t.mark != 0 {
				fields[segy.SUMark] = t.mark
			}
			return out.Write(fields, samples)
		})
	})
	return t.out, err
}

// frameText are the lines of the textual header about a frame.
func frameText(f *grid.Frame) []string {
	if f == nil {
		return nil
	}
	side := "LEFT"
	if f.Left {
		side = "RIGHT"
	}
	return []string{
		fmt.Sprintf("FRAME: X AT AZIMUTH %v DEGREES FROM NORTH, Y TO ITS %s", f.Azimuth, side),
		fmt.Sprintf("FRAME: X = Y = 0 AT %s, %s M", strconv.FormatFloat(f.Origin[0], 'f', -1, 64), strconv.FormatFloat(f.Origin[1], 'f', -1, 64)),
	}
}

// lineText is the line of the textual header about a 2-D line.
func (l Line) lineText() string {
	return fmt.Sprintf("THE LINE RUNS AT AZIMUTH %.6f DEGREES, X = 0 AT %.3f, %.3f", l.Azimuth, l.Origin[0], l.Origin[1])
}

// Validate checks the given position of the line.
func (o *ExportOptions) Validate() error {
	for _, v := range []float64{o.Line.Azimuth, o.Line.Origin[0], o.Line.Origin[1], o.Datum} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("the line's azimuth or origin is %g, must be finite", v)
		}
	}
	return nil
}

// Place takes line and datum from the attributes that an import left in a survey file. If
// the file has none, the options stay as they are. With keepLine it takes only the datum.
func (o *ExportOptions) Place(survey string, keepLine bool) error {
	f, err := h5.Open(survey)
	if err != nil {
		return err
	}
	defer f.Close()
	a := f.Attrs()
	take := func(name string, to ...*float64) {
		if err != nil || !a.Has(name) {
			return
		}
		var v []float64
		v, err = a.Floats(name, len(to))
		for i := range v {
			*to[i] = v[i]
		}
	}
	take(AttrDatum, &o.Datum)
	if !keepLine {
		take(AttrAzimuth, &o.Line.Azimuth)
		take(AttrOrigin, &o.Line.Origin[0], &o.Line.Origin[1])
	}
	if err != nil {
		return err
	}
	if o.Frame, err = h5.ReadFrame(survey); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return status.Input(fmt.Errorf("%s: %w", survey, err))
	}
	return nil
}

// WayBack returns the flags with which an import of the file gives the same x and z.
func (o *ExportOptions) WayBack(dim int) string {
	flags := " --keep-dead --keep-duplicates --keep-positive"
	switch {
	case dim == 3:
		flags += " --3d"
		if o.Frame != nil {
			flags += " --frame " + o.Frame.Flag()
		}
	case o.Line != NoLine():
		flags += fmt.Sprintf(" --azimuth %g --line-origin %.12g,%.12g", o.Line.Azimuth, o.Line.Origin[0], o.Line.Origin[1])
	}
	if o.Datum != 0 {
		flags += fmt.Sprintf(" --datum %g", o.Datum)
	}
	return flags
}
