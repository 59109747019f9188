package analysis

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"

	"github.com/kirchhoff-lsm/lsm/internal/moveout"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Loop migrates, picks and updates the velocity, again and again. Each loop has a folder of its own,
// loop-0, loop-1, …: the model that it begins with (loop-0 has that of the configuration), the image,
// the picks. The last folder shows what the updates have come to. A model whose stack has less power than the one before is not
// kept, see judge.
type Loop struct {
	World  comm.Comm
	Config *config.Config
	Folder string
	Loops  int
	Report *progress.Reporter

	Settings Settings
	Choices  Choices
	Resume   bool
	Force    bool

	Stopped   string    // why the loop has ended before its last update; "" if it has not
	Deviation []float64 // standard deviation of the velocity's logarithm at the model's points by the last picks; nil if not known

	last    Step      // the one before, on rank 0
	pending *decision // what the next model was made of
	before  []float64 // coefficients of the changes that were kept
}

// Step is the result of one loop.
type Step struct {
	Number   int
	Model    string // file of the model that the gathers were migrated with
	Units    string // of its velocities, as in velocity.units
	Image    string
	Picks    []moveout.Pick
	Relative float64 // root mean square of the relative change of the velocity from the step before
	Power    float64 // of the stack, see [Scan.StackPower]

	Reused bool // image and picks were there
}

// MeanResidual is the mean residual moveout of a step, in m or s.
func (s Step) MeanResidual() float64 { return moveout.MeanResidual(s.Picks) }

// record is the content of the file RecordFile of a loop: the settings that must be the same for
// a resume.
type record struct {
	Config   map[string]string `json:"config"`
	Inputs   map[string]string `json:"inputs"`
	Settings Settings          `json:"scan"`
	Choices  Choices           `json:"update"`
}

// RecordFile is the file in the folder of a loop that says what it was made with.
const RecordFile = "loop.json"

// FinalFile is the file in the folder of a loop with the model that it has come to.
const FinalFile = "final.h5"

// Check refuses configurations that make no gathers to pick, before anything is written.
func (l *Loop) Check() error {
	if err := updatable(l.Config); err != nil {
		return err
	}
	if l.Config.Image.Gathers != "offset" {
		return status.Hint(status.Usage(fmt.Errorf("loop: image.gathers is %q, must be \"offset\"", l.Config.Image.Gathers)),
			`--set image.gathers=offset --set image.gather_bins=0,300,600,… makes gathers; image.gather_normalize = "illumination" is worth its time`)
	}
	if n := len(l.Config.Image.GatherBins) - 1; n < moveout.LeastTraces {
		return status.Usage(fmt.Errorf("loop: image.gather_bins makes %d classes, must be at least %d for moveout to be seen", n, moveout.LeastTraces))
	}
	for _, in := range l.Config.Reads() {
		if l.writes(in.Path.File) {
			return status.Usage(fmt.Errorf("loop: %s, %s, lies where the loop writes its own files: give another folder than %s", in.Key, in.Path.File, l.Folder))
		}
	}
	return nil
}

// writes reports whether a file lies in the folder of one of the loops, or a link leads there.
func (l *Loop) writes(file string) bool {
	inside := func(folder, file string) bool {
		rel, err := filepath.Rel(folder, file)
		return err == nil && (strings.HasPrefix(rel, "loop-") || rel == FinalFile)
	}
	return inside(absolute(l.Folder), absolute(file)) || inside(plain(l.Folder), plain(file))
}

// absolute is a path from the root, as it is written.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// plain is the existing part of a path from the root without links.
func plain(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return absolute(path)
}

// Begin writes the record into the folder, which is there, or compares it with that of the loop that is
// resumed. It is for one rank.
func (l *Loop) Begin() error {
	now := record{Config: map[string]string{}, Inputs: map[string]string{}, Settings: l.Settings, Choices: l.Choices}
	now.Settings.Threads = 0
	for _, f := range config.Fields() {
		switch f.Section {
		case "machine", "comm", "checkpoint", "output", "solver":
		default:
			now.Config[f.Name()] = l.Config.Value(f.Name())
		}
	}
	for role, path := range map[string]config.Path{"survey": l.Config.Survey.File, "velocity": l.Config.Velocity.File} {
		in, err := provenance.Hash(role, path.File)
		if err != nil {
			return status.Input(err)
		}
		now.Inputs[role] = in.SHA256
	}
	path := filepath.Join(l.Folder, RecordFile)
	text, err := os.ReadFile(path)
	switch {
	case err == nil && l.Resume:
		return now.same(path, text)
	case err == nil && !l.Force:
		return status.Hint(status.Usage(fmt.Errorf("%s: the folder already holds a loop", l.Folder)), "--resume continues it, --force starts again and overwrites it")
	case err != nil && !os.IsNotExist(err):
		return status.Resource(err)
	}
	old, err := filepath.Glob(filepath.Join(h5.EscapeGlob(l.Folder), "loop-*", "*.h5"))
	if err == nil && len(old) > 0 && !l.Force {
		return status.Hint(status.Usage(fmt.Errorf("%s exists, but without the %s of its loop", old[0], RecordFile)), "give another folder, or --force")
	}
	decided, err := filepath.Glob(filepath.Join(h5.EscapeGlob(l.Folder), "loop-*", DecisionFile))
	if err != nil {
		return err
	}
	for _, file := range append(old, decided...) { // begun again: nothing of it may be taken for new
		if err := os.Remove(file); err != nil {
			return status.Resource(err)
		}
	}
	out, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		return err
	}
	return pipeline.WriteText(path, string(out)+"\n")
}

// same makes sure that a loop that is resumed is the one that was begun.
func (r record) same(path string, text []byte) error {
	var was record
	if err := json.Unmarshal(text, &was); err != nil {
		return status.Input(fmt.Errorf("%s: is not a record of a loop: %w", path, err))
	}
	for name, value := range r.Config {
		if was.Config[name] != value {
			return status.Usage(fmt.Errorf("%s: the loop was begun with %s = %s, it is %s now: a loop that is resumed must stay the same", path, name, was.Config[name], value))
		}
	}
	for role, digest := range r.Inputs {
		if was.Inputs[role] != digest {
			return status.Input(fmt.Errorf("%s: the loop was begun with another %s file", path, role))
		}
	}
	before, _ := json.Marshal([]any{was.Settings, was.Choices})
	now, _ := json.Marshal([]any{r.Settings, r.Choices})
	if string(before) != string(now) {
		return status.Usage(fmt.Errorf("%s: the loop was begun with other options of scan or update: %s, not %s", path, before, now))
	}
	return nil
}

// Run runs the loop on all ranks and hands each step that is kept to done on rank 0, with the scan of its image.
func (l *Loop) Run(ctx context.Context, done func(s Step, scan *Scan) error) error {
	cfg := *l.Config
	l.Stopped, l.Deviation, l.pending, l.before = "", nil, nil, nil
	for i := 0; ; {
		if err := comm.Together(l.World, ctx.Err()); err != nil {
			return err
		}
		folder := l.folder(i)
		s := Step{Number: i, Model: cfg.Velocity.File.File, Units: cfg.Velocity.Units, Image: filepath.Join(folder, "image.h5")}
		var err error
		if s.Reused, err = l.migrated(&cfg, folder, s.Image); err != nil {
			return err
		}
		if !s.Reused {
			if err := l.migrate(ctx, &cfg, s.Image); err != nil {
				return err
			}
		}
		var v verdict
		err = l.atRoot(func() (err error) {
			v, err = l.judge(ctx, &cfg, s, done)
			return err
		})
		if err != nil {
			return err
		}
		end, err := comm.Any(l.World, v == ended)
		if err != nil || end {
			return err
		}
		repeat, err := comm.Any(l.World, v == again)
		if err != nil {
			return err
		}
		if !repeat {
			model := filepath.Join(l.folder(i+1), "model.h5")
			cfg.Velocity.File, cfg.Velocity.Units = config.Path{Text: model, File: model}, "auto" // the file says m/s
			i++
		}
	}
}

// folder is the folder of a step.
func (l *Loop) folder(step int) string { return filepath.Join(l.Folder, fmt.Sprintf("loop-%d", step)) }

// atRoot does something on rank 0, for which the others wait.
func (l *Loop) atRoot(do func() error) error {
	var err error
	if l.World.Rank() == 0 {
		err = pipeline.FileError(do())
	}
	return comm.Together(l.World, err)
}

// migrated reports, on all ranks, whether the image of a step is there, made from its model. It makes
// the folder.
func (l *Loop) migrated(cfg *config.Config, folder, image string) (bool, error) {
	there := false
	err := l.atRoot(func() error {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return status.Resource(err)
		}
		if _, err := os.Stat(image); err != nil || !l.Resume {
			return nil
		}
		attrs, err := h5.ReadAttrs(image)
		if err != nil {
			return err
		}
		in, err := provenance.Hash("velocity", cfg.Velocity.File.File)
		there = err == nil && digest(provenance.FromAttrs(attrs), "velocity") == in.SHA256
		return status.Input(err)
	})
	if err != nil {
		return false, err
	}
	return comm.Any(l.World, there)
}

// migrate makes the image of a step.
func (l *Loop) migrate(ctx context.Context, cfg *config.Config, image string) error {
	j, err := pipeline.Open(l.World, cfg, pipeline.NeedTraces, l.Report)
	if err != nil {
		return err
	}
	defer j.Close()
	j.WarnOfDoubts()
	op, err := j.Build(ctx)
	if err != nil {
		return err
	}
	d, err := j.Data()
	if err != nil {
		return err
	}
	migrated, err := op.Migrate(ctx, d)
	if err != nil {
		return err
	}
	return j.WriteAdjoint(image, migrated, pipeline.Source{Command: "loop", Force: true})
}

// between is the relative change from one model to another, both in files.
func between(from, units, to string) (float64, error) {
	_, v, err := pipeline.ReadVelocity(from, units)
	if err != nil {
		return 0, err
	}
	_, w, err := pipeline.ReadVelocity(to, "auto")
	if err == nil && len(v) != len(w) {
		err = status.Input(fmt.Errorf("%s: has %d points, %s has %d", to, len(w), from, len(v)))
	}
	if err != nil {
		return 0, err
	}
	return (&Change{Before: v, After: w}).Relative(), nil
}

// Gamma is the mean of |γ − 1| of the picks of a step, weighted by their certainty.
func (s Step) Gamma() float64 {
	sum, weights := 0.0, 0.0
	for _, p := range s.Picks {
		sum += p.Certainty * math.Abs(p.Gamma-1)
		weights += p.Certainty
	}
	return sum / max(weights, math.SmallestNonzeroFloat64)
}
