package fielddata

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/statics"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Root attributes of a survey file that say where on the map a 2-D line lies, for
// the way back.
const (
	AttrAzimuth = "line_azimuth" // degrees from north towards east
	AttrOrigin  = "line_origin"  // east and north of x = 0, m
	AttrDatum   = "datum"        // elevation of z = 0, m
	AttrStatics = "statics"      // "applied" or "not applied", where the headers have static corrections
)

// Survey is the survey without its traces.
func (im *Import) Survey(w survey.Wavelet) *survey.Survey {
	s := &survey.Survey{Dim: im.Dim, Sources: im.Places[source], Receivers: im.Places[receiver], Frame: im.opt.Frame,
		NT: im.NT, DT: im.DT, T0: im.T0, Wavelet: w}
	nr := s.NumReceivers()
	s.Fixed = im.QC.Kept == s.NumSources()*nr
	for t := range im.kept {
		k := len(s.SourceIndex)
		s.Fixed = s.Fixed && int(t.row[source]) == k/nr && int(t.row[receiver]) == k%nr
		s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, t.row[source]), append(s.ReceiverIndex, t.row[receiver])
	}
	if s.Fixed {
		s.SourceIndex, s.ReceiverIndex = nil, nil
	}
	s.SourceDepth = im.ofSources(s.NumSources(), survey.DeepestSource, func(t *record) float32 { return t.depth })
	s.UpholeTime = im.ofSources(s.NumSources(), survey.LongestUphole, func(t *record) float32 { return t.uphole })
	return s
}

// ofSources returns a header value of each source, from its first trace. It is nil if no value is above 0, or
// if any is below 0 or above most.
func (im *Import) ofSources(n int, most float64, get func(t *record) float32) []float64 {
	values, known, wrong := make([]float64, n), false, false
	for t := range im.kept {
		v := float64(get(t))
		known, wrong = known || v > 0, wrong || !(v >= 0 && v <= most)
		if row := t.row[source]; values[row] == 0 {
			values[row] = v
		}
	}
	if !known || wrong {
		return nil
	}
	return values
}

// Frame is the frame of a 3-D survey, nil for that of the map.
func (im *Import) Frame() *grid.Frame { return im.opt.Frame }

// Attrs are the root attributes that the geometry adds.
func (im *Import) Attrs() []h5.Attr {
	attrs := []h5.Attr{{Name: AttrDatum, Value: im.opt.Datum}}
	if im.QC.Unmoved+im.QC.Moved > 0 {
		text := "not applied"
		if im.opt.ApplyStatics {
			text = "applied"
		}
		attrs = append(attrs, h5.Attr{Name: AttrStatics, Value: text})
	}
	if im.Dim == 2 {
		attrs = append(attrs, h5.Attr{Name: AttrAzimuth, Value: im.Line.Azimuth},
			h5.Attr{Name: AttrOrigin, Value: []float64{im.Line.Origin[0], im.Line.Origin[1]}})
	}
	return attrs
}

// pieceSamples is how many samples are written at a time: 16 MiB.
const pieceSamples = 4 << 20

// Write reads the files for the second time and writes the survey.
func (im *Import) Write(ctx context.Context, path string, w survey.Wavelet, opt h5.WriteOptions, report *progress.Reporter) error {
	opt.Attrs = append(im.Attrs(), opt.Attrs...)
	if err := im.Room(path); err != nil {
		return err
	}
	out, err := h5.CreateSurvey(path, im.Survey(w), opt)
	if err != nil {
		return err
	}
	defer out.Abort()
	stage := report.Stage("write")
	defer stage.End()
	stage.Total(im.QC.Kept, "traces")
	held, first := make([]float32, 0, im.NT*min(im.QC.Kept, max(1, pieceSamples/im.NT))), 0
	flush := func() error {
		n := len(held) / im.NT
		err := out.WriteTraces(held, first)
		first, held = first+n, held[:0]
		stage.Add(n)
		return err
	}
	for _, in := range im.Files {
		err := in.reread(ctx, math.MaxInt32, func(_ *record, copyTo func(window []float32)) error {
			n := len(held)
			held = held[:n+im.NT]
			copyTo(held[n:])
			if len(held) == cap(held) {
				return flush()
			}
			return nil
		})
		if err != nil {
			return inputError(err)
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return out.Commit()
}

// reread reads the traces of a file again, up to the one of a number, and calls put for each
// one in the survey. copyTo puts its samples into the survey's window of time.
func (in *input) reread(ctx context.Context, last int32, put func(t *record, copyTo func(window []float32)) error) error {
	r := in.File.Reader()
	r.Stop = ctx.Err
	var m statics.Mover
	for i := range in.records {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec := &in.records[i]
		if rec.number > last {
			break
		}
		t, err := r.Next(!rec.out)
		if err == io.EOF || err == nil && int32(t.NS) != rec.ns {
			return status.Input(fmt.Errorf("%s: trace %d is not what it was a moment ago: the file has changed", in.File.Path, rec.number+1))
		}
		if err == nil && !rec.out {
			err = put(rec, func(window []float32) {
				statics.Place(window, m.Move(t.Samples, rec.fraction), int(rec.shift))
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// WriteLeft lists the traces that are not in the survey as CSV.
func (im *Import) WriteLeft(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"file", "trace", "byte", "field_record", "channel", "cdp", "reason"})
	for _, l := range im.Left {
		out.Write([]string{l.File, fmt.Sprint(l.Trace), fmt.Sprint(l.Byte),
			fmt.Sprint(l.Label[0]), fmt.Sprint(l.Label[1]), fmt.Sprint(l.Label[2]), l.Reason})
	}
	out.Flush()
	return out.Error()
}

// shotTraces bounds the traces of FirstShot, shotSamples their samples.
const (
	shotTraces  = 1000
	shotSamples = 64 << 20
)

// shotTraces is how many traces FirstShot takes at most.
func (im *Import) shotTraces() int { return max(1, min(shotTraces, shotSamples/im.NT)) }

// ShotRoom reports whether the memory holds what FirstShot returns, and a picture of
// it.
func (im *Import) ShotRoom() error {
	return counts.Fit(fmt.Sprintf("a picture of traces of %d samples", im.NT), 12*float64(im.NT)*float64(im.shotTraces()))
}

// FirstShot is the traces of the survey's first source, at most 1000, or fewer
// long ones, sorted by their offsets in m, for a picture: [n, NT].
func (im *Import) FirstShot() (data []float32, offsets []float64, err error) {
	var in *input // of the file with the first trace of the survey, whose source is the first
	n, last := 0, int32(0)
	for t := range im.kept {
		if in == nil {
			in = t.in
		}
		if t.row[source] == 0 && t.in == in && n < im.shotTraces() {
			n, last = n+1, t.number
		}
	}
	type trace struct {
		offset  float64
		samples []float32
	}
	var shot []trace
	err = in.reread(context.Background(), last, func(t *record, copyTo func(window []float32)) error {
		if t.row[source] == 0 {
			shot = append(shot, trace{im.offset(t), make([]float32, im.NT)})
			copyTo(shot[len(shot)-1].samples)
		}
		return nil
	})
	if err != nil {
		return nil, nil, inputError(err)
	}
	slices.SortStableFunc(shot, func(a, b trace) int { return cmp.Compare(a.offset, b.offset) })
	for _, t := range shot {
		data, offsets = append(data, t.samples...), append(offsets, t.offset)
	}
	return data, offsets, nil
}

// remaining is the part of the static corrections of source and receiver that is still to be
// applied. The rest is applied already (section 7.1, bytes 99 to 104). A correction is added to the
// recorded times. If the headers have only the applied one, nothing remains.
func remaining(source, receiver, applied float64) float64 {
	if source == 0 && receiver == 0 {
		return 0
	}
	return source + receiver - applied
}
