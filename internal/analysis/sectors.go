package analysis

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/internal/moveout"
)

// readClasses sets what reads the gathers by offset, and those by offset and azimuth where the image has them. A gather by offset is
// then the sum over the sectors of azimuth. With illumination, by which classes are divided, it is their mean with that as weights.
func (c *Scan) readClasses(ctx context.Context) {
	r, g := c.reader, &c.Gathers
	g.Panel = func(column int) ([]float32, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return r.Panel(column)
	}
	if r.Light {
		g.Light = r.LightPanel
	}
	n := r.Sectors()
	for i := 0; i < len(r.Centers); i += n {
		g.Offsets = append(g.Offsets, r.Centers[i])
	}
	c.limits = limits(r.Gathers, g.Offsets)
	if n == 1 {
		return
	}
	nz, by := r.Grid().Shape[r.Grid().Dim()-1], moveout.Sectors{Azimuths: r.Azimuths[:n], Panel: g.Panel, Light: g.Light}
	c.sectors = by
	g.Panel = func(column int) ([]float32, error) {
		values, err := by.Panel(column)
		if err != nil || by.Light == nil {
			return addSectors(values, nil, n, nz), err
		}
		light, err := by.Light(column)
		if err != nil {
			return nil, err
		}
		return addSectors(values, light, n, nz), nil
	}
	if r.Light {
		g.Light = func(column int) ([]float32, error) {
			light, err := by.Light(column)
			return addSectors(light, nil, n, nz), err
		}
	}
}

// addSectors is the sum over n sectors of values, [offsets, n, nz], or with weights their mean; 0 where all weights are.
func addSectors(values, weights []float32, n, nz int) []float32 {
	out := make([]float32, len(values)/n)
	for i := range out {
		first, sum := i/nz*n*nz+i%nz, float32(0)
		for k := first; k < first+n*nz; k += nz {
			if weights == nil {
				out[i] += values[k]
				continue
			}
			out[i] += weights[k] * values[k]
			sum += weights[k]
		}
		if sum > 0 {
			out[i] /= sum
		}
	}
	return out
}
