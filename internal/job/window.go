package job

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/internal/forecast"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// comparedPlaces is how many places CompareWindows solves in the whole model. A batch of the
// eikonal solver holds at least as many, so fewer would not take less memory.
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

	place, point int // where the difference is largest: in Places, on Image
}

// CompareWindows solves the eikonal equation for some places of the survey in their windows
// and in the whole model, and says what the difference is. The first and the last place are
// among them. The cost is nil, and the finding says why, where no windows are used, or where
// the memory of a run does not hold a solve of the whole model besides what m counts for
// model, lists and program. It is not collective.
func (j *Job) CompareWindows(ctx context.Context, m forecast.Memory) (*WindowCost, forecast.Finding, error) {
	found := forecast.Finding{Topic: "window", Level: "ok"}
	e, solves := j.Times.(*traveltime.Eikonal)
	all, opt := j.TimesNeeded()
	switch {
	case !solves:
		found.Text = fmt.Sprintf("traveltimes of method %q need no solve: nothing is cut off", j.Times.Name())
	case opt.Windows == nil:
		found.Text = "without kirchhoff.aperture the whole model is solved: nothing is cut off"
	case j.Plan.Engine == "reference":
		found.Text = "engine reference solves the whole model: nothing is cut off"
	case len(all) == 0:
		found.Text = "no trace counts at any image point: nothing is solved"
	}
	if found.Text != "" {
		return nil, found, nil
	}
	places := evenly(all, comparedPlaces)
	whole := opt
	whole.Margin = math.Inf(1)
	need := e.ScratchBytes(j.Places, places, whole)
	if room := m.Limit - m.Model - m.Lists - m.Program; need > room {
		found.Level, found.Text = "warning", fmt.Sprintf("not compared: a solve of the whole model takes %s, the limit leaves %s",
			humanize.IBytes(uint64(need)), humanize.IBytes(uint64(max(0, room))))
		return nil, found, nil
	}
	c, err := j.compareWindows(ctx, e, places, opt, whole)
	if err != nil {
		return nil, found, operator.BlameInput(err)
	}
	for _, place := range all {
		c.Columns += float64(e.Region(j.Places, place, opt).Grid(*e.Domain()).Len())
	}
	c.Columns /= float64(e.Domain().Len()) * float64(len(all))
	found.Text = fmt.Sprintf("%d of %s, solved in windows and in the whole model: %s; a window holds %s of the model's columns on average",
		len(places), readable.Count(len(all), "place"), j.difference(c), readable.Percent(c.Columns))
	if c.Largest > windowLimit*j.Survey.DT {
		found.Level = "warning"
		found.Text += fmt.Sprintf("; more than %g samples: raise traveltime.margin (now %s m)", windowLimit, readable.Length(opt.Margin))
	}
	return c, found, nil
}

// difference says how large the difference is, and where it is largest.
func (j *Job) difference(c *WindowCost) string {
	if c.Largest == 0 {
		return "all times are the same"
	}
	at := make([]float64, j.Image.Dim())
	j.Image.Point(at, c.point)
	return fmt.Sprintf("times differ by up to %.2g ms (%.2g samples), rms %.2g ms, most from %s %d at %s m to the image point %s m",
		1e3*c.Largest, c.Largest/j.Survey.DT, 1e3*c.RMS, j.Places.Role[c.place], j.Places.Row[c.place], inputs.Point(j.Places.At(c.place)), inputs.Point(at))
}

// compareWindows compares the times of places under two options with the same windows.
func (j *Job) compareWindows(ctx context.Context, m traveltime.Method, places []int, cut, whole traveltime.Options) (*WindowCost, error) {
	stage := j.Report.Stage("traveltimes")
	defer stage.End()
	stage.Total(2*len(places), "solves")
	// Sinks are called one at a time, so that a single field of the image is held.
	cut.Threads, whole.Threads = 1, 1
	cut.Progress = func() { stage.Add(1) }
	whole.Progress = cut.Progress
	times := map[int][]float64{}
	err := m.Solve(ctx, j.Places, places, cut, func(place int, f traveltime.Field) error {
		times[place] = slices.Clone(f.Time)
		return nil
	})
	if err != nil {
		return nil, err
	}
	c, n, nz := &WindowCost{place: places[0]}, 0, j.Image.Shape[j.Image.Dim()-1]
	err = m.Solve(ctx, j.Places, places, whole, func(place int, f traveltime.Field) error {
		i := 0
		for column := range f.Window.Columns(j.Image) {
			for point := column; point < column+nz; point++ {
				if d := math.Abs(times[place][i] - f.Time[i]); f.Time[i] <= j.RecordEnd() {
					if d > c.Largest {
						c.Largest, c.place, c.point = d, place, point
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

// evenly is n elements of a list, or all: the first, the last, and others evenly between.
func evenly(list []int, n int) []int {
	if len(list) <= n {
		return list
	}
	out := make([]int, n)
	for i := range out {
		out[i] = list[i*(len(list)-1)/(n-1)]
	}
	return out
}
