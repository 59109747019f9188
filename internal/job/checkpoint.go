package job

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// A checkpoint holds the plan that it belongs to, the solver's scalars and its
// vectors: all that a run needs to go on as if it had never stopped, bit for
// bit. The two newest are kept, so that a fault while one is written costs one
// interval at most.
const (
	formatCheckpoint = "lsm-checkpoint"
	keepCheckpoints  = 2
)

// plan is what must be the same for a checkpoint to be continued: every key
// that changes the iterates, and the inputs' hashes.
func (j *Job) plan() map[string]string {
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

func (j *Job) checkpointBase() string { return checkpointBase(j.Config) }

// checkpointBase is how the names of a run's checkpoints begin.
func checkpointBase(cfg *config.Config) string {
	out := filepath.Base(cfg.Output.File.File)
	return strings.TrimSuffix(out, filepath.Ext(out)) + "-"
}

const (
	checkpointDigits = 7 // solver.iterations is at most 1e6
	checkpointSuffix = ".checkpoint.h5"
)

// checkpointNumber matches the number.
var checkpointNumber = strings.Repeat("[0-9]", checkpointDigits)

func (j *Job) checkpointPath(iteration int) string {
	return filepath.Join(j.Config.Checkpoint.Folder.File, fmt.Sprintf("%s%0*d%s", j.checkpointBase(), checkpointDigits, iteration, checkpointSuffix))
}

// checkpoints lists this output's checkpoint files, newest first. All digits of
// the number are asked for: "image-2.h5" has checkpoints beside "image.h5" too.
func (j *Job) checkpoints() []string {
	found, _ := filepath.Glob(filepath.Join(h5.EscapeGlob(j.Config.Checkpoint.Folder.File), h5.EscapeGlob(j.checkpointBase())+checkpointNumber+checkpointSuffix))
	sort.Sort(sort.Reverse(sort.StringSlice(found)))
	return found
}

// save writes a checkpoint, on all ranks. Of the others it leaves the one before
// it alone: what else there is belongs to a run that this one replaces.
func (j *Job) save(m solver.Method) (string, error) {
	defer j.Report.Time("checkpoint")()
	if err := j.intact(); err != nil {
		return "", err
	}
	folder := j.Config.Checkpoint.Folder.File
	path := j.checkpointPath(m.State().Iteration)
	made := false
	err := j.AtRoot(func() error {
		_, missing := os.Stat(folder)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return status.Resource(fmt.Errorf("checkpoint: %w", err))
		}
		made = missing != nil
		return nil
	})
	if err != nil {
		return "", err
	}
	if err := j.write(path, m); err != nil {
		if made {
			os.Remove(folder) // as it was
		}
		return "", err
	}
	j.owns(path)
	if j.Root() {
		for _, other := range j.checkpoints() {
			if !slices.Contains(j.saved, other) {
				os.Remove(other) // one that stays does no harm
			}
		}
		j.sweep()
	}
	return path, nil
}

// sweep removes what runs that were killed while they wrote a checkpoint left of it.
func (j *Job) sweep() {
	h5.Sweep(filepath.Join(h5.EscapeGlob(j.Config.Checkpoint.Folder.File), h5.EscapeGlob(j.checkpointBase())+checkpointNumber+checkpointSuffix+".tmp-*"))
}

// CheckpointLock is what a run locks so that no other writes or removes checkpoints of
// the same names: a name in their folder.
func CheckpointLock(cfg *config.Config) string {
	return filepath.Join(cfg.Checkpoint.Folder.File, strings.TrimSuffix(checkpointBase(cfg), "-"))
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

// owns counts a checkpoint among this run's own.
func (j *Job) owns(path string) {
	if !slices.Contains(j.saved, path) {
		j.saved = append(j.saved, path)
	}
	j.saved = j.saved[max(0, len(j.saved)-keepCheckpoints):]
}

// write writes one file on rank 0. Vectors are whole in it, so that any number of
// ranks can go on from it, and pass through rank 0 a stretch at a time.
func (j *Job) write(path string, m solver.Method) error {
	var w *h5.Writer
	err := j.AtRoot(func() (err error) {
		w, err = j.begin(path, m)
		return err
	})
	if err != nil {
		return err
	}
	if w != nil {
		defer w.Abort()
	}
	err = eachLeaf(m.Vectors(), func(name string, v *dist.Vector) error {
		if v.Layout.Type == device.F64 {
			return saveVector[float64](j, w, name, v)
		}
		return saveVector[float32](j, w, name, v)
	})
	if err != nil {
		return err
	}
	return j.AtRoot(func() error { return w.Commit() })
}

// begin starts a checkpoint file with everything but the vectors.
func (j *Job) begin(path string, m solver.Method) (*h5.Writer, error) {
	state, err := json.Marshal(m.State())
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	plan, err := json.Marshal(j.plan())
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	w, err := h5.Create(path, formatCheckpoint, h5.WriteOptions{Force: true})
	if err != nil {
		return nil, err
	}
	for _, t := range []struct{ name, text string }{{"/state", string(state)}, {"/plan", string(plan)}} {
		if err := w.Text(t.name, t.text); err != nil {
			w.Abort()
			return nil, err
		}
	}
	if err := w.Group("/vectors"); err != nil {
		w.Abort()
		return nil, err
	}
	return w, nil
}

func saveVector[T float32 | float64](j *Job, w *h5.Writer, name string, v *dist.Vector) error {
	var s *h5.Section
	err := j.AtRoot(func() (err error) {
		s, err = h5.NewSection[T](w, name, []int{globalLen(v)})
		return err
	})
	if err != nil {
		return err
	}
	return inputs.FileError(dist.GatherEach(v, operator.Chunk, func(first int, part device.Buf) error {
		x := make([]T, part.Len())
		if err := device.Download(x, part); err != nil {
			return err
		}
		return h5.WriteAt(s, x, first)
	}))
}

// globalLen is the number of elements of a leaf on all ranks.
func globalLen(v *dist.Vector) int {
	n := 1
	for _, s := range v.Layout.Shape {
		n *= s
	}
	return n
}

// eachLeaf visits the leaves of vectors by name, in a fixed order; the rows of a
// stack are numbered.
func eachLeaf(vectors map[string]*dist.Vector, f func(name string, v *dist.Vector) error) error {
	names := make([]string, 0, len(vectors))
	for n := range vectors {
		names = append(names, n)
	}
	slices.Sort(names)
	var visit func(name string, v *dist.Vector) error
	visit = func(name string, v *dist.Vector) error {
		if v.Parts == nil {
			return f(name, v)
		}
		for i, p := range v.Parts {
			if err := visit(fmt.Sprintf("%s_%d", name, i), p); err != nil {
				return err
			}
		}
		return nil
	}
	for _, n := range names {
		if err := visit("/vectors/"+n, vectors[n]); err != nil {
			return err
		}
	}
	return nil
}

// forget removes the checkpoints of a finished run, and their folder where
// nothing else is in it.
func (j *Job) forget() {
	j.sweep()
	removed := false
	for _, path := range j.checkpoints() {
		removed = os.Remove(path) == nil || removed
	}
	if removed {
		os.Remove(j.Config.Checkpoint.Folder.File)
	}
}
