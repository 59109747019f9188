package picture

import (
	"fmt"
	"math"
	"slices"
)

// Times says how the samples of a trace lie in time.
type Times struct {
	NT     int     // samples per trace
	DT, T0 float64 // s
}

// Gather draws traces side by side, time downward. data is [ntrace, NT] in C
// order. With offset (m, one a trace) the horizontal axis is the offset when
// the traces lie at equal steps, else the trace number with the range of
// offsets in a note; nil means trace numbers from 0. NaN is an error.
func Gather[T Float](data []T, ts Times, offset []float64, opt Options) (*Figure, error) {
	if ts.NT < 1 || len(data) == 0 || len(data)%ts.NT != 0 {
		return nil, fmt.Errorf("picture: gather: %d samples are no whole number of traces of %d", len(data), ts.NT)
	}
	if !(ts.DT > 0) {
		return nil, fmt.Errorf("picture: gather: dt is %g s, must be positive", ts.DT)
	}
	n := len(data) / ts.NT
	if offset != nil && len(offset) != n {
		return nil, fmt.Errorf("picture: gather: %d offsets for %d traces", len(offset), n)
	}
	if opt.Clip == 0 {
		opt.Clip = defaultClip
	}
	if opt.Clip < 0 || opt.Clip > 100 || math.IsNaN(opt.Clip) {
		return nil, fmt.Errorf("picture: clip percentile is %g, must be in (0, 100]", opt.Clip)
	}
	vals, err := finite(data, func(i int) string { return fmt.Sprintf("trace %d, sample %d", i/ts.NT, i%ts.NT) })
	if err != nil {
		return nil, err
	}
	r := &raster{array: array{v: vals, n0: n, n1: ts.NT, smooth: true}, win: opt.window(vals), colors: opt.Colors.table()}

	x := axis{from: -0.5, to: float64(n) - 0.5, label: "trace number", whole: true}
	y := axis{from: ts.T0 - ts.DT/2, to: ts.T0 + (float64(ts.NT)-0.5)*ts.DT, label: "time (s)"}
	note := ""
	if step, ok := even(offset); ok {
		x = axis{from: offset[0] - step/2, to: offset[n-1] + step/2, label: "offset (m)"}
		if step < 0 {
			r.v = mirrored(vals, ts.NT)
			x.from, x.to = x.to, x.from
		}
	} else if offset != nil {
		note = fmt.Sprintf("offsets %s to %s m", coordinate(slices.Min(offset)), coordinate(slices.Max(offset)))
	}
	p := newPanel(4.2, 4.6, x, y, opt.Title, r.win.note, note)
	p.raster = r
	return single(p, opt.Bar), nil
}

// even reports the step of equally spaced offsets, with a slack of a
// hundredth of a step for the rounding of field coordinates.
func even(offset []float64) (step float64, ok bool) {
	n := len(offset)
	if n < 2 {
		return 0, false
	}
	step = (offset[n-1] - offset[0]) / float64(n-1)
	for i, o := range offset {
		if !(math.Abs(o-offset[0]-float64(i)*step) <= 0.01*math.Abs(step)) {
			return 0, false
		}
	}
	return step, step != 0
}

// mirrored returns the traces in reverse order.
func mirrored(v []float32, nt int) []float32 {
	out := make([]float32, 0, len(v))
	for i := len(v) - nt; i >= 0; i -= nt {
		out = append(out, v[i:i+nt]...)
	}
	return out
}
