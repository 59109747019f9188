package job

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// WriteTimes computes the traveltimes from every source and receiver row and
// writes them as a table file; with gradient, ∇T as well.
func (j *Job) WriteTimes(ctx context.Context, path string, gradient bool, src Source) error {
	s := j.Survey
	w, err := h5.CreateTables(path, h5.TablesLayout{
		Grid:       j.Image,
		NumSources: s.NumSources(), NumReceivers: s.NumReceivers(),
		Gradient: gradient,
		Float64:  true,
	}, h5.WriteOptions{Force: src.Force, Attrs: j.Attrs(src, "")})
	if err != nil {
		return err
	}
	defer w.Abort()

	places, rows := everyRow(s, !j.Config.Traveltime.Given())
	all := make([]int, places.Len())
	for i := range all {
		all[i] = i
	}
	stage := j.Report.Stage("traveltimes")
	defer stage.End()
	stage.Total(len(all), "places")
	opt := traveltime.Options{
		Gradient: gradient, Threads: j.Config.Machine.Threads,
		Progress: func(done, total int) { stage.Add(1) },
	}
	err = j.Times.Solve(ctx, places, all, opt, func(place int, f traveltime.Field) error {
		var grad []float64
		for _, g := range f.Gradient {
			grad = append(grad, g...)
		}
		for _, at := range rows[place] {
			if err := w.WriteRow(at.role, h5.Time, at.row, f.Time); err != nil {
				return err
			}
			if gradient {
				if err := w.WriteRow(at.role, h5.Gradient, at.row, grad); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return operator.BlameInput(err)
	}
	return w.Commit()
}

type row struct {
	role survey.Role
	row  int
}

// everyRow lists the distinct places of all source and receiver rows, used by a
// trace or not, and for each place the rows that lie there.
func everyRow(s *survey.Survey, share bool) (*survey.Positions, [][]row) {
	all := &survey.Survey{Dim: s.Dim, Sources: s.Sources, Receivers: s.Receivers}
	n := max(s.NumSources(), s.NumReceivers())
	for i := range n {
		all.SourceIndex = append(all.SourceIndex, int32(min(i, s.NumSources()-1)))
		all.ReceiverIndex = append(all.ReceiverIndex, int32(min(i, s.NumReceivers()-1)))
	}
	p := all.Distinct(share)
	rows := make([][]row, p.Len())
	for i := range s.NumSources() {
		rows[p.Source[i]] = append(rows[p.Source[i]], row{survey.AtSource, i})
	}
	for i := range s.NumReceivers() {
		rows[p.Receiver[i]] = append(rows[p.Receiver[i]], row{survey.AtReceiver, i})
	}
	return p, rows
}
