package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Exchange applies the operator of a job for another program, with which rank 0 shares the files image
// and data of a folder. They hold vectors as plain numbers of the operator's type, in the machine's byte order and C order: the
// image, with classes [classes, nx, (ny,) nz], and the traces in the order of the survey file.
type Exchange struct {
	job         *Job
	operator    dist.Operator // with weights and topography, as a solve has it
	data        *dist.Vector  // recorded traces, weighted; nil where the survey has none
	image, sums *dist.Vector  // of the domain and of the range

	files [2]*os.File // of the image and of the data, on rank 0
}

// exchanged are the names of the files.
var exchanged = [2]string{"image", "data"}

// NewExchange makes an exchange of a job whose operator is built, with its files. It is collective. The files may be removed once they are
// there: they stay open.
func NewExchange(j *Job, folder string) (*Exchange, error) {
	if j.Streams() {
		return nil, status.Hint(status.Usage(errors.New("the traces do not fit in the memory: lsm operator does not stream them")),
			"give more memory or ranks, or fewer traces (data.offset)")
	}
	x := &Exchange{job: j}
	if err := comm.Together(j.Ranks.World, x.makeVectors()); err != nil {
		return nil, err
	}
	return x, j.Ranks.AtRoot(func() error { return x.create(folder) })
}

// makeVectors makes the operator and the vectors of this rank.
func (x *Exchange) makeVectors() (err error) {
	var d *dist.Vector
	if x.job.HasTraces() {
		if d, err = x.job.Data(); err != nil {
			return err
		}
	}
	s, err := x.job.op.setting(d)
	if err != nil {
		return err
	}
	x.operator = s.Scaled()
	if d != nil {
		if x.data, err = s.WeightedData(); err != nil {
			return err
		}
	}
	w := dist.Work{}
	w.New(x.job.process.Device, x.operator.Domain(), &x.image)
	w.New(x.job.process.Device, x.operator.Range(), &x.sums)
	return w.Err
}

// create makes the files, with their room: a program that writes to a file in memory which has none dies.
func (x *Exchange) create(folder string) (err error) {
	for i, v := range [2]*dist.Vector{x.image, x.sums} {
		size := int64(0)
		for _, row := range v.Rows() {
			size += int64(row.Layout.Size()) * int64(x.job.plan.Type().Size())
		}
		path := filepath.Join(folder, exchanged[i])
		if x.files[i], err = os.Create(path); err != nil {
			return err
		}
		if err = syscall.Fallocate(int(x.files[i].Fd()), 0, 0, size); errors.Is(err, syscall.EOPNOTSUPP) {
			err = x.files[i].Truncate(size)
		}
		if err != nil {
			return status.Resource(fmt.Errorf("%s: %s: %w", path, readable.Bytes(size), err))
		}
	}
	return nil
}

// Close closes the files.
func (x *Exchange) Close() {
	for _, f := range x.files {
		if f != nil {
			f.Close()
		}
	}
}

// Say reports what the other program has to know.
func (x *Exchange) Say() {
	g, s := x.job.Geometry(), x.job.Geometry().Survey
	shape := g.Image.Shape
	if n := x.job.plan.Classes.N; n > 0 {
		shape = slices.Concat([]int{n}, shape)
	}
	x.job.Ranks.Report.Event("operator", "image", shape, "origin", g.Image.Origin, "spacing", g.Image.Spacing, "domain", g.Image.Domain.String(),
		"data", g.DataShape(), "dt", s.DT, "t0", s.T0, "type", x.job.plan.Type().String(), "recorded", x.data != nil, "info", x.job.op.Info)
}

// Answer does what a request says, on all ranks. "forward" makes the file data of the file image, and "adjoint" the file
// image of the file data, both with the weights of a solve. "recorded" makes the file data of the recorded traces, weighted.
func (x *Exchange) Answer(ctx context.Context, request string) error {
	again := x.job.process.Again
	switch request {
	case "forward":
		if err := x.read(0, x.image); err != nil {
			return err
		}
		if err := again(func(bool) error { return x.operator.Apply(ctx, x.sums, x.image) }); err != nil {
			return err
		}
		return x.write(1, x.sums)
	case "adjoint":
		if err := x.read(1, x.sums); err != nil {
			return err
		}
		if err := again(func(bool) error { return x.operator.ApplyAdjoint(ctx, x.image, x.sums) }); err != nil {
			return err
		}
		return x.write(0, x.image)
	case "recorded":
		if x.data == nil {
			return status.Input(fmt.Errorf("%s: holds no recorded traces", x.job.Config().Survey.File))
		}
		return x.write(1, x.data)
	}
	return status.Usage(fmt.Errorf("request %q, must be forward, adjoint or recorded", request))
}

// read fills a vector from a file.
func (x *Exchange) read(file int, v *dist.Vector) error {
	return FileError(dist.ScatterEach(v, x.stretch(file), func(first int, part device.Buf) error {
		if part.Type() == device.F64 {
			return readPart[float64](x, file, first, part)
		}
		return readPart[float32](x, file, first, part)
	}))
}

// write fills a file from a vector.
func (x *Exchange) write(file int, v *dist.Vector) error {
	return FileError(dist.GatherEach(v, x.stretch(file), func(first int, part device.Buf) error {
		if part.Type() == device.F64 {
			return writePart[float64](x, file, first, part)
		}
		return writePart[float32](x, file, first, part)
	}))
}

// stretch is the length of the parts in which a vector travels, whole traces of the data.
func (x *Exchange) stretch(file int) int {
	if file == 0 {
		return GatherChunk
	}
	nt := x.job.Geometry().Survey.NT
	return max(1, GatherChunk/nt) * nt
}

// pieces calls do for each piece of a part that lies together in its file, with its place there in elements.
func (x *Exchange) pieces(file, first, n int, do func(from, to, at int) error) error {
	shots := x.job.Geometry().Shots
	if file == 0 || shots.InOrder() {
		return do(0, n, first)
	}
	nt := x.job.Geometry().Survey.NT
	for i, trace := range shots.List(first/nt, (first+n)/nt) {
		if err := do(i*nt, (i+1)*nt, int(trace)*nt); err != nil {
			return err
		}
	}
	return nil
}

func readPart[T float32 | float64](x *Exchange, file, first int, part device.Buf) error {
	to := make([]T, part.Len())
	err := x.pieces(file, first, len(to), func(a, b, at int) error {
		_, err := x.files[file].ReadAt(rawBytes(to[a:b]), int64(at)*int64(unsafe.Sizeof(to[0])))
		return err
	})
	if err != nil {
		return err
	}
	return device.Upload(part, to)
}

func writePart[T float32 | float64](x *Exchange, file, first int, part device.Buf) error {
	from := make([]T, part.Len())
	if err := device.Download(from, part); err != nil {
		return err
	}
	return x.pieces(file, first, len(from), func(a, b, at int) error {
		_, err := x.files[file].WriteAt(rawBytes(from[a:b]), int64(at)*int64(unsafe.Sizeof(from[0])))
		return err
	})
}

// rawBytes views numbers as bytes, without a copy.
func rawBytes[T float32 | float64](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(x[0])))
}
