package fielddata

import (
	"context"
	"fmt"
	"io"
	"math"
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
	traces := int64(s.NumTraces())
	if err := t.room(path, int64(s.NT)*min(traces, max(1, pieceSamples/int64(s.NT))), traces); err != nil {
		return nil, err
	}
	order := shotOrder(s)
	stage := report.Stage("export")
	defer stage.End()
	stage.Total(len(order), "traces")
	err = publish(path, func(w io.Writer) error {
		out, err := segy.NewWriter(w, t.spec)
		if err != nil {
			return err
		}
		x := &shots{s: s, t: t, src: src, rec: rec, place: place, height: height, previous: -1}
		return x.write(ctx, out, in, order, stage)
	})
	t.out.Traces = len(order)
	return t.out, err
}

// onMap turns places into the numbers of the headers. Receivers have no depth
// there, so theirs is a low elevation.
func onMap(s *survey.Survey, xyz []float64, opt ExportOptions, depths bool) (p mapped) {
	for i := 0; i < len(xyz); i += s.Dim {
		e, n, z := xyz[i], xyz[i+1], xyz[i+s.Dim-1]
		if s.Dim == 2 {
			e, n = opt.Line.At(xyz[i])
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

// shots writes the traces of a survey.
type shots struct {
	s             *survey.Survey
	t             *target
	src, rec      mapped
	place, height scalar
	previous      int // source of the trace before
	channel       int
}

func (x *shots) write(ctx context.Context, out *segy.Writer, in *h5.SurveyReader, order []int32, stage *progress.Stage) error {
	nt := x.s.NT
	most := max(1, pieceSamples/nt)
	buf := make([]float32, min(most, len(order))*nt)
	for first := 0; first < len(order); first += most {
		if err := ctx.Err(); err != nil {
			return err
		}
		list := order[first:min(first+most, len(order))]
		if err := in.ReadTraceList(buf[:len(list)*nt], list); err != nil {
			return err
		}
		for k, trace := range list {
			h := x.t.header(out, first+k)
			x.header(h, int(trace))
			if err := out.Write(h, buf[k*nt:(k+1)*nt]); err != nil {
				return err
			}
		}
		stage.Add(len(list))
	}
	return nil
}

// header fills the header of one trace.
func (x *shots) header(h *segy.Header, trace int) {
	s, r := x.s.Pair(trace)
	if s != x.previous {
		x.previous, x.channel = s, 0
	}
	x.channel++
	offset := x.s.Receiver(r)[0] - x.s.Source(s)[0]
	if x.s.Dim == 3 {
		offset = math.Hypot(offset, x.s.Receiver(r)[1]-x.s.Source(s)[1])
	}
	for f, v := range map[segy.Field]int64{
		segy.FieldRecord: int64(s + 1), segy.Channel: int64(x.channel), segy.SourcePoint: int64(s + 1),
		segy.Offset:          int64(math.Round(offset)),
		segy.ElevationScalar: x.height.header, segy.CoordinateScalar: x.place.header,
		segy.SourceX: x.place.store(x.src.east[s]), segy.SourceY: x.place.store(x.src.north[s]),
		segy.ReceiverX: x.place.store(x.rec.east[r]), segy.ReceiverY: x.place.store(x.rec.north[r]),
		segy.SourceElevation: x.height.store(x.src.elevation[s]), segy.SourceDepth: x.height.store(x.src.depth[s]),
		segy.ReceiverElevation: x.height.store(x.rec.elevation[r]),
	} {
		h.Set(f, v)
	}
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
		text = append(text, fmt.Sprintf("THE LINE RUNS AT AZIMUTH %.6f DEGREES, X = 0 AT %.3f, %.3f", opt.Line.Azimuth, opt.Line.Origin[0], opt.Line.Origin[1]))
	}
	return text
}
