package target

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist/dense"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Forecast says what a target takes, and how many bytes a rank holds at most. It refuses a target
// for which this rank has no memory.
func Forecast(j *pipeline.Job, o Options) (text string, bytes int64, err error) {
	box := o.Window.Grow(o.Frame, j.Geometry().Image)
	n, weights := int64(box.Len()), int64(0)
	tables := 8 * n * int64(j.Geometry().Places.Len())
	if j.Mutes() {
		weights = 4 * int64(j.Geometry().Shots.Traces()) * int64(j.Geometry().Survey.NT)
	}
	if j.Config().Kirchhoff.Dynamic || len(j.Config().Kirchhoff.DipLimit) > 0 || len(j.Config().Kirchhoff.OpeningLimit) > 0 {
		tables *= 2 * int64(j.Geometry().Image.Dim()) // times, amplitudes, angles or directions
	}
	m := j.Memory()
	across, down := dense.Shape(j.Ranks.World.Size())
	cuts := dense.Cut(int(n), dense.Tile)
	matrix := dense.Bytes(device.F64, cuts, cuts, across, down)
	batches := 4 * n * batch * 8 // columns to solve for, and those of H⁻¹ on rank 0
	total := m.Total() + matrix + tables + batches + weights
	text = fmt.Sprintf("target: %s, with its frame %s: H has %d² elements, %s; a rank holds %s (%s of H, %s of times at its points, %s of the operator)",
		o.Window.Text(), box.Text(), n, readable.Bytes(8*n*n), readable.Bytes(total), readable.Bytes(matrix), readable.Bytes(tables), readable.Bytes(m.Total()))
	if total > m.Limit {
		err = status.Hint(status.Resource(fmt.Errorf("memory: %s; the limit is %s", text, readable.Bytes(m.Limit))),
			"use a smaller --window or --frame, or more ranks, or raise machine.memory_gib")
	}
	return text, total, err
}
