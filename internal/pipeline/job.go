// Package job carries out a plan: it joins the ranks, reads the inputs, builds the
// operator, solves, and publishes the output. The commands run, migrate, model,
// traveltime and check each use a part of it.
package pipeline

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"

	"github.com/kirchhoff-lsm/lsm/internal/config"

	"github.com/kirchhoff-lsm/lsm/internal/formulation"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Job is one rank's part of a run: the plan, the rank's place among the others, what it
// has read, and the operator. It is made by Open. Methods that say so are collective.
type Job struct {
	Plan     *Plan
	Ranks    Ranks
	Here     *Here
	Share    *Share
	Traces   *RankTraces // nil where none were asked for
	Operator *Operator   // nil before Build

	// Alone says that this process runs this job and nothing else: the job may then
	// bound the heap of the process. It is set before Build.
	Alone bool

	set *formulation.Setting // of the operator, once it was asked for

	began   time.Time
	files   []*h5.ImageReader  // that the job has opened besides the configuration's
	start   *h5.ImageReader    // the start model, once LoadStart has opened it
	digests []provenance.Input // of all files that were read
}

// Open loads what the configuration names and checks that it fits together, on
// all ranks of the world, which must be given the same configuration. Errors
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
	j.Here, j.Ranks = here, here.Ranks
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

// prepare reads the inputs, makes the plan and reads this rank's traces. kept is the engine
// of the checkpoint that the run resumes from, "" for none.
func (j *Job) prepare(cfg *config.Config, hardware Hardware, need Need, shots int, kept string) error {
	in, err := ReadInputs(j.Ranks, cfg)
	if err != nil {
		return err
	}
	j.Plan = &Plan{Inputs: in} // to be closed
	j.digests = in.Digests
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
	if j.Share, err = p.Geometry.Share(j.Here.Grid, j.Ranks.World.Rank()); err != nil {
		return err // the same everywhere
	}
	if p, err = j.Here.Settle(p, j.Share, kept); err != nil {
		return err
	}
	j.Plan = p
	if need == NeedPlanning && !in.HasData {
		return nil // Build decides where things are, if it is called
	}
	if err := decide(j); err != nil || need == NeedGeometry {
		return err
	}
	var found Found
	j.Traces, found, err = ReadTraces(j.Plan, j.Here, j.Share, j.Memory().Groups)
	j.Plan = j.Plan.Knowing(found)
	return err
}

// decide decides where traces and tables are. It is collective.
func decide(j *Job) error {
	p, _, err := j.Here.Hold(j.Plan, j.Share)
	if err == nil {
		j.Plan = p
	}
	return err
}

// Close releases the operator, and the files and the card that the job keeps open.
func (j *Job) Close() {
	if j.Operator != nil {
		j.Operator.Engine.Close()
	}
	if j.Plan != nil {
		j.Plan.Inputs.Close()
	}
	j.Traces.Close()
	for _, f := range j.files {
		f.Close()
	}
	j.Here.Leave()
}

// Memory predicts what this rank holds in a run of the configured solver.
func (j *Job) Memory() Memory { return CountMemory(j.Plan, j.Share) }

// WarnOfDoubts prints what is allowed and yet probably not meant, before anything is
// computed: each ends in another image than the one that was wanted.
func (j *Job) WarnOfDoubts() {
	if text := MissedText(j.Plan.Geometry); text != "" {
		j.Ranks.Report.Warn(text)
	}
	for _, d := range j.Plan.Config.Differences(j.Plan.Found.Made) {
		j.Ranks.Report.Warn(d)
	}
	if text := FilterText(j.Plan); text != "" {
		j.Ranks.Report.Warn(text)
	}
}

// Build computes the traveltimes and makes the operator, on all ranks.
func (j *Job) Build(ctx context.Context) error {
	if text := BeyondText(j.Plan); text != "" {
		j.Ranks.Report.Infof("image.gathers: %s", text)
	}
	if j.Plan.Held.Tables == "" {
		if err := decide(j); err != nil {
			return err
		}
	}
	m := j.Memory()
	j.boundHeap(m, false)
	defer j.boundHeap(m, true)
	op, err := BuildOperator(ctx, j.Plan, j.Here, j.Share, j.Traces)
	if err != nil {
		return err
	}
	j.Operator, j.Plan, j.set = op, op.Plan, nil
	return nil
}

// boundHeap makes the collector keep Go's heap to the size that the forecast counts, if
// this process runs nothing else. Otherwise garbage would stay until the heap has
// doubled. With late unset it leaves out what is only allocated later. With a card the
// forecast for the host is only rough, so there is no bound.
func (j *Job) boundHeap(m Memory, late bool) {
	if !j.Alone || j.Here.Card != nil {
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

// userLimit is what the environment variable GOMEMLIMIT asks for.
var userLimit = sync.OnceValue(func() int64 { return debug.SetMemoryLimit(-1) })

// Data moves this rank's traces into a vector of the operator's range, nil where they
// are streamed.
func (j *Job) Data() (*dist.Vector, error) {
	if text := DeadText(j.Plan); text != "" {
		j.Ranks.Report.Warn(text)
	}
	return j.Operator.Data()
}
