package pipeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// Newest returns the newest readable checkpoint of this plan, or "". It is collective. It
// returns an error if the run cannot be resumed, as from a checkpoint of another plan.
func (s *Checkpoints) Newest() (string, error) {
	f, from, err := s.openNewest()
	if f != nil {
		f.Close()
	}
	return from, err
}

// openNewest opens the newest checkpoint on rank 0. Its name is known to all ranks.
func (s *Checkpoints) openNewest() (f *h5.File, from string, err error) {
	if f, err = CallOnRoot(&s.ranks, s.tryNewest); err != nil {
		return nil, "", err
	}
	if f != nil {
		from = f.Path()
	}
	name, err := comm.FromFirst(s.ranks.World, []byte(from))
	return f, string(name), err
}

// tryNewest tries the checkpoints, newest first.
func (s *Checkpoints) tryNewest() (*h5.File, error) {
	paths := s.listFiles()
	for i, path := range paths {
		f, err := s.open(path)
		switch {
		case err == nil:
			return f, nil
		case status.Code(err) == status.BadUsage:
			return nil, err // another plan: an older file would not be better
		case i == len(paths)-1:
			return nil, status.Hint(err, "without --resume the run starts from the beginning")
		}
		s.ranks.Report.Warn(fmt.Sprintf("%v; trying the checkpoint before it", err))
	}
	return nil, nil
}

// Recorded returns one entry of the plan of the newest checkpoint that can be read, "" for
// none. It is collective, and compares nothing.
func (s *Checkpoints) Recorded(key string) (string, error) {
	value := ""
	if s.ranks.Root() {
		for _, path := range s.listFiles() {
			f, err := h5.Open(path)
			if err != nil {
				continue
			}
			saved, err := readIdentity(f)
			f.Close()
			if err == nil {
				value = saved[key]
				break
			}
		}
	}
	all, err := comm.FromFirst(s.ranks.World, []byte(value))
	return string(all), err
}

// readIdentity reads what a checkpoint belongs to.
func readIdentity(f *h5.File) (plan map[string]string, err error) {
	text, err := f.Text("/plan")
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		return nil, status.Input(fmt.Errorf("%s: /plan: %w", f.Path(), err))
	}
	return plan, nil
}

// Restore puts m where the newest readable checkpoint of this plan left it, and
// reports which. Without any checkpoint it returns "".
func (s *Checkpoints) Restore(m *solver.Method, p solver.Problem, besides map[string]*dist.Vector) (string, error) {
	f, from, err := s.openNewest()
	if f != nil {
		defer f.Close()
	}
	if from == "" || err != nil {
		return "", err
	}
	if err := s.load(f, from, m, p, besides); err != nil {
		return "", err
	}
	s.countAsOwn(from)
	return from, nil
}

// open opens a checkpoint, makes sure that its bytes are those that were written, and that
// it belongs to this plan.
func (s *Checkpoints) open(path string) (*h5.File, error) {
	f, err := h5.Open(path)
	if err != nil {
		return nil, FileError(err)
	}
	if err := s.checkFile(f); err != nil {
		f.Close()
		return nil, FileError(err)
	}
	return f, nil
}

func (s *Checkpoints) checkFile(f *h5.File) error {
	found, err := f.Attrs().Text("format")
	if err != nil {
		return err
	}
	if found != checkpointFormat {
		return status.Input(fmt.Errorf("%s: @format: is %q, want %q", f.Path(), found, checkpointFormat))
	}
	if err := f.Verify(); err != nil {
		return err
	}
	saved, err := readIdentity(f)
	if err != nil {
		return err
	}
	return checkIdentity(f.Path(), saved, s.plan)
}

// load reads a checkpoint, which is open on rank 0, and hands every rank its share.
func (s *Checkpoints) load(f *h5.File, path string, m *solver.Method, p solver.Problem, besides map[string]*dist.Vector) error {
	text, err := CallOnRoot(&s.ranks, func() (string, error) { return f.Text("/state") })
	if err != nil {
		return err
	}
	everywhere, err := comm.FromFirst(s.ranks.World, []byte(text))
	if err != nil {
		return err
	}
	var state solver.State
	if err = json.Unmarshal(everywhere, &state); err == nil {
		err = m.Resume(p, &state)
	}
	if err != nil {
		err = status.Input(fmt.Errorf("%s: %w", path, err))
	}
	if err := s.ranks.Together(err); err != nil {
		return err
	}
	all := m.Vectors()
	if m.State().Restarted > 0 {
		maps.Copy(all, besides)
	}
	return eachLeaf(all, func(name string, v *dist.Vector) error {
		if v.Layout.Type == device.F64 {
			return loadVector[float64](s, f, name, v)
		}
		return loadVector[float32](s, f, name, v)
	})
}

// checkIdentity refuses a checkpoint of another plan and names what differs.
func checkIdentity(path string, saved, now map[string]string) error {
	all := maps.Clone(saved)
	maps.Copy(all, now)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if saved[k] != now[k] {
			return status.Hint(status.Usage(fmt.Errorf("%s: the checkpoint belongs to another run: %s was %s, is %s", path, k, cmp.Or(saved[k], "none"), cmp.Or(now[k], "none"))),
				"set it back, remove the checkpoint, or run without --resume")
		}
	}
	return nil
}
