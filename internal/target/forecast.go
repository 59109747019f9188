package target

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/dist/dense"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/engines"
)

// Forecast says what a target takes, and how many bytes a rank holds at most. It refuses an
// engine that makes no Hessian, and a target for which this rank has no memory.
func Forecast(j *job.Job, o Options) (text string, bytes int64, err error) {
	if engines.Missing(j.Plan.Engine, engines.Hessian) != 0 {
		return "", 0, status.Hint(status.Usage(fmt.Errorf("lsm target: kirchhoff.engine = %q does not offer %v", j.Plan.Engine, engines.Hessian)),
			"--set kirchhoff.engine=ENGINE takes another: "+strings.Join(engines.Offering(engines.Hessian), ", "))
	}
	box := o.Window.Grow(o.Frame, j.Image)
	n := int64(box.Len())
	m := j.Memory()
	rows, columns := dense.Shape(j.World.Size())
	cuts := dense.Cut(int(n), dense.Tile)
	matrix := dense.Bytes(device.F64, cuts, cuts, rows, columns)
	tables := n * 8 * int64(j.Places.Len())
	if j.Config.Kirchhoff.Dynamic || len(j.Config.Kirchhoff.DipLimit) > 0 || len(j.Config.Kirchhoff.OpeningLimit) > 0 {
		tables *= 2 * int64(j.Image.Dim()) // times, amplitudes, angles or directions
	}
	batches := 4 * n * batch * 8 // columns to solve for, and those of H⁻¹ on rank 0
	weights := int64(0)
	if j.Mute.On() {
		weights = 4 * int64(j.Shots.Traces()) * int64(j.Survey.NT)
	}
	total := m.Total() + matrix + tables + batches + weights
	text = fmt.Sprintf("target: %s, with its frame %s: H has %d² elements, %s; a rank holds %s (%s of H, %s of times at its points, %s of the operator)",
		o.Window.Text(), box.Text(), n, readable.Bytes(8*n*n), readable.Bytes(total), readable.Bytes(matrix), readable.Bytes(tables), readable.Bytes(m.Total()))
	if total > m.Limit {
		return text, total, status.Hint(status.Resource(fmt.Errorf("memory: %s; the limit is %s", text, readable.Bytes(m.Limit))),
			"use a smaller --window or --frame, or more ranks, or raise machine.memory_gib")
	}
	return text, total, nil
}

// estimate says how long the parts of the work take, from one tile of H and one product of
// tiles on this rank.
func (t *Target) estimate(ctx context.Context, of points, g *dense.Grid) (string, error) {
	r := min(dense.Tile, len(of.at))
	tile := make([]float64, r*r)
	began := time.Now()
	if err := t.add(ctx, tile, [2]int{0, r}, [2]int{0, r}); err != nil {
		return "", err
	}
	h := time.Since(began).Seconds() / float64(r*r) * float64(share(of.cuts, g))
	speed, err := multiplySpeed(g)
	if err != nil {
		return "", err
	}
	n, ranks := float64(len(of.at)), float64(g.World.Size())
	factor := n * n * n / 3 / speed / ranks
	solve := 2 * n * n * float64(len(t.window)) / speed / ranks
	text := func(seconds float64) string { return readable.Duration(seconds) }
	if t.asked.Conjugate {
		return fmt.Sprintf("target: H takes about %s", text(h)), nil
	}
	return fmt.Sprintf("target: H takes about %s, and by %s its factor %s, the resolution %s",
		text(h), g.Library.Name(), text(factor), text(solve)), nil
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
