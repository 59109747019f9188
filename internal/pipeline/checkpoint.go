package pipeline

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/solver"
)

const (
	checkpointFormat = "lsm-checkpoint"
	checkpointsKept  = 2
	checkpointDigits = 7 // solver.iterations is at most 1e6
	checkpointSuffix = ".checkpoint.h5"
	checkpointChunk  = 4 << 20 // elements of a vector that rank 0 holds at a time
)

// Checkpoints is the checkpoints of a run.
type Checkpoints struct {
	ranks  Ranks
	folder string
	base   string            // how their names begin
	plan   map[string]string // what must be the same for one to be continued
	own    []string          // this run's own, oldest first
}

// NewCheckpoints returns the store of a configuration. A checkpoint can be continued if its plan is
// the same.
func NewCheckpoints(r Ranks, cfg *config.Config, plan map[string]string) *Checkpoints {
	return &Checkpoints{ranks: r, folder: cfg.Checkpoint.Folder.File, base: checkpointBase(cfg), plan: plan}
}

func checkpointBase(cfg *config.Config) string {
	out := filepath.Base(cfg.Output.File.File)
	return strings.TrimSuffix(out, filepath.Ext(out)) + "-"
}

// CheckpointLock is the name that a run locks, so that no other run writes or removes the same
// checkpoints.
func CheckpointLock(cfg *config.Config) string {
	return filepath.Join(cfg.Checkpoint.Folder.File, strings.TrimSuffix(checkpointBase(cfg), "-"))
}

// pattern matches this output's checkpoints. It matches all digits of the number, because
// "image-2.h5" has checkpoints next to "image.h5" too.
func (s *Checkpoints) pattern() string {
	return filepath.Join(h5.EscapeGlob(s.folder), h5.EscapeGlob(s.base)+strings.Repeat("[0-9]", checkpointDigits)+checkpointSuffix)
}

// listFiles lists this output's checkpoints, newest first.
func (s *Checkpoints) listFiles() []string {
	found, _ := filepath.Glob(s.pattern())
	slices.Sort(found)
	slices.Reverse(found)
	return found
}

// NewestCheckpointSince is the newest of a configuration's checkpoints if it was written since then; "" without. It
// opens none, for a process that ends now.
func NewestCheckpointSince(cfg *config.Config, since time.Time) string {
	for _, path := range NewCheckpoints(Ranks{}, cfg, nil).listFiles() {
		if info, err := os.Stat(path); err == nil && !info.ModTime().Before(since.Truncate(time.Second)) {
			return path
		}
	}
	return ""
}

// removeUnfinished removes files left by runs that were killed while they wrote a checkpoint.
func (s *Checkpoints) removeUnfinished() { h5.Sweep(s.pattern() + ".tmp-*") }

// Save writes a checkpoint, on all ranks. It keeps only the previous one besides: other
// checkpoints belong to a run that this one replaces.
func (s *Checkpoints) Save(m *solver.Method, besides map[string]*dist.Vector) (string, error) {
	defer s.ranks.Report.Time("checkpoint")()
	path := filepath.Join(s.folder, fmt.Sprintf("%s%0*d%s", s.base, checkpointDigits, m.State().Iteration, checkpointSuffix))
	if err := s.write(path, m, besides); err != nil {
		return "", err
	}
	s.countAsOwn(path)
	if s.ranks.Root() {
		for _, other := range s.listFiles() {
			if !slices.Contains(s.own, other) {
				os.Remove(other) // one that stays does no harm
			}
		}
		s.removeUnfinished()
	}
	return path, nil
}

// countAsOwn counts a checkpoint among this run's own.
func (s *Checkpoints) countAsOwn(path string) {
	if !slices.Contains(s.own, path) {
		s.own = append(s.own, path)
	}
	s.own = s.own[max(0, len(s.own)-checkpointsKept):]
}

// write writes one file on rank 0.
func (s *Checkpoints) write(path string, m *solver.Method, besides map[string]*dist.Vector) error {
	return PublishFile(&s.ranks, func() (*h5.Writer, error) { return s.begin(path, m) }, func(w *h5.Writer) error {
		all := m.Vectors()
		maps.Copy(all, besides)
		return eachLeaf(all, func(name string, v *dist.Vector) error {
			if v.Layout.Type == device.F64 {
				return saveVector[float64](s, w, name, v)
			}
			return saveVector[float32](s, w, name, v)
		})
	})
}

// begin starts a checkpoint file, in a folder that need not be there, with everything but
// the vectors.
func (s *Checkpoints) begin(path string, m *solver.Method) (*h5.Writer, error) {
	if err := os.MkdirAll(s.folder, 0o755); err != nil {
		return nil, status.Resource(fmt.Errorf("checkpoint: %w", err))
	}
	state, err := json.Marshal(m.State())
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	plan, _ := json.Marshal(s.plan) // texts
	w, err := h5.Create(path, checkpointFormat, h5.WriteOptions{Force: true})
	if err != nil {
		return nil, err
	}
	// The first error sticks.
	w.Text("/state", string(state))
	w.Text("/plan", string(plan))
	w.Group("/vectors")
	return w, nil
}

func saveVector[T float32 | float64](s *Checkpoints, w *h5.Writer, name string, v *dist.Vector) error {
	to, err := CallOnRoot(&s.ranks, func() (*h5.Section, error) { return h5.NewSection[T](w, name, []int{v.Layout.Size()}) })
	if err != nil {
		return err
	}
	return FileError(dist.GatherEach(v, checkpointChunk, func(first int, part device.Buf) error {
		return h5.WriteAt(to, device.Slice[T](part), first)
	}))
}

func loadVector[T float32 | float64](s *Checkpoints, f *h5.File, name string, v *dist.Vector) error {
	from, err := CallOnRoot(&s.ranks, func() (*h5.Dataset, error) {
		from, err := f.Dataset(name)
		if err == nil {
			err = from.Want("the vector of this run", v.Layout.Size())
		}
		return from, err
	})
	if err != nil {
		return err
	}
	return FileError(dist.ScatterEach(v, checkpointChunk, func(first int, part device.Buf) error {
		return h5.ReadAt(from, device.Slice[T](part), first)
	}))
}

// eachLeaf visits the leaves of vectors by name, in a fixed order; the rows of a
// stack are numbered.
func eachLeaf(vectors map[string]*dist.Vector, f func(name string, v *dist.Vector) error) error {
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
	for _, n := range slices.Sorted(maps.Keys(vectors)) {
		if err := visit("/vectors/"+n, vectors[n]); err != nil {
			return err
		}
	}
	return nil
}

// Forget removes the checkpoints of a finished run, and their folder where nothing else is
// in it. Rank 0 calls it.
func (s *Checkpoints) Forget() {
	s.removeUnfinished()
	removed := false
	for _, path := range s.listFiles() {
		removed = os.Remove(path) == nil || removed
	}
	if removed {
		os.Remove(s.folder)
	}
}
