package job

import (
	"context"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// classes is the number of images by class, 0 for one image of all.
func (j *Job) classes() int {
	switch {
	case j.class != nil:
		return len(j.Config.Image.GatherBins) - 1
	case j.windows != nil:
		return len(j.windows)
	}
	return 0
}

// classify finds what belongs to each class of image.gathers. Walks that use no traces
// know no classes.
func (j *Job) classify(need Need) error {
	switch kind := j.Config.Image.Gathers; {
	case need != Traces:
		return nil
	case kind == "offset":
		return j.classifyOffsets()
	case kind == "angle":
		im := j.Config.Image
		j.windows = angleWindows(im.GatherBins, angleLimits(im))
	}
	return nil
}

// classifyOffsets finds each trace's class; those of none are not among the traces.
func (j *Job) classifyOffsets() error {
	j.class = make([]int32, j.Survey.NumTraces())
	for i := range j.class {
		j.class[i] = interval(j.Config.Image.GatherBins, j.Survey.Offset(i))
	}
	if j.file != nil {
		j.report.Infof("%s", j.selectionText())
	}
	return nil
}

// interval is the number of the interval [limit, next limit) that holds v, the last
// one with its end; −1 for none.
func interval(limits []float64, v float64) int32 {
	last := len(limits) - 1
	if v == limits[last] {
		return int32(last - 1)
	}
	at, found := slices.BinarySearch(limits, v)
	if !found {
		at--
	}
	if at >= last {
		return -1
	}
	return int32(at)
}

// ownClasses is what of this rank's traces, in the order of its data, belongs to each
// class.
func (j *Job) ownClasses() []kirchhoff.Class {
	out := make([]kirchhoff.Class, j.classes())
	for i, w := range j.windows {
		out[i] = kirchhoff.Class{All: true, Opening: w}
	}
	if j.class == nil {
		return out
	}
	for i, trace := range j.traces(j.mine) {
		k := &out[j.class[trace]]
		k.Traces = append(k.Traces, int32(i))
	}
	return out
}

// classText says what the classes hold, "" where there are none.
func (j *Job) classText() string {
	n := j.classes()
	if j.class == nil {
		if n > 0 {
			return fmt.Sprintf("%d images by opening angle: an application costs %d times that of one image", n, n)
		}
		return ""
	}
	count := make([]int, n)
	for _, k := range j.class {
		count[k]++
	}
	each := readable.Count(slices.Max(count), "trace")
	if least := slices.Min(count); least < slices.Max(count) {
		each = fmt.Sprintf("%d to %s", least, each)
	}
	return fmt.Sprintf("%s by offset of %s each", readable.Count(n, "image"), each)
}

// gathers describes the images by class for a file, nil where there are none.
func (j *Job) gathers() *h5.Gathers {
	n, im := j.classes(), j.Config.Image
	if n == 0 {
		return nil
	}
	if j.windows != nil {
		return &h5.Gathers{Kind: im.Gathers, Centers: im.GatherBins, Limits: angleLimits(im)}
	}
	g := &h5.Gathers{Kind: im.Gathers, Limits: im.GatherBins}
	for i := range n {
		g.Centers = append(g.Centers, (im.GatherBins[i]+im.GatherBins[i+1])/2)
	}
	return g
}

// ModelGathers applies the forward to the images by class of an image file, on the
// job's grid and of its classes, and returns the predicted traces.
func (j *Job) ModelGathers(ctx context.Context, op *Operator, path string) (*dist.Vector, error) {
	var r *h5.GatherReader
	err := j.atRoot(func() (err error) {
		if r, err = h5.OpenGathers(path); err != nil {
			return err
		}
		want := j.gathers()
		if r == nil || !r.Grid().Equal(j.Image) || !slices.Equal(r.Centers, want.Centers) || !slices.Equal(r.Limits, want.Limits) {
			return status.Input(fmt.Errorf("%s: has no /gathers of the run's grid and classes", path))
		}
		return nil
	})
	if r != nil {
		defer r.Close()
	}
	if err != nil {
		return nil, err
	}
	m, err := dist.NewVector(j.Device, op.Domain())
	if err != nil {
		return nil, err
	}
	err = dist.ScatterEach(m, gatherElements, func(first int, part device.Buf) error {
		v := make([]float32, part.Len())
		if err := r.Read(v, first); err != nil {
			return err
		}
		return device.Upload(part, v)
	})
	if err != nil {
		return nil, FileError(err)
	}
	return j.forward(ctx, op, m)
}

// HasGathers reports whether the job makes images by class.
func (j *Job) HasGathers() bool { return j.classes() > 0 }

// parts are the images of a vector: one for each class, or itself.
func parts(x *dist.Vector) []*dist.Vector {
	if x.Parts != nil {
		return x.Parts
	}
	return []*dist.Vector{x}
}

// stack is the sum over classes times a factor; an image of all is itself.
func (j *Job) stack(x *dist.Vector, factor float64) (*dist.Vector, error) {
	if x.Parts == nil {
		return x, nil
	}
	sum, err := dist.NewVector(j.Device, x.Parts[0].Layout)
	if err != nil {
		return nil, err
	}
	for _, part := range x.Parts {
		if err := dist.Axpby(factor, part, 1, sum); err != nil {
			return nil, err
		}
	}
	return sum, nil
}
