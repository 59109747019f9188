package main

import (
	"bytes"
	"math/rand"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// sampleValues are values of the keys that have neither choices nor are true or false.
var sampleValues = map[string][]string{
	"survey.wavelet_file": {"survey.h5"},
	"data.offset":         {"0,1000"}, "data.azimuth": {"0,90"}, "data.mute_offsets": {"0,500"}, "data.mute_times": {"0.01,0.02"},
	"data.mute_taper": {"0.01"}, "data.whiten": {"0.1"},
	"velocity.constant": {"2000"}, "velocity.receiver_file": {"model.h5"}, "velocity.receiver_constant": {"1500"},
	"image.origin": {"0,0"}, "image.spacing": {"20,20"}, "image.shape": {"3,4"}, "image.surface_file": {"model.h5"},
	"image.surface_taper": {"20"}, "image.gather_bins": {"0,200,1000", "10,40"}, "image.gather_azimuths": {"3"},
	"traveltime.smoothing": {"0", "30"}, "traveltime.margin": {"50"}, "traveltime.file": {"times.h5"},
	"kirchhoff.angle_limit": {"", "50"}, "kirchhoff.takeoff_limit": {"60"}, "kirchhoff.dip_limit": {"40"}, "kirchhoff.opening_limit": {"60"},
	"kirchhoff.aperture": {"80"}, "kirchhoff.aperture_taper": {"20"}, "kirchhoff.antialias_spacing": {"25"},
	"comm.grid": {"1,1"}, "comm.timeout": {"10"},
	"solver.iterations": {"0", "1"}, "solver.tolerance": {"0.9"}, "solver.damping": {"0", "0.5"}, "solver.start": {"reflectivity.h5"},
	"solver.orthogonalize": {"0", "1"}, "solver.true_residual_every": {"1"}, "solver.regularization_weight": {"0.1"},
	"solver.matching_window": {"2,3"}, "solver.matching_filter": {"3,3"},
	"checkpoint.minutes": {"0"}, "checkpoint.iterations": {"1"}, "checkpoint.time_limit": {"60"}, "checkpoint.folder": {"saved"},
	"output.adjoint": {"a.h5"}, "output.residual": {"r.h5"}, "output.weights": {"w.h5"}, "output.psf": {"p.h5"}, "output.psf_spacing": {"2,2"},
	"machine.threads": {"1", "3"}, "machine.memory_gib": {"0.001", "1"},
}

// settings are the values to try of every key, each as key=value.
func settings(t *testing.T) (all []string) {
	for _, f := range config.Fields() {
		values := append(f.Choices, sampleValues[f.Name()]...)
		if f.Type == "bool" {
			values = []string{"false", "true"}
		}
		if len(values) == 0 && !f.Required && f.Name() != "velocity.file" && f.Name() != "output.file" {
			t.Errorf("%s has no sample value here", f.Name())
		}
		for _, v := range values {
			all = append(all, f.Name()+"="+v)
		}
	}
	return all
}

// Whatever a key is set to, each command does its work or says why not: no setting ends in a panic or
// an error without a cause. With LSM_TEST_LONG more commands, and three settings at once, drawn at random.
func TestSettings(t *testing.T) {
	long := gputest.Long() // asked before the environment is cleared
	quietEnvironment(t)
	t.Chdir(soundFiles(t).copy(t))
	succeed(t, "run config.toml --set solver.band=false --set data.weights=none --set output.file=solved.h5")
	commands := []string{"run config.toml", "target config.toml --window :,: -o x.h5", "wavelet --config config.toml --image solved.h5 -o x.h5"}
	if long {
		commands = append(commands, "check config.toml", "migrate config.toml", "model config.toml --reflectivity reflectivity.h5",
			"traveltime config.toml", "target config.toml --window :,: --image solved.h5 -o x.h5", "bench solve config.toml")
	}
	try := func(command string, set ...string) {
		line := command + " --force"
		for _, s := range set {
			line += " --set " + s
		}
		var out, errs bytes.Buffer
		code := run(strings.Fields(line), &out, &errs)
		if strings.Contains(errs.String(), "internal error") || code != status.Done && (code == status.Other || !strings.Contains(errs.String(), "lsm: ")) {
			t.Errorf("lsm %s: status %d\n%s", line, code, &errs)
		}
	}
	all := settings(t)
	for _, command := range commands {
		for _, s := range all {
			try(command, s)
		}
	}
	if !long {
		return
	}
	r := rand.New(rand.NewSource(1))
	for range 3000 {
		try(commands[r.Intn(len(commands))], all[r.Intn(len(all))], all[r.Intn(len(all))], all[r.Intn(len(all))])
	}
}
