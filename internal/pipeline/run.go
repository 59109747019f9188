package pipeline

import (
	"context"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Job is one rank's part of a run, from its files to the operator. Open makes it, Build its
// operator. Methods that say so are collective.
type Job struct {
	Ranks *Ranks // the process's

	inputs  *Inputs
	plan    *Plan
	process *Process
	share   *Share
	traces  *RankTraces // nil if the command needs none
	op      *Operator   // nil before Build

	// Alone says that this process runs this job and nothing else: the job may then
	// bound the heap of the process. It is set before Build.
	Alone bool

	began   time.Time
	files   []*h5.ImageReader  // that the job has opened besides the configuration's
	start   *h5.ImageReader    // the start model, once LoadStart has opened it
	digests []provenance.Input // of all files that were read
}

// RunOptions are the options of a run that the command line gives.
type RunOptions struct {
	Resume bool // go on from the newest checkpoint, if there is one
	Force  bool // existing outputs may be overwritten
}

// Run does what lsm run does once its job is open: it makes the operator, solves, and writes what
// the configuration asks for. It is collective.
func Run(ctx context.Context, j *Job, o RunOptions) (*Result, error) {
	j.WarnOfDoubts()
	if text := UndampedText(j.plan); text != "" {
		j.Ranks.Report.Warn(text)
	}
	if err := j.LoadStart(); err != nil {
		return nil, err
	}
	beside, err := j.chooseBeside(o)
	if err != nil {
		return nil, err
	}
	op, err := j.Build(ctx)
	if err != nil {
		return nil, err
	}
	j.Ranks.Report.Infof("%s", op.Info)
	d, err := j.Data()
	if err != nil {
		return nil, err
	}
	if err := j.writeBeside(ctx, d, beside, o.Force); err != nil {
		return nil, err
	}
	r, err := j.Solve(ctx, d, o.Resume)
	if err != nil {
		return nil, err
	}
	return r, j.publish(ctx, d, r, Source{Command: "run", Force: o.Force})
}

// Open reads what the configuration names, checks that it fits together and decides what is
// computed where, on all ranks of the world, which must be given the same configuration. Errors
// carry the exit status that the command ends with, and are the same everywhere.
func Open(world comm.Comm, cfg *config.Config, need Need, report *progress.Reporter) (*Job, error) {
	return open(world, cfg, need, report, 0, false)
}

// Resume is Open for a run that may go on from a checkpoint. kirchhoff.engine = "auto" then
// takes the checkpoint's engine.
func Resume(world comm.Comm, cfg *config.Config, need Need, report *progress.Reporter) (*Job, error) {
	return open(world, cfg, need, report, 0, true)
}

// open is Open for the first shots of the survey. 0 means all shots.
func open(world comm.Comm, cfg *config.Config, need Need, report *progress.Reporter, shots int, resume bool) (*Job, error) {
	j := &Job{began: time.Now()}
	here, hardware, err := JoinRanks(world, cfg, report)
	if err != nil {
		return nil, err
	}
	j.process, j.Ranks = here, &here.Ranks
	kept := ""
	if resume {
		kept, err = NewCheckpoints(here.Ranks, cfg, nil).Recorded("engine")
	}
	if err == nil {
		err = j.prepare(cfg, hardware, need, shots, kept)
	}
	if err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// prepare takes the stages before the operator: it reads the inputs, places traces and image, finds
// how traveltimes are computed, deals the work to ranks, and reads this rank's traces. kept is the
// engine of the checkpoint that the run resumes from, "" for none.
func (j *Job) prepare(cfg *config.Config, hardware Hardware, need Need, shots int, kept string) error {
	in, err := ReadInputs(*j.Ranks, cfg)
	if err != nil {
		return err
	}
	j.inputs, j.digests = in, in.Digests
	end := j.Ranks.Report.Time("plan")
	p, err := NewPlan(cfg, in, hardware, need)
	end()
	if err := j.Ranks.Together(err); err != nil {
		return err
	}
	for _, text := range p.Remarks() {
		j.Ranks.Report.Infof("%s", text)
	}
	p = p.First(shots)
	if need == NeedPlanning { // rays all over the image are sampled, and places solved in the whole model
		p, err = LoadAll(p)
		if err := j.Ranks.Together(err); err != nil {
			return err
		}
	}
	if j.share, err = p.Geometry.Share(j.process.Grid, j.Ranks.World.Rank()); err != nil {
		return err // the same everywhere
	}
	if p, err = j.sampleBranches(p); err != nil {
		return err
	}
	if p, err = j.process.Settle(p, j.share, kept); err != nil {
		return err
	}
	j.plan = p
	if need == NeedPlanning && !in.HasData {
		return nil // Build decides where things are, if it is called
	}
	if err := j.decideResidency(); err != nil || need == NeedGeometry {
		return err
	}
	var found Found
	j.traces, found, err = ReadTraces(j.plan, j.process, j.share, j.Memory().Groups)
	j.plan = j.plan.Knowing(found)
	return err
}

// sampleBranches returns the plan with the shares of places and boxes in which branches have arrivals, from a
// sample of places. They predict the memory of the arrivals of all places. The first rank solves for the sample
// in the whole model. It is collective.
func (j *Job) sampleBranches(p *Plan) (*Plan, error) {
	if len(traveltime.Turned(p.Times.Method)) == 1 {
		return p, nil
	}
	defer j.Ranks.Report.Time("branches")()
	var shares []float64
	find := func() error {
		whole, err := LoadAll(p)
		if err != nil {
			return err
		}
		all, err := whole.Geometry.Share([2]int{1, 1}, 0)
		if err == nil {
			shares, err = kirchhoff.SampleBranches(context.Background(), whole.Problem(all))
		}
		return err
	}
	var err error
	if j.Ranks.World.Rank() == 0 {
		err = find()
	}
	if err := j.Ranks.Together(err); err != nil {
		return nil, err
	}
	all, err := comm.GatherJSON(j.Ranks.World.Host().AllGather, shares)
	if err != nil {
		return nil, err
	}
	q := *p
	q.Branches = all[0]
	return &q, nil
}

// decideResidency decides where traces and tables are. It is collective.
func (j *Job) decideResidency() error {
	p, _, err := j.process.Hold(j.plan, j.share)
	if err == nil {
		j.plan = p
	}
	return err
}

// Build computes the traveltimes and makes the operator, on all ranks.
func (j *Job) Build(ctx context.Context) (*Operator, error) {
	if text := BeyondText(j.plan); text != "" {
		j.Ranks.Report.Infof("image.gathers: %s", text)
	}
	if j.plan.Held.Tables == "" {
		if err := j.decideResidency(); err != nil {
			return nil, err
		}
	}
	m := j.Memory()
	j.boundHeap(m, false)
	defer j.boundHeap(m, true)
	op, err := BuildOperator(ctx, j.plan, j.process, j.share, j.traces)
	if err != nil {
		return nil, err
	}
	j.op, j.plan = op, op.plan
	return op, nil
}

// Data moves this rank's traces into a vector of the operator's range, nil where they
// are streamed.
func (j *Job) Data() (*dist.Vector, error) {
	if text := DeadText(j.plan); text != "" {
		j.Ranks.Report.Warn(text)
	}
	return j.op.Data()
}

// publish writes the files of a run. The image comes first, and its checkpoints go.
func (j *Job) publish(ctx context.Context, d *dist.Vector, r *Result, src Source) error {
	out := j.plan.Config.Output
	if err := j.WriteResult(out.File.File, r, src); err != nil {
		return err
	}
	if path := out.Residual; path.IsSet() {
		if err := j.WriteResidual(ctx, path.File, d, r.Solved, src); err != nil {
			return err
		}
		j.Ranks.Report.Printf("residual: %s\n", path.File)
	}
	if path := out.Weights; path.IsSet() {
		if err := j.writeWeights(path.File, src); err != nil {
			return err
		}
		j.Ranks.Report.Printf("weights: %s\n", path.File)
	}
	return nil
}

// beside are the files of further images of a run, "" for none: the adjoint of the data,
// and point-spread functions.
type beside struct{ adjoint, psf string }

// chooseBeside finds which images a run writes before it solves: a run that goes on from a checkpoint
// has written them before. It refuses a checkpoint of another plan.
func (j *Job) chooseBeside(o RunOptions) (b beside, err error) {
	resumes := false
	if o.Resume {
		if resumes, err = j.CanResume(); err != nil {
			return b, err
		}
	}
	out := j.plan.Config.Output
	if b.adjoint, err = j.besideToWrite(out.Adjoint, resumes, o.Force); err != nil {
		return b, err
	}
	b.psf, err = j.besideToWrite(out.PSF, resumes, o.Force)
	return b, err
}

// besideToWrite is the file for an image beside the result. It is "" if none is to be
// written, or if a run that goes on from a checkpoint has written it before. Rank 0 looks
// for all ranks.
func (j *Job) besideToWrite(path config.Path, resumes, force bool) (string, error) {
	if !path.IsSet() {
		return "", nil
	}
	there := false
	err := j.Ranks.AtRoot(func() error {
		if _, err := os.Stat(path.File); err == nil && resumes {
			j.Ranks.Report.Infof("%s is there already and stays", path)
			there = true
			return nil
		}
		return CheckOutput(path.File, force)
	})
	if err != nil {
		return "", err
	}
	if there, err = comm.Any(j.Ranks.World, there); err != nil || there {
		return "", err
	}
	return path.File, nil
}

// writeBeside writes the images beside the result.
func (j *Job) writeBeside(ctx context.Context, d *dist.Vector, b beside, force bool) error {
	if b.adjoint != "" {
		migrated, err := j.op.Migrate(ctx, d)
		if err != nil {
			return err
		}
		if err := j.WriteAdjoint(b.adjoint, migrated, Source{Command: "migrate", Force: force}); err != nil {
			return err
		}
	}
	if b.psf == "" {
		return nil
	}
	functions, err := j.op.PSF(ctx)
	if err != nil {
		return err
	}
	if err := j.WriteAdjoint(b.psf, functions, Source{Command: "run", Force: force}); err != nil {
		return err
	}
	functions.Image.Free()
	j.Ranks.Report.Printf("point-spread functions: %s\n", b.psf)
	return nil
}

// Close releases the operator, and the files and the card that the job keeps open.
func (j *Job) Close() {
	if j.op != nil {
		j.op.engine.Close()
	}
	if j.inputs != nil {
		j.inputs.Close()
	}
	j.traces.Close()
	for _, f := range j.files {
		f.Close()
	}
	j.process.Leave()
}

// WarnOfDoubts prints settings that are allowed and yet probably not meant, before anything is
// computed: each of them leads to an unintended image.
func (j *Job) WarnOfDoubts() {
	if text := MissedText(j.plan.Geometry); text != "" {
		j.Ranks.Report.Warn(text)
	}
	for _, d := range j.plan.Config.Differences(j.plan.Found.Made) {
		j.Ranks.Report.Warn(d)
	}
	if text := FilterText(j.plan); text != "" {
		j.Ranks.Report.Warn(text)
	}
}

// Memory predicts what this rank holds in a run of the configured solver.
func (j *Job) Memory() Memory { return CountMemory(j.plan, j.share) }

// boundHeap makes the collector keep Go's heap to the size that the forecast counts, if
// this process runs nothing else. Otherwise garbage would stay until the heap has
// doubled. With late unset it leaves out what is only allocated later. With a card the
// forecast for the host is only rough, so there is no bound.
func (j *Job) boundHeap(m Memory, late bool) {
	if !j.Alone || j.process.Card != nil {
		return
	}
	_, heap := ProgramMemory()
	bound := heap + Garbage + m.Total() - m.Program - m.Outside
	if !late {
		bound -= m.Late
	}
	bound += bound / 32 // of a limit the collector aims 3 per cent lower
	debug.SetMemoryLimit(min(bound, userLimit()))
}

// userLimit is the limit that the environment variable GOMEMLIMIT sets.
var userLimit = sync.OnceValue(func() int64 { return debug.SetMemoryLimit(-1) })
