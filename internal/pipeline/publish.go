package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/mpi"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/formulation"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/solver"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Source says which command makes an output.
type Source struct {
	Command string
	Force   bool // an existing output may be overwritten
}

// CheckOutput makes sure, before anything is computed, that path can be written.
func CheckOutput(path string, force bool) error { return FileError(h5.CheckOutput(path, force)) }

// WriteResult publishes the image of a least-squares run with its history, and then
// removes the run's checkpoints.
func (j *Job) WriteResult(path string, r *Result, src Source) error {
	scale, err := newScaling(j.plan, len(r.History.Residual)-1)
	if err := j.Ranks.Together(err); err != nil {
		return err
	}
	if err := j.writeImage(path, r, src, scale); err != nil {
		return err
	}
	if j.Ranks.Root() {
		j.checkpoints().Forget()
	}
	return nil
}

// WriteAdjoint publishes an image in the operator's units, which comes to rank 0 in stretches.
func (j *Job) WriteAdjoint(path string, r *Result, src Source) error {
	return j.writeImage(path, r, src, nil)
}

func (j *Job) writeImage(path string, r *Result, src Source, scale *scaling) (err error) {
	defer j.Ranks.Report.Time("write")()
	gathers := j.plan.Classes.Gathers()
	if gathers != nil {
		gathers.Light = r.Light != nil
	}
	solved := r.Solved
	if solved == r.Classes || gathers != nil {
		solved = nil
	}
	if solved != nil && j.plan.Classes.Halves() {
		if solved, err = formulation.Stack(solved, 0.5); err != nil {
			return err
		}
	}
	var agreed *float64
	if j.plan.Classes.Halves() {
		agreed = &r.Agreed
	}
	create := func() (*h5.ImageWriter, error) {
		return h5.CreateImage(path, &h5.Image{
			Grid: j.plan.Geometry.Image, Gathers: gathers, Solved: solved != nil,
			ResidualNorm: r.History.Residual, GradientNorm: r.History.Gradient,
			Agreement: r.History.Agreement, Agreed: agreed,
			Config: j.plan.Config.TOML(),
		}, h5.WriteOptions{Force: src.Force, Attrs: append(j.Attrs(src, r.Reason), scale.attrs(j.plan.Config.Kirchhoff.WaveletFilter)...)})
	}
	return j.process.Again(func(bool) error {
		return PublishFile(j.Ranks, create, func(w *h5.ImageWriter) error {
			err := j.process.Gather(r.Image, 1, func(first int, part []float32) error {
				if scale != nil {
					part = slices.Clone(part)
				}
				if err := scale.apply(part, first); err != nil {
					return err
				}
				return w.WriteImage(part, first)
			})
			if err == nil && solved != nil {
				err = j.process.Gather(solved, 1, func(first int, part []float32) error { return w.WriteSolved(part, first) })
			}
			if err == nil && agreed != nil {
				_, err = j.op.measureAgreement(r.Classes, func(first int, local []float32) error { return w.WriteAgreement(local, first) })
			}
			if err != nil || gathers == nil {
				return err
			}
			if err = j.process.Gather(r.Classes, 1, func(first int, part []float32) error { return w.WriteGathers(part, first) }); err != nil || r.Light == nil {
				return err
			}
			return j.process.Gather(r.Light, 1, func(first int, part []float32) error { return w.WriteLight(part, first) })
		})
	})
}

// WriteTraces publishes traces as a survey of the job's geometry.
func (j *Job) WriteTraces(path string, d *dist.Vector, src Source) error {
	defer j.Ranks.Report.Time("write")()
	nt := j.plan.Geometry.Survey.NT
	return j.writeSurvey(path, src, func(write func(first int, traces []float32) error) error {
		return j.process.Gather(d, nt, func(at int, traces []float32) error { return write(at/nt, traces) })
	})
}

// writeSurvey publishes a survey of the job's geometry. each passes the traces to write on
// rank 0, in parts, with the number in the order of shots of the first trace of a part.
func (j *Job) writeSurvey(path string, src Source, each func(write func(first int, traces []float32) error) error) error {
	create := func() (*h5.SurveyWriter, error) {
		attrs := append(j.Attrs(src, ""), OperatorAttrs(j.plan.Config.Modelled(j.plan.White != nil))...)
		return h5.CreateSurvey(path, j.plan.Geometry.Survey, h5.WriteOptions{Force: src.Force, Attrs: attrs})
	}
	return j.process.Again(func(bool) error {
		return PublishFile(j.Ranks, create, func(w *h5.SurveyWriter) error {
			return each(func(first int, traces []float32) error {
				return w.WriteTraceList(traces, j.plan.Geometry.Shots.List(first, first+len(traces)/j.plan.Geometry.Survey.NT))
			})
		})
	})
}

// WritePredicted publishes the traces that an image on the job's grid predicts, as a survey
// of the job's geometry.
func (j *Job) WritePredicted(ctx context.Context, path string, image PointReader, src Source) error {
	x, err := j.op.readBelowSurface(image)
	if err != nil {
		return err
	}
	if j.plan.Held.Stream {
		return j.writeStream(ctx, x, false, path, src)
	}
	d, err := j.op.applyForward(ctx, x)
	if err != nil {
		return err
	}
	return j.WriteTraces(path, d, src)
}

// WriteResidual publishes the residual of a result, recorded minus predicted traces, as a
// survey of the job's geometry. x is the image that predicts, the result's Solved. It is collective
// and costs one forward.
func (j *Job) WriteResidual(ctx context.Context, path string, d, x *dist.Vector, src Source) error {
	if j.plan.Held.Stream {
		return j.writeStream(ctx, x, true, path, src)
	}
	var left *dist.Vector
	w := dist.Work{Ctx: ctx}
	w.New(j.process.Device, j.op.lifted.Range(), &left)
	w.Do(func() error { return j.process.Again(func(bool) error { return j.op.lifted.Apply(ctx, left, x) }) })
	w.Axpby(1, d, -1, left)
	w.Do(func() error { return j.WriteTraces(path, left, src) })
	return w.Err
}

// writeWeights publishes the weights of all samples as a survey of the job's geometry: what a solve has multiplied
// residuals by, mutes and data.weights. It is collective.
func (j *Job) writeWeights(path string, src Source) error {
	defer j.Ranks.Report.Time("write")()
	each := max(1, (1<<20)/j.plan.Geometry.Survey.NT) // traces of a rank at once, 4 MiB
	rounds := []float64{math.Ceil(float64(j.share.Traces()) / float64(each))}
	if err := j.Ranks.World.Host().AllReduce(rounds, comm.Max); err != nil {
		return err
	}
	return j.writeSurvey(path, src, func(write func(first int, traces []float32) error) error {
		for r := range int(rounds[0]) {
			lo := min(r*each, j.share.Traces())
			n := min(each, j.share.Traces()-lo)
			v, first, err := j.joinRound(lo*j.plan.Geometry.Survey.NT, device.Wrap(j.process.Host, j.traces.Weights(lo, n)))
			if err != nil {
				return err
			}
			if err := j.process.Gather(v, j.plan.Geometry.Survey.NT, func(at int, traces []float32) error { return write(first(at), traces) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// Attrs is the provenance of an output as file attributes; reason is why the solver
// stopped, "" where none ran.
func (j *Job) Attrs(src Source, reason solver.Reason) []h5.Attr {
	r := provenance.New(src.Command)
	if _, set, _ := provenance.Epoch(); !set {
		r.Started = j.began.UTC().Truncate(time.Second) // the same in all outputs of a run
	}
	r.Ranks, r.Communicator = j.Ranks.World.Size(), j.process.Carrier()
	if j.Ranks.World.Name() == "mpi" {
		r.MPI, _, _ = strings.Cut(mpi.About(), ",")
		if j.process.Card != nil && mpi.Aware(j.process.Card.Space()) {
			r.MPI += fmt.Sprintf(", given memory of %v", j.process.Card.Space())
		}
	}
	r.Threads = j.process.Host.Threads()
	r.Engine, r.ISA, r.Tables = j.plan.Hardware.Engine, j.process.ISA, j.plan.Held.Precision()
	r.Choice = j.process.Choice
	if j.process.Card != nil {
		r.Device = j.process.Card.Card().Name
	}
	r.Inputs = j.digests
	r.Reason = string(reason)
	r.Timeless(j.plan.Exact())
	return r.Attrs()
}

// WriteText publishes a small text file whole or not at all.
func WriteText(path, text string) error {
	if err := plainfile.Write(path, []byte(text), true); err != nil {
		return status.Resource(fmt.Errorf("%s: %w", path, err))
	}
	return nil
}

// writeStream writes the traces that an image predicts while they are computed. With
// residual it writes recorded minus predicted traces.
func (j *Job) writeStream(ctx context.Context, x *dist.Vector, residual bool, path string, src Source) error {
	size, err := dist.Norm(x)
	if err != nil {
		return err
	}
	all := true // zero
	err = j.writeSurvey(path, src, func(write func(first int, traces []float32) error) error {
		return j.op.stream.Predict(ctx, x, residual, func(lo int, data device.Buf) error {
			v, first, err := j.joinRound(lo, data)
			if err != nil {
				return err
			}
			return j.process.Gather(v, j.plan.Geometry.Survey.NT, func(at int, traces []float32) error {
				all = all && survey.Silent(traces)
				return write(first(at), traces)
			})
		})
	})
	if err == nil && j.Ranks.Root() && !residual && all && size > 0 {
		j.op.warnUnseen()
	}
	return err
}

// joinRound joins what each rank has computed of its streamed traces into one vector. On this
// rank that is data, which begins at element lo of its traces. first returns the number of
// the trace, in the order of shots, that begins at an element of the vector.
func (j *Job) joinRound(lo int, data device.Buf) (v *dist.Vector, first func(at int) int, err error) {
	nt := j.plan.Geometry.Survey.NT
	all, err := comm.GatherJSON(j.process.ShotAxis.Host().AllGather, [2]int{data.Len(), j.share.First*nt + lo})
	if err != nil {
		return nil, nil, err
	}
	l := &dist.Layout{N: data.Len(), Type: data.Type(), Shards: j.process.ShotAxis, Copies: j.process.BlockAxis}
	from, to := make([]int, len(all)), make([]int, len(all))
	total := 0
	for row, part := range all {
		if row == j.process.ShotAxis.Rank() {
			l.Off = total
		}
		from[row], to[row] = total, part[1]
		total += part[0]
	}
	l.Shape = []int{total}
	return &dist.Vector{Layout: l, Buf: data}, func(at int) int {
		row := sort.Search(len(from), func(i int) bool { return from[i] > at }) - 1
		return (to[row] + at - from[row]) / nt
	}, nil
}
