package config

// removal is a key, or one value of a key, that earlier versions had.
type removal struct {
	key     string // full name
	value   string // as TOML, the value that is gone; of a key that is gone, its default; "" for a section within another
	instead string // what to use, a sentence without its period
}

// removedKeys are keys that are gone. A file that an earlier version recorded may still hold them at
// their defaults.
var removedKeys = []removal{
	{"survey.monitor", "", onRepeats},
	{"survey.monitor.file", `""`, onRepeats},
	{"survey.monitor.wavelet_file", `""`, onRepeats},
	{"survey.monitor.velocity_file", `""`, onRepeats},
	{"survey.monitor.difference", `"l2"`, onRepeats},
	{"survey.monitor.difference_weight", "0.1", onRepeats},
	{"solver.sparsity", "0.0", `solver.damping bounds the image of "cgls"`},
	{"solver.total_variation", "0.0", `solver.damping bounds the image of "cgls", and solver.regularization smooths it`},
	{"solver.group_sparsity", "0.0", `solver.damping bounds the images of "cgls"`},
	{"solver.gap_tolerance", "0.0", "solver.tolerance ends a run by its residual"},
	{"solver.backtracking", "false", `"cgls" finds the length of its steps by itself`},
	{"kirchhoff.accuracy", "0.0", "leave it out: all sums are direct, between the samples of the data"},
	{"solver.defect_correction", "false", "leave it out: all sums are direct, which leaves nothing to correct"},
	{"solver.preconditioner", `"none"`, onDefaults},
	{"solver.coarse_factor", "0", onDefaults},
	{"solver.coarse_iterations", "8", onDefaults},
	{"solver.psf_spacing", "[]", onDefaults},
	{"solver.psf_shifts", "1", onDefaults},
	{"solver.wavelet", `"given"`, onWavelets},
	{"solver.wavelet_updates", "2", onWavelets},
	{"solver.wavelet_by", `"survey"`, onWavelets},
	{"solver.wavelet_length", "0.0", onWavelets},
	{"solver.wavelet_ridge", "0.001", onWavelets},
}

// removedValues are values that are gone, of keys that remain.
var removedValues = []removal{
	{"solver.method", `"lsqr"`, `"cgls" has the same iterates`},
	{"solver.method", `"ista"`, `"cgls" with the defaults makes truer images`},
	{"solver.method", `"fista"`, `"cgls" with the defaults makes truer images`},
	{"solver.method", `"primal-dual"`, `"cgls" with the defaults makes truer images`},
	{"data.weights", `"rms"`, `use "coherence", or "survey" with weights of your own`},
	{"solver.method", `"image-domain"`, `use "matching", or "cgls"`},
	{"solver.regularization", `"gradient"`, `use "dip", or solver.damping`},
	{"kirchhoff.tables", `"uint16"`, `use "auto", or "coarse", which takes less memory`},
	{"solver.regularization", `"laplacian"`, `use "dip", or solver.damping`},
}

const (
	onDefaults = "take it out: the defaults of the solver do as well or better"
	onRepeats  = "run each survey with the same [image], and draw what has changed by lsm plot baseline.h5 monitor.h5 --difference"
	onWavelets = "take it out, find the wavelet with lsm wavelet before the run, and name its file by survey.wavelet_file"
)

// atDefaults reports whether a key is gone and has its old default, or a section whose keys all are and have.
func atDefaults(name string, v any) bool {
	keys, isTable := v.(map[string]any)
	for key, value := range keys {
		if !atDefaults(name+"."+key, value) {
			return false
		}
	}
	if !isTable {
		_, gone := findRemoval(removedKeys, name, encode(v))
		return gone
	}
	_, gone := findRemoval(removedKeys, name, "")
	return gone
}

// findRemoval finds the entry of a key, also as the environment spells it, and, unless it is empty, of its value as TOML.
func findRemoval(list []removal, key, value string) (removal, bool) {
	for _, r := range list {
		if environmentName(r.key) == environmentName(key) && (value == "" || r.value == value) {
			return r, true
		}
	}
	return removal{}, false
}
