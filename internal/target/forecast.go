package target

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/dist/dense"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/engines"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/gpu"
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
	if j.Card == nil {
		return text, total, nil
	}
	card := m.Card + gpu.HessianBytes(blocks(box.target().Cuts(j.Image)))
	text += fmt.Sprintf("; on the GPU %s of %s that are free", readable.Bytes(card), readable.Bytes(m.CardLimit))
	if card > m.CardLimit {
		err = status.Hint(status.Resource(fmt.Errorf("memory of the GPU: %s", text)), "use more GPUs, or --set kirchhoff.engine=cpu")
	}
	return text, total, err
}

// blocks are the cuts of a Hessian, and the most rows of a block of it.
func blocks(cuts []int) ([]int, int) {
	most, tiles := 0, tiled(cuts)
	for i := range tiles.Tiles() {
		most = max(most, tiles[i+1]-tiles[i])
	}
	return cuts, most
}

// estimate says how long the parts of the work take, from one tile of H and one product of
// tiles on this rank.
func (t *Target) estimate(ctx context.Context, of points, g *dense.Grid) (string, error) {
	h, err := t.fillTime(ctx, len(of.at), share(of.cuts, g))
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
	text := func(seconds float64) string { return readable.Duration(seconds) }
	if t.asked.Conjugate {
		return fmt.Sprintf("target: H takes about %s", text(h)), nil
	}
	return fmt.Sprintf("target: H takes about %s, and by %s its factor %s, the resolution %s",
		text(h), g.Library.Name(), text(factor), text(solve)), nil
}

// fillTime is how long so many elements of H take, of n rows, in seconds.
func (t *Target) fillTime(ctx context.Context, n, elements int) (float64, error) {
	r := min(dense.Tile, n)
	tile := make([]float64, r*r)
	timed := func() (float64, error) {
		began := time.Now()
		err := t.add(ctx, tile, [2]int{0, r}, [2]int{0, r})
		return time.Since(began).Seconds(), err
	}
	first, err := timed()
	if err != nil || t.Card == nil {
		return first / float64(r*r) * float64(elements), err
	}
	again, err := timed() // with what the card keeps of each row
	return first/float64(r)*float64(n) + again/float64(r*r)*float64(elements), err
}

// multiplySpeed is that of products of tiles, in operations a second.
func multiplySpeed(g *dense.Grid) (float64, error) {
	const n, times = dense.Tile, 8
	var products []blas.Product
	for range times {
		var p blas.Product
		for _, to := range []*blas.Tile{&p.A, &p.B, &p.C} {
			buf, err := g.Device.Alloc(n*n, device.F64)
			if err != nil {
				return 0, err
			}
			defer g.Device.Free(buf)
			for i, v := 0, device.Slice[float64](buf); i < len(v); i++ {
				v[i] = 1 // products with zeros are faster
			}
			*to = blas.Tile{Rows: n, Columns: n, Buf: buf}
		}
		products = append(products, p)
	}
	began := time.Now()
	err := g.Library.Multiply(1, products)
	return 2 * n * n * n * times / time.Since(began).Seconds(), err
}
