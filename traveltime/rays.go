package traveltime

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Kept says which arrivals of a point a method that knows several gives.
type Kept struct {
	// Count is how many at most, the strongest ones: those of the largest spreading b. 0 stands
	// for the first arrival alone.
	Count int
}

// turned lists the branches of fields with so many arrivals: of the first arrival, which passes no
// caustic, one; else for each arrival one of waves that have not turned, and then as many of those
// that have. A point has at most Count arrivals in all of them.
func (k Kept) turned() []bool {
	if k.Count == 0 {
		return []bool{false}
	}
	list := make([]bool, 2*k.Count)
	for i := range k.Count {
		list[k.Count+i] = true
	}
	return list
}

// RayOptions say how rays are traced.
type RayOptions struct {
	Kept Kept
	// Fill gives the first arrival of the eikonal equation to points that no ray reaches.
	Fill bool
	// Smoothing is the standard deviation, in m, of the Gaussian with which the slowness is
	// smoothed for rays.
	Smoothing float64
	// Period is that, in s, of the waves whose amplitude at caustics bounds that of rays.
	Period float64
	// Latest is when rays end, in s. Points that they reach later have no arrival.
	Latest float64
}

// RayTracer is the method of rays in a smooth velocity model, isotropic. Unlike the eikonal equation they also find
// arrivals that come later than the first, see doc.go.
type RayTracer struct {
	scratch  // of sloth and slowness
	g, model grid.Grid
	opt      RayOptions
	slab     [2]int    // the range [lo, hi) of indices along model's first axis that is held
	sloth    []float64 // coefficients of cubic B-splines of the squared slowness on the slab and rayPad nodes around it
	slowness []float64 // s/m, [points of the image], where the slab lies
	halo     int       // nodes beyond those between which rays run on which their velocity depends
	fill     *Eikonal  // where no ray arrives; nil: nothing
}

// rayPad is the number of nodes by which coefficients go on beyond a model, with the values of its edge.
// Rays run up to rayBeyond nodes beyond, so that cells reach the edge.
const rayPad, rayBeyond = 8, 9

// newRaysIn returns the method for the slab of a model that m holds. It has the same bits as for the whole
// model.
func newRaysIn(m Medium, image grid.Grid, opt RayOptions) (Method, error) {
	switch {
	case m.Anisotropic:
		return nil, status.Hint(status.Usage(errors.New("traveltime: rays are traced in isotropic models, this one is anisotropic")),
			`velocity.anisotropy = "none" ignores what is anisotropic, traveltime.method = "eikonal" takes it`)
	case image.Dim() != 2:
		return nil, status.Usage(fmt.Errorf("traveltime: rays are traced in 2-D, the image has %d axes", image.Dim()))
	}
	e, err := newEikonalIn(m, image)
	if err != nil {
		return nil, err
	}
	r := &RayTracer{g: image, model: m.Grid, opt: opt, slab: m.Slab}
	if opt.Fill {
		r.fill = e
	}
	cut := [2]int{}
	for a, h := range m.Grid.Spacing {
		cut[a] = int(math.Ceil(gaussianEnd * opt.Smoothing / h))
	}
	r.halo = cut[0] + rayBeyond + int(math.Ceil(rayStep)) + 4 // the last step, and what splines are made of
	if nz := m.Grid.Shape[1]; len(m.Values) > 0 {
		s := make([]float64, len(m.Values))
		for i, v := range m.Values {
			s[i] = 1 / v
		}
		nx := len(s) / nz
		smooth2(s, nx, nz, opt.Smoothing/m.Grid.Spacing[0], opt.Smoothing/m.Grid.Spacing[1], cut)
		r.sloth = take[float64](&r.scratch, (nx+2*rayPad)*(nz+2*rayPad))
		r.slowness = take[float64](&r.scratch, image.Len())
		if r.err != nil {
			r.free()
			return nil, r.err
		}
		runtime.SetFinalizer(r, func(r *RayTracer) { r.free() })
		splines2(r.sloth, s, nx, nz)
		r.findSlowness()
	}
	return r, nil
}

// gaussianEnd is where the Gaussian is cut off, in standard deviations.
const gaussianEnd = 3.5
