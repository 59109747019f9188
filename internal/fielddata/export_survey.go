package fielddata

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/segy"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// mapped is where the header puts the places of one role.
type mapped struct {
	east, north      []float64
	elevation, depth []float64 // z = datum - elevation + depth
}

// ExportSurvey writes a survey file as shot gathers, streaming: all traces of one
// source behind each other, in the order of the survey where it is that already.
// The wavelet has no place in the format.
func ExportSurvey(ctx context.Context, path string, in *h5.SurveyReader, opt ExportOptions, report *progress.Reporter) (*Exported, error) {
	s := in.Survey()
	t, err := newTarget(opt, s.Dim, s.NT, s.DT, s.T0)
	if err != nil {
		return nil, err
	}
	src, rec := onMap(s, s.Sources, opt, true), onMap(s, s.Receivers, opt, false)
	place, err := chooseScalar("coordinates", 1, math.MaxInt32, src.east, src.north, rec.east, rec.north)
	if err != nil {
		return nil, err
	}
	height, err := chooseScalar("elevations", 1, math.MaxInt32, src.elevation, src.depth, rec.elevation)
	if err != nil {
		return nil, err
	}
	t.out.lose("coordinates", place.worst, "m")
	t.out.lose("depths and elevations", height.worst, "m")
	t.out.lose("times of the first sample", 1000*t.time.worst, "ms")
	if t.opt.Kind == segy.SU && t.time.header != 1 && s.T0 != 0 {
		return nil, status.Input(fmt.Errorf("the first sample is at %g ms, SU headers hold whole numbers", 1e3*s.T0))
	}
	t.spec.Sorting = 5 // common source point
	t.spec.Text = append(opt.Text, surveyText(s, opt)...)
	order := shotOrder(s)
	most := min(len(order), max(1, pieceSamples/s.NT))
	var cuts []int
	for at := 0; at < len(order); at += most {
		cuts = append(cuts, at)
	}
	if _, err := in.Arrange(order, append(cuts, len(order)), filepath.Dir(path)); err != nil {
		return nil, err
	}
	return t.write(ctx, path, most, len(order), report, func(put putTrace) error {
		buf := make([]float32, most*s.NT)
		previous, channel := -1, 0 // the source of the trace before
		for list := range slices.Chunk(order, most) {
			if err := in.ReadTraceList(buf[:len(list)*s.NT], list); err != nil {
				return err
			}
			for k, trace := range list {
				from, to := s.Pair(int(trace))
				if from != previous {
					previous, channel = from, 0
				}
				channel++
				offset := s.Offset(int(trace)) // signed along the line in 2-D
				if s.Dim == 2 && s.Receiver(to)[0] < s.Source(from)[0] {
					offset = -offset
				}
				err := put(buf[k*s.NT:(k+1)*s.NT], map[segy.Field]int64{
					segy.FieldRecord: int64(from + 1), segy.Channel: int64(channel), segy.SourcePoint: int64(from + 1),
					segy.Offset:          int64(math.Round(offset)),
					segy.ElevationScalar: height.header, segy.CoordinateScalar: place.header,
					segy.SourceX: place.store(src.east[from]), segy.SourceY: place.store(src.north[from]),
					segy.ReceiverX: place.store(rec.east[to]), segy.ReceiverY: place.store(rec.north[to]),
					segy.SourceElevation: height.store(src.elevation[from]), segy.SourceDepth: height.store(src.depth[from]),
					segy.ReceiverElevation: height.store(rec.elevation[to]),
				})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// onMap turns places into the numbers of the headers. Receivers have no depth
// there, so theirs is a low elevation.
func onMap(s *survey.Survey, xyz []float64, opt ExportOptions, depths bool) (p mapped) {
	for i := 0; i < len(xyz); i += s.Dim {
		e, n, z := xyz[i], xyz[i+1], xyz[i+s.Dim-1]
		if s.Dim == 2 {
			e, n = opt.Line.At(xyz[i])
		} else {
			e, n = s.Frame.ToMap(e, n)
		}
		elevation, depth := opt.Datum-z, 0.0
		if depths && z > 0 {
			elevation, depth = opt.Datum, z
		}
		p.east, p.north = append(p.east, e), append(p.north, n)
		p.elevation, p.depth = append(p.elevation, elevation), append(p.depth, depth)
	}
	return p
}

// shotOrder lists all traces source by source, sources in the order of their first
// traces.
func shotOrder(s *survey.Survey) []int32 {
	order := make([]int32, s.NumTraces())
	rank := make([]int, s.NumSources())
	seen := 0
	for i := range order {
		order[i] = int32(i)
		if row, _ := s.Pair(i); rank[row] == 0 {
			seen++
			rank[row] = seen
		}
	}
	slices.SortStableFunc(order, func(i, j int32) int {
		a, _ := s.Pair(int(i))
		b, _ := s.Pair(int(j))
		return rank[a] - rank[b]
	})
	return order
}

func surveyText(s *survey.Survey, opt ExportOptions) []string {
	text := []string{
		fmt.Sprintf("SHOT GATHERS: %d SOURCES, %d RECEIVERS, %d TRACES", s.NumSources(), s.NumReceivers(), s.NumTraces()),
		fmt.Sprintf("%d SAMPLES FROM %g MS ON, INTERVAL %g MS", s.NT, 1e3*s.T0, 1e3*s.DT),
		"POSITIONS AT THE STANDARD'S BYTES 73 TO 88, IN M; ELEVATIONS AT 41 AND 45,",
		"SOURCE DEPTH AT 49, UPWARDS AND DOWNWARDS",
		fmt.Sprintf("Z = 0 IS AT ELEVATION %g M", opt.Datum),
		"THE SOURCE'S WAVELET IS NOT IN THIS FILE",
	}
	if s.Dim == 2 {
		return append(text, opt.Line.lineText())
	}
	return append(text, frameText(s.Frame)...)
}
