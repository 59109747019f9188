package recorded

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/condition"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// arrivals computes the first arrivals of a survey's traces: along straight rays in a constant
// velocity, otherwise by the eikonal equation.
func (p *processing) arrivals(ctx context.Context, a *cli.App, s *survey.Survey) condition.Arrivals {
	return func(model string) (times []float64, named string, err error) {
		if model == "" {
			model = p.velocity
		}
		if model == "" {
			return nil, "", errors.New("first arrivals need a velocity: give --velocity FILE, or M/S, or name it in the step")
		}
		if v, err := strconv.ParseFloat(model, 64); err == nil {
			times, err := straight(s, v)
			return times, strconv.FormatFloat(v, 'g', -1, 64), err
		}
		file, want, _ := strings.Cut(model, condition.DigestMark)
		if file, err = filepath.Abs(file); err != nil {
			return nil, "", err
		}
		in, err := provenance.Hash("velocity", file)
		if err != nil {
			return nil, "", err
		}
		if want != "" && want != in.SHA256 {
			return nil, "", fmt.Errorf("%s is no longer the velocity model of the step: its SHA-256 is %s, was %s", file, in.SHA256, want)
		}
		times, err = eikonal(ctx, a, s, file)
		return times, file + condition.DigestMark + in.SHA256, err
	}
}

// straight are the times along straight rays.
func straight(s *survey.Survey, v float64) ([]float64, error) {
	if !(v > 0) || math.IsInf(v, 0) {
		return nil, fmt.Errorf("the velocity is %g m/s, must be above 0 and finite", v)
	}
	times := make([]float64, s.NumTraces())
	for i := range times {
		from, to := s.Pair(i)
		square := 0.0
		for a, x := range s.Source(from) {
			square += math.Pow(s.Receiver(to)[a]-x, 2)
		}
		times[i] = math.Sqrt(square) / v
	}
	return times, nil
}

// eikonal are the times in a model, solved from the sources or the receivers, whichever are fewer.
func eikonal(ctx context.Context, a *cli.App, s *survey.Survey, file string) ([]float64, error) {
	g, v, err := pipeline.ReadVelocity(file, "auto")
	if err != nil {
		return nil, err
	}
	if g.Domain != grid.Depth || g.Dim() != s.Dim {
		return nil, fmt.Errorf("%s: the model is %d-D in %s, want %d-D in depth", file, g.Dim(), g.Domain, s.Dim)
	}
	if more, err := pipeline.ReadAnisotropy(file); err != nil {
		return nil, err
	} else if len(pipeline.PropertiesBeside(more)) > 0 {
		a.Report.Warn(fmt.Sprintf("%s: first arrivals use only its velocity, not its anisotropy", file))
	}
	places := s.Distinct(true)
	for i := range places.Len() {
		if x := places.At(i); !g.Contains(x) {
			return nil, fmt.Errorf("%s at %s lies outside the velocity model %s, %s", places.Role[i], g.Place(x), file, pipeline.ExtentText(g))
		}
	}
	from, to := places.Source, places.Receiver
	traces := byPlace(from)
	if other := byPlace(to); len(other) < len(traces) {
		from, to, traces = to, from, other
	}
	medium := traveltime.Medium{Grid: g, Least: slices.Min(v), Greatest: slices.Max(v), Slab: [2]int{0, g.Shape[0]}, Values: v}
	method, err := traveltime.New("eikonal", traveltime.Spec{Image: g, Medium: medium})
	if err != nil {
		return nil, err
	}
	var solved []int
	for place := range traces {
		solved = append(solved, place)
	}
	slices.Sort(solved)
	stage := a.Report.Stage("arrivals")
	defer stage.End()
	stage.Total(len(solved), "solves")
	times := make([]float64, s.NumTraces())
	err = method.Solve(ctx, places, solved, traveltime.Options{Progress: func() { stage.Add(1) }}, func(place int, f traveltime.Field) error {
		for _, trace := range traces[place] {
			times[trace] = g.At(places.At(int(to[trace])), func(n int) float64 { return f.Branches[0].Time[n] })
		}
		return nil
	})
	return times, err
}

// byPlace lists the traces of each place.
func byPlace(of []int32) map[int][]int {
	list := map[int][]int{}
	for trace, place := range of {
		list[int(place)] = append(list[int(place)], trace)
	}
	return list
}
