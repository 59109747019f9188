// Package job carries a plan out: it joins the ranks, reads the inputs, builds the
// operator, solves, and publishes the output. The commands run, migrate, model,
// traveltime and check are different walks through it.
package job

import (
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/forecast"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"

	"github.com/kirchhoff-lsm/lsm/dist"
)

// Job is one rank's part of a run: the plan, the rank's place among the others, and what
// it has read. It is made by Open. Methods that say so are collective.
type Job struct {
	*plan.Plan
	*here
	mine   *plan.Share
	traces traces

	// Alone says that this process runs this job and nothing else: the job may then
	// bound the heap of the process. It is set before Build.
	Alone bool

	w *dist.Vector // of the data, the diagonal of W, once it is made; nil: all 1
	s *dist.Vector // of the image, the diagonal of S, once it is made

	began   time.Time
	start   []float32                   // the start model, once LoadStart has read it
	digests []provenance.Input          // of all files that were read
	kept    interface{ Intact() error } // tables kept in memory; nil: none
	saved   []string                    // this run's own checkpoints, oldest first
}

// Need says what of the survey a walk uses.
type Need = plan.Need

// What a walk needs.
const (
	Geometry = plan.Geometry
	Traces   = plan.Traces
)

// Open loads what the configuration names and checks that it fits together, on
// all ranks of the world, which must be given the same configuration. Errors
// carry the exit status that the command ends with, and are the same everywhere.
func Open(world comm.Comm, cfg *config.Config, need Need, report *progress.Reporter) (*Job, error) {
	return open(world, cfg, need, report, 0)
}

// open takes the first shots of the survey alone; 0: all of them.
func open(world comm.Comm, cfg *config.Config, need Need, report *progress.Reporter, shots int) (*Job, error) {
	program() // before anything is loaded
	j := &Job{here: &here{Ranks: inputs.Ranks{World: world, Report: report}}, began: time.Now()}
	err := j.join(cfg)
	if err == nil {
		err = j.prepare(cfg, need, shots)
	}
	if err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// prepare reads the inputs, makes the plan and reads this rank's traces.
func (j *Job) prepare(cfg *config.Config, need Need, shots int) error {
	in, err := inputs.Read(j.Ranks, cfg)
	if err != nil {
		return err
	}
	j.Plan = &plan.Plan{Inputs: in} // to be closed
	j.digests = in.Digests
	end := j.Report.Time("plan")
	p, err := plan.New(cfg, in, j.hardware, need)
	end()
	if err := j.Together(err); err != nil {
		return err
	}
	for _, text := range p.Remarks() {
		j.Report.Infof("%s", text)
	}
	p = p.First(shots)
	if j.mine, err = p.Share(j.grid, j.World.Rank()); err != nil {
		return err // the same everywhere
	}
	held, err := forecast.Decide(p, func(say func(*plan.Share) uint64) (uint64, error) {
		return j.World.Host().Agree(say(j.mine))
	})
	if err != nil {
		return err
	}
	if j.Plan = p.Holding(held); need != Traces {
		return nil
	}
	return j.readTraces()
}

// Close releases the files and the card that the job keeps open.
func (j *Job) Close() {
	if j.Plan != nil {
		j.Inputs.Close()
	}
	if j.traces.recording != nil {
		j.traces.recording.Close()
		j.traces.recording = nil
	}
	j.leave()
}

// Memory predicts what this rank holds in a run of the configured solver.
func (j *Job) Memory() forecast.Memory { return forecast.Of(j.Plan, j.mine) }

// WarnOfDoubts prints what is allowed and yet probably not meant.
func (j *Job) WarnOfDoubts() {
	for _, d := range forecast.Doubts(j.Plan) {
		j.Report.Warn(d.Text)
	}
}

// together is comm.Together where ranks may come late.
func (j *Job) together(err error) error {
	if j.World.Size() > 1 {
		defer j.Report.Time("waiting for ranks")()
	}
	return comm.Together(j.World, err)
}
