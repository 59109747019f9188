package inspect

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// panel is a gather with how strongly its classes are lit.
type panel struct {
	nz           int
	angles       []float64 // of reflection, of the classes within --angles
	image, light []float32 // [classes, nz]; light nil: not known
	gather       *imaging.Gather
}

// panel applies mean to the gathers and to their illumination, and keeps the classes that are used.
func (o *avaOptions) panel(r *h5.GatherReader, mean func(read func(column int) ([]float32, error)) ([]float32, error)) (*panel, error) {
	g := r.Grid()
	p := &panel{nz: g.Shape[g.Dim()-1]}
	image, err := mean(r.Panel)
	if err != nil {
		return nil, err
	}
	var light []float32
	if r.Light {
		if light, err = mean(r.LightPanel); err != nil {
			return nil, err
		}
	}
	for i, angle := range r.Centers {
		if r.Angle == "opening" {
			angle /= 2
		}
		if o.angles != nil && !(angle >= o.angles[0]-1e-9 && angle <= o.angles[1]+1e-9) {
			continue
		}
		p.angles, p.image = append(p.angles, angle), append(p.image, image[i*p.nz:(i+1)*p.nz]...)
		if light != nil {
			p.light = append(p.light, light[i*p.nz:(i+1)*p.nz]...)
		}
	}
	if n := len(p.angles); n <= o.terms {
		return nil, status.Usage(fmt.Errorf("ava: %s within --angles, want at least %d for a fit", readable.Count(n, "class"), o.terms+1))
	}
	if p.gather, err = imaging.NewGather(p.image, p.angles); err != nil {
		return nil, status.Input(err)
	}
	return p, nil
}

// gather is the mean of the columns near a place, as read returns them.
func (o *avaOptions) gather(r *h5.GatherReader, read func(column int) ([]float32, error)) ([]float32, error) {
	g := r.Grid()
	axes := g.Dim() - 1
	if n := len(o.at); n != 0 && n != axes {
		return nil, status.Usage(fmt.Errorf("ava: --at has %s, want %d", readable.Count(n, "value"), axes))
	}
	middle := make([]float64, axes)
	for a := range middle {
		middle[a] = g.Coord(a, g.Shape[a]/2)
		if o.at != nil {
			middle[a] = o.at[a]
		}
	}
	var mean []float32
	n, nz := 0, g.Shape[axes]
	point := make([]float64, g.Dim())
	for column := range g.Len() / nz {
		g.Point(point, column*nz)
		square := 0.0
		for a, x := range middle {
			square += math.Pow(max(0, math.Abs(point[a]-x)-g.Spacing[a]/2), 2)
		}
		if math.Sqrt(square) > o.around*(1+1e-9) || n > 0 && o.around == 0 {
			continue
		}
		v, err := read(column)
		if err != nil {
			return nil, err
		}
		if mean == nil {
			mean = make([]float32, len(v))
		}
		for i := range v {
			mean[i] += v[i]
		}
		n++
	}
	if n == 0 {
		return nil, status.Usage(fmt.Errorf("ava: --at %v m lies outside the image", o.at))
	}
	for i := range mean {
		mean[i] /= float32(n)
	}
	return mean, nil
}

// leastLit is the share of the best lit class's illumination, at a reflector, with which a class counts.
const leastLit = 0.05

// lit returns the weights of the classes at depths from to to, in points: their illumination over the
// largest one, 0 for those that are not lit. Where it is not known those that are zero everywhere have 0.
func (p *panel) lit(from, to int) []float64 {
	out := make([]float64, len(p.angles))
	for i := range out {
		if p.light == nil {
			if !survey.Silent(p.image[i*p.nz : (i+1)*p.nz]) {
				out[i] = 1
			}
			continue
		}
		for _, v := range p.light[i*p.nz+max(0, from) : i*p.nz+min(p.nz, to+1)] {
			out[i] += float64(v)
		}
	}
	most := slices.Max(out)
	for i, v := range out {
		if out[i] = v / most; !(v >= leastLit*most && v > 0) {
			out[i] = 0
		}
	}
	return out
}

// pick measures the reflector at most within grid steps from the depth near, and returns the weights of the
// classes there.
func (p *panel) pick(near, within, reach float64) (imaging.Reflector, []float64, error) {
	weights := p.lit(int(near-within), int(math.Ceil(near+within)))
	r, err := p.gather.Pick(weights, near, within, reach)
	return r, weights, err
}

// compare adds all reflectors that stand out, whose intercept is twice its interval, to l, which tells how alike the
// errors of classes are. If a panel has only noise, its first singular vector makes classes more alike than errors are.
func (p *panel) compare(l *imaging.Likeness, terms int, reach float64) {
	for _, k := range p.gather.Peaks(p.light, int(reach)) {
		r, weights, err := p.pick(float64(k), 1, reach)
		if err != nil {
			continue
		}
		if f, err := (imaging.AngleModel{Terms: terms}).Fit(p.angles, r, weights); err == nil && math.Abs(f.Value[0]) > 2*f.Interval[0] {
			l.Add(p.angles, r.Amplitudes, weights)
		}
	}
}
