package main

import (
	"path/filepath"

	"github.com/kirchhoff-lsm/lsm/internal/fielddata"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// importPictures draws fold, offsets, places and the first shot.
func (a *app) importPictures(im *fielddata.Import, folder string) error {
	q := im.QC
	for _, p := range []struct {
		name string
		draw func() (*picture.Figure, error)
	}{
		{reportFold, func() (*picture.Figure, error) {
			if im.Dim == 3 {
				m := q.FoldMap
				return picture.CountMap(m.From, m.Step, m.Shape, m.Count, [2]string{"x (m)", "y (m)"}, picture.Options{Title: "fold", Bar: "traces"})
			}
			return picture.Histogram(q.Fold.From, q.Fold.Step, q.Fold.Count, "midpoint x (m)", "traces", picture.Options{Title: "fold"})
		}},
		{reportOffsets, func() (*picture.Figure, error) {
			return picture.Histogram(q.Offsets.From, q.Offsets.Step, q.Offsets.Count, "offset (m)", "traces", picture.Options{Title: "offsets"})
		}},
		{reportPlaces, func() (*picture.Figure, error) {
			return picture.Plan(im.Map[0], im.Map[1], picture.Options{Title: "sources and receivers on the map"})
		}},
		{reportShot, func() (*picture.Figure, error) {
			data, offsets, err := im.FirstShot()
			if err != nil {
				return nil, err
			}
			return picture.Gather(data, picture.Times{NT: im.NT, DT: im.DT, T0: im.T0}, offsets, picture.Options{Title: "first source", Clip: 95})
		}},
	} {
		figure, err := p.draw()
		if err != nil {
			return err
		}
		if err := picture.WriteFile(filepath.Join(folder, p.name), figure, a.force); err != nil {
			return err
		}
	}
	a.report.Printf("report: %s\n", folder)
	a.finish("report", folder)
	return nil
}
