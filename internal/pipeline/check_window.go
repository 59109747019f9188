package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// comparedPlaces is how many places CompareWindows solves in the whole model. The eikonal
// solver takes the memory of a batch even for one.
const comparedPlaces = 8

// windowLimit is the largest difference of times that CompareWindows does not warn of, in
// samples of the traces.
const windowLimit = 0.25

// WindowCost says how traveltimes that are solved in windows of the model differ from those
// of the whole model. It counts the image points in the window of a place where its wave
// arrives before the records end.
type WindowCost struct {
	Largest, RMS float64 // s, of the differences
	Columns      float64 // share of the model's columns in which a place is solved, mean over all places
	Place, Point int     // where the difference is largest: the plan's place, and the point of its image
}

// CompareWindows solves the eikonal equation for some places of the survey in their windows
// and in the whole model, and says what the difference is. The first and the last place are
// among them. The plan must have the whole model at hand. The cost is nil, and the finding
// says why, where no windows are used, or where the limit on memory leaves no room for a
// solve of the whole model.
func (f *Forecast) CompareWindows(ctx context.Context, report *progress.Reporter) (*WindowCost, Finding, error) {
	p, m := f.plan, f.Memory
	found := Finding{Topic: "window", Level: "ok"}
	all, opt := p.Geometry.TimesNeeded(p.Hardware.Threads)
	switch {
	case p.Times.Solver(survey.AtSource) == nil && p.Times.Solver(survey.AtReceiver) == nil:
		found.Text = fmt.Sprintf("traveltimes of method %q need no solve: nothing is cut off", p.Times.Method.Name())
	case opt.Windows == nil:
		found.Text = "without kirchhoff.aperture the whole model is solved: nothing is cut off"
	case p.Hardware.Engine == "reference":
		found.Text = "engine reference solves the whole model: nothing is cut off"
	case len(all) == 0:
		found.Text = "no trace counts at any image point: nothing is solved"
	}
	if found.Text != "" {
		return nil, found, nil
	}
	places := pickEvenly(all, comparedPlaces)
	opt.Threads = 1 // one batch, and one field of the image at a time
	whole := opt
	whole.Margin = math.Inf(1)
	need := p.Times.Method.ScratchBytes(p.Geometry.Places, places, whole)
	for _, place := range places {
		need += 8 * int64(opt.Windows[place].Grid(p.Geometry.Image).Len())
	}
	if room := m.Limit - modelBytes(p.Times, p.Inputs.Models) - m.Lists - m.Program; need > room {
		found.Level, found.Text = "warning", fmt.Sprintf("not compared: a solve of the whole model takes %s, the limit leaves %s",
			humanize.IBytes(uint64(need)), humanize.IBytes(uint64(max(0, room))))
		return nil, found, nil
	}
	c, err := compareWindows(ctx, p.Geometry, p.Times, report, places, opt, whole)
	if err != nil {
		return nil, found, err
	}
	models := 0.0
	for _, place := range all {
		if e := p.Times.Solver(p.Geometry.Places.Role[place]); e != nil {
			c.Columns += float64(e.Region(p.Geometry.Places, place, opt).Grid(*e.Domain()).Len())
			models += float64(e.Domain().Len())
		}
	}
	c.Columns /= models
	found.Text = fmt.Sprintf("%d of %s, solved in windows and in the whole model: %s; a window holds %s of the model's columns on average",
		len(places), readable.Count(len(all), "place"), c.difference(p.Geometry), readable.Percent(c.Columns))
	if c.Largest > windowLimit*p.Geometry.Survey.DT {
		found.Level = "warning"
		found.Text += fmt.Sprintf("; more than %g samples: raise traveltime.margin (now %s m)", windowLimit, readable.Length(opt.Margin))
	}
	return c, found, nil
}

// modelBytes is what the whole velocity models take.
func modelBytes(t *Times, models [2]ModelFile) (bytes int64) {
	for _, role := range []survey.Role{survey.AtSource, survey.AtReceiver} {
		if m := t.Leg(role); !m.IsConstant() && (role == survey.AtSource || t.Converted) {
			read, solver := modelPoint(t, models, role)
			bytes += (read + solver) * int64(m.Grid.Len())
		}
	}
	return bytes
}

// difference says how large the difference is, and where it is largest.
func (c *WindowCost) difference(g *Geometry) string {
	if c.Largest == 0 {
		return "all times are the same"
	}
	at := make([]float64, g.Image.Dim())
	g.Image.Point(at, c.Point)
	return fmt.Sprintf("times differ by up to %.3g ms (%.3g samples), rms %.3g ms, most from %s %d at %s m to the image point %s m",
		1e3*c.Largest, c.Largest/g.Survey.DT, 1e3*c.RMS, g.Places.Role[c.Place], g.Places.Row[c.Place], PointText(g.Places.At(c.Place)), PointText(at))
}

// compareWindows compares the times of places under two options with the same windows and
// one thread.
func compareWindows(ctx context.Context, g *Geometry, t *Times, report *progress.Reporter, places []int, cut, whole traveltime.Options) (*WindowCost, error) {
	stage := report.Stage("traveltimes")
	defer stage.End()
	stage.Total(2*len(places), "solves")
	cut.Progress = func() { stage.Add(1) }
	whole.Progress = cut.Progress
	times := map[int][]float64{}
	err := t.Method.Solve(ctx, g.Places, places, cut, func(place int, f traveltime.Field) error {
		times[place] = slices.Clone(f.Branches[0].Time)
		return nil
	})
	if err != nil {
		return nil, err
	}
	c, n, nz := &WindowCost{Place: places[0]}, 0, g.Image.Shape[g.Image.Dim()-1]
	err = t.Method.Solve(ctx, g.Places, places, whole, func(place int, f traveltime.Field) error {
		i := 0
		for column := range f.Window.Columns(g.Image) {
			for point := column; point < column+nz; point++ {
				t := f.Branches[0].Time[i]
				if d := math.Abs(times[place][i] - t); t <= g.RecordEnd() {
					if d > c.Largest {
						c.Largest, c.Place, c.Point = d, place, point
					}
					c.RMS += d * d
					n++
				}
				i++
			}
		}
		return nil
	})
	c.RMS = math.Sqrt(c.RMS / float64(max(1, n)))
	return c, err
}

// pickEvenly is n elements of a list, or all: the first, the last, and others evenly between.
func pickEvenly(list []int, n int) []int {
	if len(list) <= n {
		return list
	}
	out := make([]int, n)
	for i := range out {
		out[i] = list[i*(len(list)-1)/(n-1)]
	}
	return out
}
