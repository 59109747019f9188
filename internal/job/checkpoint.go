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
			"survey.file", "velocity.file", "traveltime.file": // their contents count
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

const checkpointSuffix = ".checkpoint.h5"

func (j *Job) checkpointPath(iteration int) string {
	return filepath.Join(j.Config.Checkpoint.Folder.File, fmt.Sprintf("%s%07d%s", j.checkpointBase(), iteration, checkpointSuffix))
}

// checkpoints lists this output's checkpoint files, newest first.
func (j *Job) checkpoints() []string {
	found, _ := filepath.Glob(filepath.Join(escapeGlob(j.Config.Checkpoint.Folder.File), escapeGlob(j.checkpointBase())+"[0-9]*"+checkpointSuffix))
	sort.Sort(sort.Reverse(sort.StringSlice(found)))
	return found
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}

// save writes a checkpoint and removes all but the newest two.
func (j *Job) save(m solver.Method) (string, error) {
	defer j.report.Time("checkpoint")()
	folder := j.Config.Checkpoint.Folder.File
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", status.Resource(fmt.Errorf("checkpoint: %w", err))
	}
	state, err := json.Marshal(m.State())
	if err != nil {
		return "", fmt.Errorf("checkpoint: %w", err)
	}
	plan, err := json.Marshal(j.plan())
	if err != nil {
		return "", fmt.Errorf("checkpoint: %w", err)
	}
	path := j.checkpointPath(m.State().Iteration)
	w, err := h5.Create(path, formatCheckpoint, h5.WriteOptions{Force: true})
	if err != nil {
		return "", FileError(err)
	}
	defer w.Abort()
	for name, text := range map[string]string{"/state": string(state), "/plan": string(plan)} {
		if err := w.Text(name, text); err != nil {
			return "", FileError(err)
		}
	}
	if err := w.Group("/vectors"); err != nil {
		return "", FileError(err)
	}
	err = eachBuffer(m.Vectors(), func(name string, b device.Buf) error {
		if b.Type() == device.F64 {
			return saveBuffer[float64](w, name, b)
		}
		return saveBuffer[float32](w, name, b)
	})
	if err == nil {
		err = w.Commit()
	}
	if err != nil {
		return "", FileError(err)
	}
	for i, old := range j.checkpoints() {
		if i >= keepCheckpoints {
			os.Remove(old) // an old checkpoint that stays does no harm
		}
	}
	return path, nil
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

// restore puts m where the newest readable checkpoint of this plan left it, and
// reports which. Without any checkpoint it returns "".
func (j *Job) restore(m solver.Method, a dist.Operator, d *dist.Vector) (string, error) {
	var first error
	for _, path := range j.checkpoints() {
		err := j.load(path, m, a, d)
		if err == nil {
			return path, nil
		}
		if status.Code(err) == status.BadUsage {
			return "", err // another plan: an older file would not be better
		}
		if first == nil {
			first = err
		}
		j.report.Warn(fmt.Sprintf("%v; trying the checkpoint before it", err))
	}
	return "", first
}

func (j *Job) load(path string, m solver.Method, a dist.Operator, d *dist.Vector) error {
	f, err := h5.Open(path)
	if err != nil {
		return FileError(err)
	}
	defer f.Close()
	var plan map[string]string
	if err := readJSON(f, "/plan", &plan); err != nil {
		return err
	}
	if err := samePlan(path, plan, j.plan()); err != nil {
		return err
	}
	var state solver.State
	if err := readJSON(f, "/state", &state); err != nil {
		return err
	}
	if err := m.Resume(a, d, &state); err != nil {
		return status.Input(fmt.Errorf("%s: %w", path, err))
	}
	return eachBuffer(m.Vectors(), func(name string, b device.Buf) error {
		set, err := f.Dataset(name)
		if err != nil {
			return FileError(err)
		}
		if err := set.Want("the vector of this run", b.Len()); err != nil {
			return FileError(err)
		}
		if b.Type() == device.F64 {
			return loadBuffer[float64](set, b)
		}
		return loadBuffer[float32](set, b)
	})
}

func loadBuffer[T float32 | float64](set *h5.Dataset, b device.Buf) error {
	x, err := h5.Read[T](set)
	if err != nil {
		return FileError(err)
	}
	return device.Upload(b, x)
}

func readJSON(f *h5.File, name string, to any) error {
	text, err := f.Text(name)
	if err != nil {
		return FileError(err)
	}
	if err := json.Unmarshal([]byte(text), to); err != nil {
		return status.Input(fmt.Errorf("%s: %s: %w", f.Path(), name, err))
	}
	return nil
}

// samePlan refuses a checkpoint of another plan and names what differs.
func samePlan(path string, saved, now map[string]string) error {
	keys := make([]string, 0, len(now))
	for k := range now {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if saved[k] != now[k] {
			return status.Hint(status.Usage(fmt.Errorf("%s: the checkpoint belongs to another run: %s was %s, is %s", path, k, saved[k], now[k])),
				"set it back, remove the checkpoint, or run without --resume")
		}
	}
	return nil
}

// forget removes the checkpoints of a finished run.
func (j *Job) forget() {
	for _, path := range j.checkpoints() {
		os.Remove(path)
	}
	os.Remove(j.Config.Checkpoint.Folder.File) // if it is empty now
}
