package main

import (
	"math"
	"strings"
	"testing"
)

func badConfigurations() []bad {
	of := func(name, set, says string) bad {
		return bad{name, nil, "run config.toml --set " + strings.ReplaceAll(set, " ", " --set "), usageFault, says}
	}
	return []bad{
		{"configuration missing", remove("config.toml"), "", usageFault, `^lsm: config\.toml: no such file\n`},
		{"configuration is a folder", folder("config.toml"), "", usageFault, `config\.toml: is a folder, want a TOML file`},
		{"configuration is a survey", nil, "run survey.h5", usageFault, `survey\.h5: is an HDF5 file, want a TOML file`},
		{"configuration is empty", text("config.toml", ""), "", usageFault, `2 problems in the configuration\n  config\.toml: survey\.file: missing.*\n  config\.toml: velocity\.file: missing`},
		{"configuration is no TOML", text("config.toml", "[survey\nfile=1\n"), "", usageFault, `config\.toml:2:\d+: TOML: `},
		{"unknown key", text("config.toml", soundConfig+"flie = \"x.h5\"\n"), "", usageFault, `config\.toml:\d+: output\.flie: unknown key; did you mean "file"\?`},
		{"unknown section", text("config.toml", soundConfig+"[slover]\n"), "", usageFault, `config\.toml:15: \[slover\]: unknown section; did you mean \[solver\]\?`},
		{"two problems at once", text("config.toml", soundConfig+"[comm]\nbackend = 3\n[machine]\nthreads = -1\n"), "", usageFault,
			`2 problems in the configuration\n  config\.toml:16: comm\.backend: want one of .*\n  config\.toml:18: machine\.threads: want a whole number .*found -1`},
		of("set without a value", "solver.iterations", `--set solver\.iterations: want section\.key=value`),
		of("set of an unknown key", "solver.iteratons=3", `--set solver\.iteratons=3: unknown key; did you mean "iterations"\?`),
		of("set of no section", "iterations=3", `--set iterations=3: unknown key outside any section; did you mean "solver\.iterations"`),
		of("set of another type", "solver.iterations=many", `--set solver\.iterations=many: want a whole number .*, found many`),
		of("set out of range", "solver.damping=-1", `--set solver\.damping=-1: want a number from 0 to 1e15, found -1`),
		of("set of another choice", "solver.method=cgsl", `--set solver\.method=cgsl: want one of .* did you mean "cgls"\?`),
		of("two velocities", "velocity.constant=2000", `--set velocity\.constant=2000: given beside velocity\.file, want exactly one`),
		of("analytic with a model", "traveltime.method=analytic", `--set traveltime\.method=analytic: "analytic" needs velocity\.constant, found velocity\.file`),
		of("constant velocity without image", `velocity.file="" velocity.constant=2000`, `image\.shape: missing, a constant velocity has no grid`),
		of("image without shape", "image.origin=0,0 image.spacing=10,10", `image\.shape: missing beside image\.origin and image\.spacing`),
		of("image outside the model", "image.origin=0,0 image.spacing=10,10 image.shape=7,5", `image: x \[0, 60\] × z \[0, 40\] m .* reaches outside the velocity model, x \[0, 50\] × z \[0, 40\] m`),
		of("image in 3-D", "image.origin=0,0,0 image.spacing=10,10,10 image.shape=6,5,4", `image: shape \[6 5 4\] has 3 axes, the survey's positions have 2 columns`),
		of("image of too many points", "image.origin=0,0 image.spacing=1,1 image.shape=100000,100000", `--set image\.shape=100000,100000: shape \[100000 100000\] has more than 2147483647 points`),
		of("more ranks than one", "comm.grid=2,1", `comm\.grid: \[2, 1\] does not lay out the 1 rank of this run`),
		of("NCCL on the host", "comm.backend=nccl kirchhoff.engine=cpu", `--set comm\.backend=nccl: "nccl" carries the buffers of kirchhoff\.engine = "cuda", found kirchhoff\.engine = "cpu"`),
		of("output is the survey", "output.file=survey.h5", `--set output\.file=survey\.h5: "survey\.h5" is survey\.file as well`),
		of("both outputs are one", "output.adjoint=out.h5", `--set output\.adjoint=out\.h5: "out\.h5" is output\.file as well`),
		{"wavelet filter of a spike", fixed(set("/wavelet", filled(1, 1), 1), attr("/wavelet", "zero", 0)), "run config.toml --set kirchhoff.wavelet_filter=pylops", usageFault,
			`^lsm: kirchhoff\.wavelet_filter = "pylops": makes nothing of survey\.h5's wavelet of 1 sample, needs at least 2`},
		{"environment of another type", func(t *testing.T) { t.Setenv("LSM_SOLVER_ITERATIONS", "many") }, "", usageFault, `LSM_SOLVER_ITERATIONS: solver\.iterations: want a whole number`},
	}
}

func badCommandLines() []bad {
	of := func(name, args, says string) bad { return bad{name, nil, args, usageFault, `^lsm: ` + says} }
	return []bad{
		of("unknown command", "rum config.toml", `unknown command "rum"\nhint: did you mean lsm run\?`),
		of("no configuration", "run; migrate; check; traveltime; model --reflectivity reflectivity.h5", `\w+: CONFIG is missing\nhint: usage: lsm `),
		of("two configurations", "run config.toml other.toml", `run: unexpected argument "other\.toml"`),
		of("unknown flag", "run config.toml --resum", `run: unknown flag --resum\nhint: did you mean --resume\?`),
		of("flag of another command", "migrate config.toml --resume", `migrate: unknown flag --resume`),
		of("model without reflectivity", "model config.toml", `model: required flag.*reflectivity`),
		of("model with no reflectivity's name", "model config.toml --reflectivity=", `model: --reflectivity is empty, want the path of an image file`),
		of("model over its reflectivity", "model config.toml --reflectivity reflectivity.h5 --set output.file=reflectivity.h5 --force",
			`output\.file: reflectivity\.h5 is the same file as --reflectivity, reflectivity\.h5: the output must be another file`),
		of("synth of no name", "synth -o d", `synth: NAME is missing\nhint: one of .*points`),
		of("synth of an unknown name", "synth pionts -o d", `synth: .*"pionts"`),
		of("synth to nowhere", "synth points", `synth: required flag.*output`),
		of("synth of name and model", "synth points --model model.h5 -o d", `synth: give a NAME or --model, not both`),
		of("synth of negative noise", "synth points -o d --snr -2", `synth: .*-2`),
		of("synth of one sample", "synth points -o d --nt 1", `synth: .*1`),
		of("synth of an unknown geometry", "synth points -o d --geometry circle", `synth: .*"circle"`),
	}
}

// badNumbers are, or make, numbers that single precision does not hold.
func badNumbers() []bad {
	all := func(n int, size float32) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = size * float32(1-2*(i%2))
		}
		return v
	}
	const data, image = ns * nr * nt, nx * nz
	return []bad{
		{"traces too large", fixed(set("/data", all(data, math.MaxFloat32), ns, nr, nt)), "", inputFault, `^lsm: survey\.h5: the largest sample of the traces is 3\.4e\+38: sums in single precision overflow, must be from 1e-20 to 1e\+20\n`},
		{"traces too small", fixed(set("/data", all(data, 1e-45), ns, nr, nt)), "", inputFault, `^lsm: survey\.h5: the largest sample of the traces is 1\.4e-45: sums in single precision vanish`},
		{"wavelet too large", fixed(poke("/wavelet", 1, 1e200)), readers, inputFault, `^lsm: survey\.h5: the largest sample of the wavelet is 1e\+200`},
		{"reflectivity too large", with("reflectivity.h5", soundImage, set("/image", all(image, math.MaxFloat32), nx, nz)),
			"model config.toml --reflectivity reflectivity.h5", inputFault, `^lsm: reflectivity\.h5: the largest point of the image is 3\.4e\+38: sums in single precision overflow`},
		{"solve overflows", fixed(set("/data", all(data, 1e19), ns, nr, nt), func(h hdf) {
			h.sets["/weight"] = dataset{[]int{ns, nr}, []float32{1e12, 1e12, 1e12, 1e12, 1e12, 1e12}, nil}
		}), "run config.toml --set data.weights=survey --set kirchhoff.engine=cpu", numericalFault, `^lsm: solver: cgls, .* is ([+]Inf|NaN), must be finite`},
	}
}
