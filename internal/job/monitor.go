package job

import (
	"slices"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/formulation"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/operator"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// monitorRole begins the roles of the inputs that only the repeat survey has.
const monitorRole = "monitor_"

// Surveys are the job of the baseline and, where there is one, that of the repeat survey.
func Surveys(j *Job) []*Job {
	if j.Monitor == nil {
		return []*Job{j}
	}
	return []*Job{j, j.Monitor}
}

// readMonitor reads what the configuration says of a repeat survey, if there is one, but its
// traces, and returns the plan of both. p is the plan of the baseline.
func readMonitor(j *Job, p *plan.Plan, hardware plan.Hardware, need plan.Need) (*plan.Plan, error) {
	if !p.Config.Survey.Monitor.IsSet() {
		return p, nil
	}
	cfg := p.Config.AtMonitor(p.Image)
	in, err := inputs.Read(j.Ranks, cfg)
	if err != nil {
		return nil, err
	}
	j.Monitor = &Job{Operator: &operator.Operator{Here: j.Here, Plan: &plan.Plan{Inputs: in}}} // to be closed
	err = plan.CheckMonitor(p.Inputs, in, cfg.Survey.File.File)
	var m *plan.Plan
	if err == nil {
		m, err = plan.New(cfg, in, hardware, need)
	}
	if err == nil {
		p, err = plan.Beside(p, m)
	}
	if err == nil && need == plan.Planning {
		m, err = operator.LoadAll(p.Monitor)
		p = plan.WithMonitor(p, m)
	}
	if err == nil {
		j.Monitor.Plan = p.Monitor
		j.Monitor.Share, err = p.Monitor.Share(j.Grid, j.World.Rank())
	}
	if err := j.Together(err); err != nil {
		return nil, err
	}
	said := p.Remarks()
	for _, text := range j.Monitor.Remarks() {
		if !slices.Contains(said, text) {
			j.Report.Infof("monitor: %s", text)
		}
	}
	j.digests = Files(j)
	return p, nil
}

// Files are the files of the configuration, those that only the repeat survey has among them.
func Files(j *Job) []provenance.Input {
	files, known := slices.Clone(j.Inputs.Digests), map[string]bool{}
	for _, d := range files {
		known[d.SHA256] = true
	}
	if j.Monitor == nil {
		return files
	}
	for _, d := range j.Monitor.Inputs.Digests {
		if !known[d.SHA256] {
			d.Role = monitorRole + d.Role
			files = append(files, d)
		}
	}
	return files
}

// stack is the vector of the baseline above that of the repeat survey.
func stack(baseline, monitor *dist.Vector) *dist.Vector {
	return &dist.Vector{Layout: dist.Stack(baseline.Layout, monitor.Layout), Parts: []*dist.Vector{baseline, monitor}}
}

// joint is the setting of both surveys.
func joint(j *Job) (*formulation.Setting, error) {
	b, err := settingOf(j.Operator)
	if err != nil || j.Monitor == nil {
		return b, err
	}
	m, err := settingOf(j.Monitor.Operator)
	if err != nil {
		return nil, err
	}
	return b.Joint(m, j.Config.Survey.Monitor)
}

// writeMonitor writes the image of the repeat survey and what it is more than the baseline's.
func writeMonitor(j *Job, w *h5.ImageWriter, r *Result) error {
	b, m := r.Classes.Parts[0], r.Classes.Parts[1]
	err := j.Gather(m, 1, func(first int, part []float32) error { return w.WriteMonitor(part, first) })
	if err != nil {
		return err
	}
	var difference *dist.Vector
	do := dist.Work{}
	do.New(j.Device, m.Layout, &difference)
	do.Copy(difference, m)
	do.Axpby(-1, b, 1, difference)
	do.Do(func() error {
		defer difference.Free()
		return j.Gather(difference, 1, func(first int, part []float32) error { return w.WriteDifference(part, first) })
	})
	return do.Err
}
