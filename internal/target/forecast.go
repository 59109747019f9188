package target

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/dist/dense"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Forecast says what a target takes, and how many bytes a rank holds at most. It refuses a target
// for which this rank has no memory.
func Forecast(j *job.Job, o Options) (text string, bytes int64, err error) {
	box := o.Window.Grow(o.Frame, j.Image)
	n, tables, weights := int64(0), int64(0), int64(0)
	for _, s := range job.Surveys(j) {
		n += int64(box.Len())
		tables += 8 * int64(box.Len()) * int64(s.Places.Len())
		if s.Mute.On() {
			weights += 4 * int64(s.Shots.Traces()) * int64(s.Survey.NT)
		}
	}
	if j.Config.Kirchhoff.Dynamic || len(j.Config.Kirchhoff.DipLimit) > 0 || len(j.Config.Kirchhoff.OpeningLimit) > 0 {
		tables *= 2 * int64(j.Image.Dim()) // times, amplitudes, angles or directions
	}
	m := j.Memory()
	matrix, batches := matrixBytes(j, int(n))
	total := m.Total() + matrix + tables + batches + weights
	text = fmt.Sprintf("target: %s, with its frame %s: H has %d² elements, %s; a rank holds %s (%s of H, %s of times at its points, %s of the operator)",
		o.Window.Text(), box.Text(), n, readable.Bytes(8*n*n), readable.Bytes(total), readable.Bytes(matrix), readable.Bytes(tables), readable.Bytes(m.Total()))
	return text, total, enough(text, total, m.Limit)
}

// matrixBytes are what a rank holds at most of an H of n rows, and of columns to solve for and
// those of H⁻¹ on rank 0.
func matrixBytes(j *job.Job, n int) (matrix, columns int64) {
	across, down := dense.Shape(j.World.Size())
	cuts := dense.Cut(n, dense.Tile)
	return dense.Bytes(device.F64, cuts, cuts, across, down), 4 * int64(n) * batch * 8
}

// enough refuses a target for which there is no memory.
func enough(text string, total, limit int64) error {
	if total <= limit {
		return nil
	}
	return status.Hint(status.Resource(fmt.Errorf("memory: %s; the limit is %s", text, readable.Bytes(limit))),
		"use a smaller --window or --frame, or more ranks, or raise machine.memory_gib")
}

// estimate says how long the parts of the work take, from one tile of H and one product of
// tiles on this rank.
func (t *Target) estimate(ctx context.Context, of points, g *dense.Grid) (string, error) {
	h, err := t.fillTime(ctx, share(of.cuts, g)/len(t.hess)) // none between two surveys
	if err != nil {
		return "", err
	}
	speed, err := multiplySpeed(g)
	if err != nil {
		return "", err
	}
	n, ranks := float64(len(of.at)), float64(g.World.Size())
	factor := n * n * n / 3 / speed / ranks
	solve := 2 * n * n * float64(len(t.window)) / speed / ranks
	if t.Monitor != nil {
		solve *= 4 // B is not diagonal, and the difference takes two more
	}
	text := func(seconds float64) string { return readable.Duration(seconds) }
	if t.asked.Conjugate {
		return fmt.Sprintf("target: H takes about %s", text(h)), nil
	}
	return fmt.Sprintf("target: H takes about %s, and by %s its factor %s, the resolution %s",
		text(h), g.Library.Name(), text(factor), text(solve)), nil
}

// fillTime is how long so many elements of H take, in seconds.
func (t *Target) fillTime(ctx context.Context, elements int) (float64, error) {
	r := min(dense.Tile, t.box.Len())
	began := time.Now()
	err := t.add(ctx, make([]float64, r*r), [2]int{0, r}, [2]int{0, r})
	return time.Since(began).Seconds() / float64(r*r) * float64(elements), err
}

// multiplySpeed is that of products of tiles, in operations a second.
func multiplySpeed(g *dense.Grid) (float64, error) {
	const n, times = dense.Tile, 8
	var products []blas.Product
	ones := slices.Repeat([]float64{1}, n*n)
	for range times {
		var p blas.Product
		for _, to := range []*blas.Tile{&p.A, &p.B, &p.C} {
			buf, err := g.Device.Alloc(n*n, device.F64)
			if err != nil {
				return 0, err
			}
			defer g.Device.Free(buf)
			if err := device.Upload(buf, ones); err != nil { // products with zeros are faster
				return 0, err
			}
			*to = blas.Tile{Rows: n, Columns: n, Buf: buf}
		}
		products = append(products, p)
	}
	began := time.Now()
	err := g.Library.Multiply(1, products)
	if err == nil {
		err = g.Device.Sync()
	}
	return 2 * n * n * n * times / time.Since(began).Seconds(), err
}
