package analysis

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/tomography"
)

// verdict says how a loop goes on after a step.
type verdict int

const (
	next  verdict = iota // the next step has its model
	again                // this step has another model
	ended                // there is nothing more to do
)

// DecisionFile is the file in the folder of a step that says what was made of its picks.
const DecisionFile = "update.json"

// decision is the decision about the picks of a step.
type decision struct {
	Knots        []float64          `json:"knots"`            // their distances along each axis, m or s
	Coefficients []float64          `json:"coefficients"`     // of the change that the picks ask for
	Choice       *tomography.Choice `json:"choice,omitempty"` // of its smoothness
	Share        float64            `json:"share"`            // of the change that the next model has
	Stop         string             `json:"stop,omitempty"`   // why there is no next model
}

// judge picks the image of a step and makes the next model. A model is kept only if its stack has more
// power than the one before. Otherwise half of the change is tried instead, and then the loop ends with
// the model before. It also ends where picks that are left out ask for no change.
func (l *Loop) judge(ctx context.Context, cfg *config.Config, s Step, done func(Step, *Scan) error) (verdict, error) {
	model := ""
	if cfg.Image.Domain == "time" {
		model = s.Model
	}
	scan, err := Open(ctx, s.Image, model, cfg.Survey.File.File, l.Settings, l.Report)
	if err != nil {
		return ended, err
	}
	defer scan.Close()
	if s.Power, err = scan.StackPower(); err != nil {
		return ended, err
	}
	if s.Number > 0 {
		if s.Power <= l.last.Power {
			return l.takeLess(ctx, s)
		}
		l.keep()
		if s.Relative, err = between(l.last.Model, l.last.Units, s.Model); err != nil {
			return ended, err
		}
	}
	if err := scan.WritePicks(picksOf(s), true); err != nil {
		return ended, err
	}
	s.Picks = scan.Picks
	if err := done(s, scan); err != nil {
		return ended, err
	}
	// After each step, so that the file is there however the loop ends.
	final, err := os.ReadFile(s.Model)
	if err == nil {
		err = pipeline.WriteText(filepath.Join(l.Folder, FinalFile), string(final))
	}
	if err != nil || s.Number == l.Loops {
		return ended, err
	}
	l.last = s
	return l.update(ctx)
}

// picksOf is the file of a step's picks.
func picksOf(s Step) string { return filepath.Join(filepath.Dir(s.Image), "picks.h5") }

// keep takes the change that the present model was made of as one that stays.
func (l *Loop) keep() {
	d := l.pending
	if l.before == nil {
		l.before = make([]float64, len(d.Coefficients))
	}
	for k, c := range d.Coefficients {
		l.before[k] += d.Share * c
	}
}

// takeLess makes the model of step s of half the change, or ends the loop with the step before.
func (l *Loop) takeLess(ctx context.Context, s Step) (verdict, error) {
	d := l.pending
	if d.Share == 1 {
		l.Report.Infof("loop %d: the stack has %.4g of the traces' energy, %.4g before: half of the change is tried", s.Number, s.Power, l.last.Power)
		d.Share = 0.5
		return again, l.write(ctx, nil)
	}
	d.Stop = fmt.Sprintf("the change that the picks of loop %d ask for, and half of it, takes power from the stack", l.last.Number)
	for _, file := range []string{s.Image, s.Model} {
		if err := os.Remove(file); err != nil {
			return ended, status.Resource(err)
		}
	}
	os.Remove(filepath.Dir(s.Image)) // stays if somebody has put something into it
	l.Stopped = d.Stop
	return ended, l.record()
}

// update decides what is made of the last step's picks, or has been decided before.
func (l *Loop) update(ctx context.Context) (verdict, error) {
	_, err := os.Stat(filepath.Join(l.folder(l.last.Number+1), "model.h5"))
	made := err == nil
	if text, err := os.ReadFile(l.decided()); err == nil && l.Resume && l.last.Reused {
		d := new(decision)
		if err := json.Unmarshal(text, d); err != nil {
			return ended, status.Input(fmt.Errorf("%s: is not a record of an update: %w", l.decided(), err))
		}
		if l.pending = d; d.Stop != "" || made {
			l.Stopped = d.Stop
			return map[bool]verdict{true: ended, false: next}[d.Stop != ""], nil
		}
	}
	change, err := l.change(ctx)
	if err != nil {
		return ended, err
	}
	if l.Deviation, err = change.Solution.Deviation(change.Grid); err != nil {
		return ended, status.Numerical(err)
	}
	if n := len(change.Solution.Coefficients); l.Deviation == nil {
		l.Report.Infof("the deviation of the velocity is left out: it takes a matrix of at most %d knots squared, there are %d", tomography.MostDeviating, n)
	}
	d := &decision{Knots: change.Spacing, Coefficients: change.Solution.Coefficients, Choice: change.Solution.Choice, Share: 1}
	l.pending = d
	if c := d.Choice; c != nil && c.None {
		d.Stop = fmt.Sprintf("a change from the picks of loop %d does not explain those that are left out: %s of their moveout would be left", l.last.Number, readable.Percent(c.Best()))
		l.Stopped = d.Stop
		return ended, l.record()
	}
	if n := change.Solution.Cut; n > 0 {
		l.Report.Infof("--bound %g cuts %s of the change: the next loop goes on", l.Choices.Bound, readable.Count(n, "coefficient"))
	}
	return next, l.write(ctx, change)
}

// change is the change that the last step's picks give.
func (l *Loop) change(ctx context.Context) (*Change, error) {
	file := picksOf(l.last)
	picks, err := ReadPicks(file)
	if err != nil {
		return nil, err
	}
	cfg, choices := *l.Config, l.Choices
	cfg.Velocity.File, cfg.Velocity.Units = config.Path{Text: l.last.Model, File: l.last.Model}, l.last.Units
	if l.before != nil { // the changes so far are of their knots
		choices.Knots = l.pending.Knots
	}
	return Update(ctx, &cfg, picks, file, choices, l.before, l.Report)
}

// write writes the model of the pending decision, and the decision. Without the change it is found again.
func (l *Loop) write(ctx context.Context, change *Change) error {
	if change == nil {
		var err error
		if change, err = l.change(ctx); err != nil {
			return err
		}
		change.take(l.pending.Share)
	}
	folder := l.folder(l.last.Number + 1)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return status.Resource(err)
	}
	if err := change.Write(filepath.Join(folder, "model.h5"), "loop", true); err != nil {
		return err
	}
	return l.record()
}

// decided is the file of the pending decision.
func (l *Loop) decided() string { return filepath.Join(l.folder(l.last.Number), DecisionFile) }

func (l *Loop) record() error {
	text, err := json.Marshal(l.pending)
	if err != nil {
		return err
	}
	return pipeline.WriteText(l.decided(), string(text)+"\n")
}

// StackPower is the energy of the stack of the gathers over what it would be if all classes were alike: Σ (Σ_h g_h)² over
// n Σ_h g_h², g_h the image of class h of n. It is their semblance over the whole image (Neidell and Taner 1971, Semblance and
// other coherency measures for multichannel data, Geophysics 36).
func (c *Scan) StackPower() (float64, error) {
	g := &c.Gathers
	n, nz := len(g.Offsets), g.Grid.Shape[g.Grid.Dim()-1]
	stack, all := 0.0, 0.0
	for column := range g.Grid.Len() / nz {
		panel, err := g.Panel(column)
		if err != nil {
			return 0, err
		}
		for z := range nz {
			sum := 0.0
			for h := range n {
				v := float64(panel[h*nz+z])
				sum += v
				all += v * v
			}
			stack += sum * sum
		}
	}
	return stack / math.Max(float64(n)*all, math.SmallestNonzeroFloat64), nil
}

// Roughness is the root mean square of a velocity's slope along the line, in 3-D of its gradient along x and y, 1/s.
func Roughness(g grid.Grid, v []float64) float64 {
	whole := 0.0
	for a, stride := range g.Strides()[:g.Dim()-1] {
		sum, n := 0.0, 0
		for i := range v {
			if i/stride%g.Shape[a] > 0 {
				d := (v[i] - v[i-stride]) / g.Spacing[a]
				sum += d * d
				n++
			}
		}
		whole += sum / float64(max(1, n))
	}
	return math.Sqrt(whole)
}
