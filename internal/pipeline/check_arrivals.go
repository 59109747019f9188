package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// weakArrival is the spreading, over that of a homogeneous medium at the same distance, below
// which a first arrival counts as weak: 10 dB. In smooth models rays spread by less. Head waves
// and waves that come round obstacles spread by more, and a later arrival is then stronger.
const weakArrival = 0.3

// comparedPlaces is how many places FindWeak and FindLate solve for. The eikonal solver takes the
// memory of a batch even for one.
const comparedPlaces = 8

// weakShare is the share of weak arrivals from which on FindWeak warns.
const weakShare = 0.05

// Arrivals says where the first arrivals of some places are weak.
type Arrivals struct {
	Weak  []float64 // [image points], the share of the places from which it is, of those that are seen in the records
	Share float64   // of all these pairs
}

// FindWeak solves for some places of the survey, as they spread over it, and says where their first
// arrivals are weak. The plan must have the whole model at hand. Arrivals are nil, and the
// finding says why, where rays are not known, or where the limit on memory leaves no room.
func (f *Forecast) FindWeak(ctx context.Context, report *progress.Reporter) (*Arrivals, Finding, error) {
	p, m := f.plan, f.Memory
	found := Finding{Topic: "arrivals", Level: "ok"}
	all, opt := p.Geometry.TimesNeeded(p.Hardware.Threads)
	places := pickEvenly(all, comparedPlaces)
	opt.Threads, opt.Spreading, opt.Takeoff = 1, traveltime.RaySpreading, false
	switch {
	case !traveltime.Spreads(p.Times.Method) || p.Times.Tables != nil:
		found.Text = fmt.Sprintf("traveltimes (%s) of this model do not tell how rays spread", p.Times.Method.Name())
	case len(all) == 0:
		found.Text = "no trace counts at any image point: nothing is solved"
	}
	if found.Text != "" {
		return nil, found, nil
	}
	need := p.Times.Method.ScratchBytes(p.Geometry.Places, places, opt) + 12*int64(p.Geometry.Image.Len())
	if room := m.Limit - modelBytes(p.Times, p.Inputs.Models) - m.Lists - m.Program; !p.Times.Source.IsConstant() && need > room {
		found.Level, found.Text = "warning", fmt.Sprintf("not looked at: solving takes %s, the limit leaves %s",
			humanize.IBytes(uint64(need)), humanize.IBytes(uint64(max(0, room))))
		return nil, found, nil
	}
	times := *p.Times
	if traveltime.Traced(times.Method) { // what it says is of first arrivals
		var err error
		if times.Method, err = traveltime.New("eikonal", traveltime.Spec{Image: p.Geometry.Image, Medium: times.Source}); err != nil {
			return nil, found, err
		}
	}
	a, err := findWeak(ctx, p.Geometry, &times, report, places, opt)
	if err != nil {
		return nil, found, err
	}
	found.Text = fmt.Sprintf("%d of %s: first arrivals are weak at %s of the image points, below %g of the amplitude that their distance gives",
		len(places), readable.Count(len(all), "place"), readable.Percent(a.Share), weakArrival)
	if a.Share > weakShare {
		top, bottom := a.depths(p.Geometry.Image)
		found.Level = "warning"
		found.Text += fmt.Sprintf(`, most of them at depths of %s to %s m: head waves, or waves round an obstacle, come before stronger ones there; `+
			`kirchhoff.spreading = "ray" weights them down, kirchhoff.takeoff_limit leaves them out, a smoother model has fewer`,
			readable.Length(top), readable.Length(bottom))
	}
	return a, found, nil
}

// findWeak solves for places, one after the other.
func findWeak(ctx context.Context, g *Geometry, t *Times, report *progress.Reporter, places []int, opt traveltime.Options) (*Arrivals, error) {
	stage := report.Stage("traveltimes")
	defer stage.End()
	stage.Total(len(places), "solves")
	opt.Progress = func() { stage.Add(1) }
	a, seen := &Arrivals{Weak: make([]float64, g.Image.Len())}, make([]int32, g.Image.Len())
	homogeneous, nz := opt.Spreading.Homogeneous(g.Image), g.Image.Shape[g.Image.Dim()-1]
	weak, count := 0.0, 0
	x := make([]float64, g.Image.Dim())
	err := t.Method.Solve(ctx, g.Places, places, opt, func(place int, f traveltime.Field) error {
		i, first := 0, f.Branches[0]
		for column := range f.Window.Columns(g.Image) {
			for point := column; point < column+nz; point++ {
				if first.Time[i] <= g.RecordEnd() {
					g.Image.Point(x, point)
					squares := 0.0
					for axis, at := range g.Places.At(place) {
						squares += (x[axis] - at) * (x[axis] - at)
					}
					if first.Spreading[i] < weakArrival*homogeneous(math.Sqrt(squares)) {
						a.Weak[point]++
						weak++
					}
					seen[point]++
					count++
				}
				i++
			}
		}
		return nil
	})
	for i, n := range seen {
		a.Weak[i] /= float64(max(1, n))
	}
	a.Share = weak / float64(max(1, count))
	return a, err
}

// depths is the range of depths that holds eight tenths of the weak arrivals.
func (a *Arrivals) depths(image grid.Grid) (top, bottom float64) {
	last := image.Dim() - 1
	nz := image.Shape[last]
	sums, total := make([]float64, nz), 0.0
	for i, w := range a.Weak {
		sums[i%nz] += w
		total += w
	}
	for k := 1; k < nz; k++ {
		sums[k] += sums[k-1]
	}
	at := func(share float64) float64 {
		k, _ := slices.BinarySearch(sums, share*total)
		return image.Coord(last, min(k, nz-1))
	}
	return at(0.1), at(0.9)
}

// modelBytes returns the bytes of the whole velocity models.
func modelBytes(t *Times, models [2]ModelFile) (bytes int64) {
	for _, role := range []survey.Role{survey.AtSource, survey.AtReceiver} {
		if m := t.Leg(role); !m.IsConstant() && (role == survey.AtSource || t.Converted) {
			read, solver := modelPoint(t, models, role)
			bytes += (read + solver) * int64(m.Grid.Len())
		}
	}
	return bytes
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

// Late says what of the waves of some places comes after the first arrivals.
type Late struct {
	First  float64 // share of the energy that first arrivals hold, of all that rays bring
	Later  float64 // share of the points at which a later arrival is the strongest
	Behind float64 // s, by which those come after the first, mean
	Unlit  float64 // share of the points that no ray reaches before the records end
}

// leastFirst is the share of the energy in first arrivals below which FindLate warns.
const leastFirst = 0.9

// comparedArrivals is how many arrivals of a point FindLate looks at.
const comparedArrivals = 5

// FindLate traces rays from some places of the survey, as they spread over it, and says how much of the energy
// comes after the first arrivals. The plan must have the whole model at hand. It is nil, and the finding says
// why, where rays are not traced.
func (f *Forecast) FindLate(ctx context.Context) (*Late, Finding, error) {
	p := f.plan
	found := Finding{Topic: "later arrivals", Level: "ok"}
	t := p.Times
	if t.Source.IsConstant() || t.Source.Anisotropic || t.Converted || t.Tables != nil || p.Geometry.Image.Domain != grid.Depth {
		found.Text = "not looked for: rays are traced in isotropic models in depth, for waves of one kind"
		return nil, found, nil
	}
	rays := rayOptions(p.Config.Traveltime, p.Geometry, p.Inputs)
	rays.Kept.Count, rays.Fill = comparedArrivals, false
	m, err := traveltime.New("rays", traveltime.Spec{Image: p.Geometry.Image, Medium: t.Source, Rays: rays})
	if err != nil {
		return nil, found, err
	}
	all, opt := p.Geometry.TimesNeeded(p.Hardware.Threads)
	places := pickEvenly(all, comparedPlaces)
	opt.Threads, opt.Gradient, opt.Takeoff, opt.Spreading = 1, false, false, traveltime.RaySpreading
	l, err := findLate(ctx, m, p.Geometry, places, opt)
	if err != nil {
		return nil, found, err
	}
	found.Text = fmt.Sprintf("rays of %d of %s, slowness smoothed over %s m: first arrivals hold %s of the energy; later ones are stronger at %s of the points that rays reach, %.3g ms behind in the mean; no ray reaches %s of the points before the records end",
		len(places), readable.Count(len(all), "place"), readable.Length(rays.Smoothing), readable.Percent(l.First), readable.Percent(l.Later), 1e3*l.Behind, readable.Percent(l.Unlit))
	if l.First < leastFirst && !traveltime.Traced(t.Method) {
		found.Level = "warning"
		found.Text += fmt.Sprintf(`; below %s: traveltime.method = "rays" images them too`, readable.Percent(leastFirst))
	}
	return l, found, nil
}

// findLate compares the arrivals that rays from places bring.
func findLate(ctx context.Context, m traveltime.Method, g *Geometry, places []int, opt traveltime.Options) (*Late, error) {
	var first, energy, behind float64
	points, lit, later := 0, 0, 0
	err := m.Solve(ctx, g.Places, places, opt, func(_ int, field traveltime.Field) error {
		points += len(field.Branches[0].Time)
		for i := range field.Branches[0].Time {
			earliest, strongest := -1, -1
			for k, b := range field.Branches {
				if b.Spreading[i] == 0 {
					continue
				}
				energy += b.Spreading[i] * b.Spreading[i]
				if earliest < 0 || b.Time[i] < field.Branches[earliest].Time[i] {
					earliest = k
				}
				if strongest < 0 || math.Abs(b.Spreading[i]) > math.Abs(field.Branches[strongest].Spreading[i]) {
					strongest = k
				}
			}
			if earliest < 0 {
				continue
			}
			lit++
			b := field.Branches[earliest]
			first += b.Spreading[i] * b.Spreading[i]
			if earliest != strongest {
				later++
				behind += field.Branches[strongest].Time[i] - b.Time[i]
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	share := func(n, of int) float64 { return float64(n) / float64(max(1, of)) }
	return &Late{First: first / max(energy, math.SmallestNonzeroFloat64), Later: share(later, lit), Behind: behind / float64(max(1, later)), Unlit: 1 - share(lit, points)}, nil
}
