package job

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// CanResume reports whether there is a checkpoint to go on from. It finds what
// forbids it, such as one of another plan, before anything is computed.
func (j *Job) CanResume() (bool, error) {
	if j.Matches() {
		return false, nil
	}
	from, err := j.choose()
	return from != "", err
}

// choose is the newest readable checkpoint of this plan, "" where there is none.
// Rank 0 looks for all.
func (j *Job) choose() (from string, err error) {
	err = j.AtRoot(func() (err error) {
		from, err = j.newest(func(path string) error {
			f, err := j.openCheckpoint(path)
			if err != nil {
				return err
			}
			return f.Close()
		})
		return err
	})
	if err != nil {
		return "", err
	}
	name, err := comm.FromFirst(j.World, []byte(from))
	return string(name), err
}

// restore puts m where the newest readable checkpoint of this plan left it, and
// reports which. Without any checkpoint it returns "".
func (j *Job) restore(m solver.Method, p solver.Problem) (string, error) {
	from, err := j.choose()
	if from == "" || err != nil {
		return "", err
	}
	if err := j.load(from, m, p); err != nil {
		return "", err
	}
	j.owns(from)
	return from, nil
}

// newest tries the checkpoints, newest first, and returns the first that take
// accepts; "" where there are none at all.
func (j *Job) newest(take func(path string) error) (string, error) {
	paths := j.checkpoints()
	for i, path := range paths {
		err := take(path)
		if err == nil {
			return path, nil
		}
		if status.Code(err) == status.BadUsage {
			return "", err // another plan: an older file would not be better
		}
		if i == len(paths)-1 {
			return "", status.Hint(err, "without --resume the run starts from the beginning")
		}
		j.Report.Warn(fmt.Sprintf("%v; trying the checkpoint before it", err))
	}
	return "", nil
}

// openCheckpoint opens a checkpoint, makes sure that its bytes are those that
// were written, and that it belongs to this plan.
func (j *Job) openCheckpoint(path string) (*h5.File, error) {
	if err := j.TryFile(path); err != nil {
		return nil, err
	}
	f, err := h5.Open(path)
	if err != nil {
		return nil, inputs.FileError(err)
	}
	if err := j.judge(f); err != nil {
		f.Close()
		return nil, inputs.FileError(err)
	}
	return f, nil
}

func (j *Job) judge(f *h5.File) error {
	format, err := f.Attrs().Text("format")
	if err != nil {
		return err
	}
	if format != formatCheckpoint {
		return status.Input(fmt.Errorf("%s: @format: is %q, want %q", f.Path(), format, formatCheckpoint))
	}
	if err := f.Verify(); err != nil {
		return err
	}
	var plan map[string]string
	if err := readJSON(f, "/plan", &plan); err != nil {
		return err
	}
	return samePlan(f.Path(), plan, j.plan())
}

// load reads a checkpoint on rank 0 and hands every rank its share.
func (j *Job) load(path string, m solver.Method, p solver.Problem) error {
	var f *h5.File
	var state solver.State
	err := j.AtRoot(func() (err error) {
		if f, err = j.openCheckpoint(path); err != nil {
			return err
		}
		return readJSON(f, "/state", &state)
	})
	if f != nil {
		defer f.Close()
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(state)
	if err != nil {
		return err
	}
	if text, err = comm.FromFirst(j.World, text); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return err
	}
	if err = m.Resume(p, &state); err != nil {
		err = status.Input(fmt.Errorf("%s: %w", path, err))
	}
	if err := comm.Together(j.World, err); err != nil {
		return err
	}
	return eachLeaf(m.Vectors(), func(name string, v *dist.Vector) error {
		if v.Layout.Type == device.F64 {
			return loadVector[float64](j, f, name, v)
		}
		return loadVector[float32](j, f, name, v)
	})
}

func loadVector[T float32 | float64](j *Job, f *h5.File, name string, v *dist.Vector) error {
	var set *h5.Dataset
	err := j.AtRoot(func() (err error) {
		if set, err = f.Dataset(name); err != nil {
			return err
		}
		return set.Want("the vector of this run", globalLen(v))
	})
	if err != nil {
		return err
	}
	return inputs.FileError(dist.ScatterEach(v, gatherElements, func(first int, part device.Buf) error {
		x := make([]T, part.Len())
		if err := h5.ReadAt(set, x, first); err != nil {
			return err
		}
		return device.Upload(part, x)
	}))
}

func readJSON(f *h5.File, name string, to any) error {
	text, err := f.Text(name)
	if err != nil {
		return inputs.FileError(err)
	}
	if err := json.Unmarshal([]byte(text), to); err != nil {
		return status.Input(fmt.Errorf("%s: %s: %w", f.Path(), name, err))
	}
	return nil
}

// samePlan refuses a checkpoint of another plan and names what differs.
func samePlan(path string, saved, now map[string]string) error {
	all := maps.Clone(saved)
	maps.Copy(all, now)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if saved[k] != now[k] {
			return status.Hint(status.Usage(fmt.Errorf("%s: the checkpoint belongs to another run: %s was %s, is %s", path, k, orNone(saved[k]), orNone(now[k]))),
				"set it back, remove the checkpoint, or run without --resume")
		}
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
