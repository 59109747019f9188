package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Commands say what makes a model anisotropic, whether it is used, and that waves are converted.
func TestMediaAreSaid(t *testing.T) {
	quietEnvironment(t)
	t.Chdir(soundFiles(t).copy(t))
	with("leaning.h5", soundModel, set("/epsilon", filled(nx*nz, 0.2), nx, nz), poke("/epsilon", 3, 0.1), set("/tilt", filled(nx*nz, 30), nx, nz))(t)
	with("upright.h5", soundModel, set("/tilt", filled(nx*nz, 30), nx, nz))(t)
	const leaning = " --set velocity.file=leaning.h5"
	for _, c := range []struct{ line, says string }{
		{"info leaning.h5", "  epsilon from 0.1 to 0.2\n  tilt from 30 to 30 degrees\n"},
		{"check config.toml" + leaning, "anisotropy       leaning.h5: transversely isotropic, epsilon 0.1 to 0.2, tilt 30 to 30 degrees"},
		{"check config.toml --set velocity.anisotropy=none" + leaning, `note     anisotropy       leaning.h5: velocity.anisotropy = "none" ignores /epsilon, /tilt`},
		{"check config.toml --set velocity.file=upright.h5", "note     anisotropy       upright.h5: epsilon and delta are 0 everywhere: taken as isotropic"},
		{"migrate config.toml -o a.h5 --set velocity.anisotropy=none" + leaning, `anisotropy: leaning.h5: velocity.anisotropy = "none" ignores`},
		{"check config.toml --set velocity.receiver_constant=900", "converted waves  from the sources model.h5, 2000 to 2000 m/s; to the receivers 900 m/s"},
		{"migrate config.toml -o b.h5 --set velocity.receiver_file=model.h5", "converted waves: from the sources model.h5"},
		{"info b.h5", "input_receiver_velocity  "},
		{"compare leaning.h5 leaning.h5", "models agree"},
		{"synth --model leaning.h5 -o case --frequency 5 --spacing 8 --nt 100 --geometry-only", "next: lsm check"},
		{"info case/model.h5", "  epsilon from 0."},
		{"info case/true-model.h5", "  tilt from 30 to 30 degrees\n"},
		{"synth points -o ps --shots 2 --channels 5 --nt 300 --set velocity.receiver_constant=1200", "next: lsm run"},
		{"info ps/survey.h5", `"converted"`},
		{"check ps/config.toml", "to the receivers 1200 m/s"},
	} {
		if out := succeed(t, c.line); !strings.Contains(out, c.says) {
			t.Errorf("lsm %s: does not say %q:\n%s", c.line, c.says, out)
		}
	}
	for line, says := range map[string]string{
		"compare leaning.h5 model.h5":                  "differ: epsilon is 0.2 in one and 0 in the other at (0, 0 m)",
		"synth --model leaning.h5 -o case --units mph": "units",
	} {
		var out, errs bytes.Buffer
		if code := run(strings.Fields(line), &out, &errs); !strings.Contains(errs.String(), says) || code == status.Done && !strings.HasPrefix(line, "synth") {
			t.Errorf("lsm %s: status %d\n%s%s", line, code, &out, &errs)
		}
	}
}
