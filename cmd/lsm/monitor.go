package main

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/forecast"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// oneSurvey refuses a repeat survey for the commands that have no use for one.
func (a *app) oneSurvey(cfg *config.Config) error {
	if !cfg.Survey.Monitor.IsSet() || slices.Contains([]string{"run", "migrate", "check"}, a.command) {
		return nil
	}
	return status.Hint(status.Usage(fmt.Errorf("survey.monitor.file: lsm %s works on one survey", a.command)),
		`--set survey.monitor.file="" takes the baseline alone; survey.file names the monitor survey for itself`)
}

// ofMonitor shows findings as those of the repeat survey.
func ofMonitor(show func(forecast.Finding)) func(forecast.Finding) {
	return func(f forecast.Finding) {
		f.Topic, f.Text = "monitor", f.Topic+": "+f.Text
		show(f)
	}
}

// compareAllSpectra compares the wavelet of each survey with its traces.
func compareAllSpectra(a *app, j *job.Job, show func(forecast.Finding)) error {
	if err := compareSpectra(a, j, show); err != nil || j.Monitor == nil {
		return err
	}
	return compareSpectra(a, j.Monitor, ofMonitor(show))
}
