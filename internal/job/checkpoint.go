package job

import (
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/checkpoint"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// identity is what must be the same for a checkpoint to be continued: every key that
// changes the iterates, and the inputs' hashes.
func (j *Job) identity() map[string]string {
	p := map[string]string{"engine": j.Engine, "data.read": "memory", "traveltimes": j.Held.Precision()}
	if j.Held.Stream {
		p["data.read"] = "stream"
	}
	for _, f := range config.Fields() {
		switch f.Section {
		case "output", "checkpoint", "machine", "comm":
			continue
		}
		switch f.Name() {
		case "kirchhoff.engine", "data.read", "kirchhoff.tables", // what was chosen stands above
			"solver.iterations", "solver.tolerance", // where to stop, not how to go
			"survey.file", "velocity.file", "image.surface_file", "traveltime.file", "solver.start": // their contents count
			continue
		}
		p[f.Name()] = j.Config.Value(f.Name())
	}
	for _, in := range j.digests {
		p[in.Role+" file's contents"] = in.SHA256
	}
	return p
}

func (j *Job) checkpoints() *checkpoint.Store {
	return checkpoint.New(j.Ranks, j.Config, j.identity())
}

// CanResume reports whether there is a checkpoint to go on from. It finds what
// forbids it, such as one of another plan, before anything is computed.
func (j *Job) CanResume() (bool, error) {
	if j.Matches() {
		return false, nil
	}
	from, err := j.checkpoints().Newest()
	return from != "", err
}

// intact makes sure, on all ranks, that the tables in memory are those that were
// computed, before what was made with them is written.
func (j *Job) intact() error {
	var err error
	if j.kept != nil {
		err = status.Hint(status.Numerical(j.kept.Intact()), "the last checkpoint was made before: --resume goes on from it, better on another machine")
	}
	return comm.Together(j.World, err)
}
