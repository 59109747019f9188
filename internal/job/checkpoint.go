package job

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/device"
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
	p := map[string]string{"engine": j.Engine}
	for _, f := range config.Fields() {
		switch f.Section {
		case "output", "checkpoint", "machine", "comm":
			continue
		}
		switch f.Name() {
		case "kirchhoff.engine", // the engine chosen stands above
			"solver.iterations", "solver.tolerance", // where to stop, not how to go
			"survey.file", "velocity.file", "traveltime.file", "solver.start": // their contents count
			continue
		}
		p[f.Name()] = j.Config.Value(f.Name())
	}
	for _, in := range j.inputs {
		p[in.Role+" file's contents"] = in.SHA256
	}
	return p
}

func (j *Job) checkpointBase() string {
	out := filepath.Base(j.Config.Output.File.File)
	return strings.TrimSuffix(out, filepath.Ext(out)) + "-"
}

const (
	checkpointDigits = 7 // solver.iterations is at most 1e6
	checkpointSuffix = ".checkpoint.h5"
)

func (j *Job) checkpointPath(iteration int) string {
	return filepath.Join(j.Config.Checkpoint.Folder.File, fmt.Sprintf("%s%0*d%s", j.checkpointBase(), checkpointDigits, iteration, checkpointSuffix))
}

// checkpoints lists this output's checkpoint files, newest first. All digits of
// the number are asked for: "image-2.h5" has checkpoints beside "image.h5" too.
func (j *Job) checkpoints() []string {
	number := strings.Repeat("[0-9]", checkpointDigits)
	found, _ := filepath.Glob(filepath.Join(escapeGlob(j.Config.Checkpoint.Folder.File), escapeGlob(j.checkpointBase())+number+checkpointSuffix))
	sort.Sort(sort.Reverse(sort.StringSlice(found)))
	return found
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}

// save writes a checkpoint. Of the others it leaves the one before it alone:
// what else there is belongs to a run that this one replaces.
func (j *Job) save(m solver.Method) (string, error) {
	defer j.report.Time("checkpoint")()
	folder := j.Config.Checkpoint.Folder.File
	_, missing := os.Stat(folder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", status.Resource(fmt.Errorf("checkpoint: %w", err))
	}
	path := j.checkpointPath(m.State().Iteration)
	if err := j.write(path, m); err != nil {
		if missing != nil {
			os.Remove(folder) // as it was
		}
		return "", FileError(err)
	}
	j.owns(path)
	for _, other := range j.checkpoints() {
		if !slices.Contains(j.saved, other) {
			os.Remove(other) // one that stays does no harm
		}
	}
	return path, nil
}

// owns counts a checkpoint among this run's own.
func (j *Job) owns(path string) {
	if !slices.Contains(j.saved, path) {
		j.saved = append(j.saved, path)
	}
	j.saved = j.saved[max(0, len(j.saved)-keepCheckpoints):]
}

func (j *Job) write(path string, m solver.Method) error {
	state, err := json.Marshal(m.State())
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	plan, err := json.Marshal(j.plan())
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	w, err := h5.Create(path, formatCheckpoint, h5.WriteOptions{Force: true})
	if err != nil {
		return err
	}
	defer w.Abort()
	for _, t := range []struct{ name, text string }{{"/state", string(state)}, {"/plan", string(plan)}} {
		if err := w.Text(t.name, t.text); err != nil {
			return err
		}
	}
	if err := w.Group("/vectors"); err != nil {
		return err
	}
	err = eachBuffer(m.Vectors(), func(name string, b device.Buf) error {
		if b.Type() == device.F64 {
			return saveBuffer[float64](w, name, b)
		}
		return saveBuffer[float32](w, name, b)
	})
	if err != nil {
		return err
	}
	return w.Commit()
}

func saveBuffer[T float32 | float64](w *h5.Writer, name string, b device.Buf) error {
	x := make([]T, b.Len())
	if err := device.Download(x, b); err != nil {
		return err
	}
	return h5.Write(w, name, []int{len(x)}, x)
}

// eachBuffer visits the buffers of vectors by name, in a fixed order; the rows
// of a stack are numbered.
func eachBuffer(vectors map[string]*dist.Vector, f func(name string, b device.Buf) error) error {
	names := make([]string, 0, len(vectors))
	for n := range vectors {
		names = append(names, n)
	}
	slices.Sort(names)
	var visit func(name string, v *dist.Vector) error
	visit = func(name string, v *dist.Vector) error {
		if v.Parts == nil {
			return f(name, v.Buf)
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
	removed := false
	for _, path := range j.checkpoints() {
		removed = os.Remove(path) == nil || removed
	}
	if removed {
		os.Remove(j.Config.Checkpoint.Folder.File)
	}
}
