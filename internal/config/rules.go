package config

import (
	"strings"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/engines"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// refused lists the combinations of values that are errors, in the order in which they
// are checked. Checks that need more than conditions are in cross.go.
var refused = []rule{
	// The velocity and the traveltimes.
	{"velocity.constant", on("velocity.file"), "given beside velocity.file, want exactly one of the two"},
	{"!velocity.file", on("!velocity.constant"), "missing, want exactly one of velocity.file (a path) and velocity.constant (a number above 0, in m/s)"},
	{"velocity.receiver_constant", on("velocity.receiver_file"), "given beside velocity.receiver_file, want at most one of the two"},
	{"!traveltime.file", on("traveltime.method:tables"), "missing, traveltime.method = {traveltime.method} needs the path of a table file"},
	{"traveltime.method:constant", on("!velocity.constant", "velocity.file"), "{} needs velocity.constant, found velocity.file; for any model: " + traveltime.TakesModel()},
	{"traveltime.method:constant", on("velocity.receiver_file"), "{} needs velocity.receiver_constant, found velocity.receiver_file; for any model: " + traveltime.TakesModel()},
	{"velocity.receiver_file", on("traveltime.method:tables"), bothLegs},
	{"velocity.receiver_constant", on("traveltime.method:tables"), bothLegs},

	// Images in the time domain.
	{"image.domain=time", on("!traveltime.method:time"), `{} needs traveltime.method = "rms" or "table", found {traveltime.method}`},
	{"image.domain=depth", on("!traveltime.method:depth"), `{} does not go with traveltime.method = {traveltime.method}, which needs image.domain = "time"`},
	{"image.gathers=angle", on("image.domain=time"), inTime},
	{"image.surface", on("image.domain=time"), "{} needs depths: an image in the time domain starts at a flat datum"},
	{"kirchhoff.dynamic=true", on("image.domain=time"), inTime},
	{"kirchhoff.dip_limit", on("image.domain=time"), inTime},
	{"kirchhoff.opening_limit", on("image.domain=time"), inTime},
	{"kirchhoff.tables=coarse", on("image.domain=time"), "{} interpolates time over distance, which an image in the time domain does not have, want another"},

	// The image and its gathers.
	{"!image.shape", on("velocity.constant", "!velocity.file", "!velocity.receiver_file", "!image.origin", "!image.spacing"),
		"missing, a constant velocity has no grid of its own: want image.origin, image.spacing and image.shape"},
	{"!image.surface_file", on("image.surface=file"), `missing, image.surface = "file" needs the path of a file with the dataset /surface`},
	{"kirchhoff.opening_limit", on("image.gathers=angle"), `given beside image.gathers = "angle", whose classes limit the opening angle`},
	{"solver.method=matching", on("image.gathers"), oneImage},
	{"output.psf", on("image.gathers"), oneImage},
	{"image.gather_angle=reflection", on("image.gathers=angle", "velocity.receiver_file"), unequalLegs},
	{"image.gather_angle=reflection", on("image.gathers=angle", "velocity.receiver_constant"), unequalLegs},

	{"image.halves=true", on("image.gathers"), "{} makes an image of each half of the shots, found image.gathers = {image.gathers}"},
	{"image.halves=true", on("solver.method=matching"), halved},
	{"output.filter=agreement", on("image.halves=false"), "{} is found from the images of both halves of the shots: want image.halves = true"},
	{"image.halves=true", on("output.psf"), "{} makes two images, found output.psf, which is for one"},
	{"image.halves=true", on("output.scale=reflectivity"), `{} makes two images, found output.scale = "reflectivity", which is for one`},

	{"kirchhoff.tables=coarse", on("kirchhoff.dynamic=true", "kirchhoff.spreading=ray|ray-2.5d"), "{} keeps times alone, but kirchhoff.spreading = {kirchhoff.spreading} needs the spreading of each place"},
	{"traveltime.method=rays", on("velocity.receiver_file"), traced},
	{"traveltime.method=rays", on("velocity.receiver_constant"), traced},
	{"kirchhoff.tables=coarse", on("traveltime.method=rays"), "{} interpolates times from point to point, which those of rays are not smooth enough for: want another"},
	{"kirchhoff.engine=cuda|hip", on("traveltime.method=rays", "!traveltime.arrivals=first"), `{} takes one arrival at each point, before any caustic: want kirchhoff.engine = "cpu" or traveltime.arrivals = "first", found {traveltime.arrivals}`},

	{"kirchhoff.tables=coarse", on("kirchhoff.dynamic=true", "kirchhoff.takeoff_limit"), "{} keeps times alone, but kirchhoff.takeoff_limit needs how rays leave each place"},

	// The units of the image.
	{"output.scale=reflectivity", on("kirchhoff.dynamic=false"), "{} needs the weights of kirchhoff.dynamic = true"},
	{"output.scale=reflectivity", on("!kirchhoff.wavelet_filter=on"), `{} needs kirchhoff.wavelet_filter = "on", found {kirchhoff.wavelet_filter}`},
	{"output.scale=reflectivity", on("!kirchhoff.spreading=auto|ray"), `{} needs kirchhoff.spreading = "ray", found {kirchhoff.spreading}`},
	{"output.scale=reflectivity", on("!solver.method=cg|cgls"), `{} is for solver.method = "cg" or "cgls", found {solver.method}`},
	{"output.scale=reflectivity", on("velocity.receiver_file"), unscaled},
	{"output.scale=reflectivity", on("velocity.receiver_constant"), unscaled},
	{"output.scale=reflectivity", on("image.gathers"), oneImage},
	{"output.scale=reflectivity", on("data.whiten"), "{} does not go with data.whiten, which flattens the spectrum of the wavelet"},

	// The ranks.
	{"comm.grid=[0, 0]", nil, "only one of the two values may be 0, for as many ranks as there are"},
	{"!comm.grid=[0, 0]|[0, 1]|[1, 0]|[1, 1]", on("comm.backend=self"), `{} is for several ranks, but comm.backend = "self" has one`},
	{"comm.accumulate=onesided", on("solver.reproducible=run"), `{} adds in any order: want solver.reproducible = "off" or "ranks", found {solver.reproducible}`},
	{"comm.backend=nccl", on("!kirchhoff.engine=auto|cuda"), `{} carries the buffers of kirchhoff.engine = "cuda", found kirchhoff.engine = {kirchhoff.engine}`},
	{"comm.backend=rccl", on("!kirchhoff.engine=auto|hip"), `{} carries the buffers of kirchhoff.engine = "hip", found kirchhoff.engine = {kirchhoff.engine}`},

	// The solver.
	{"!solver.regularization_weight", on("solver.regularization"), "missing or 0, solver.regularization = {solver.regularization} needs a weight above 0, such as 0.1"},
	{"!solver.regularization", on("solver.regularization_weight"), "missing beside solver.regularization_weight, want {solver.regularization?}"},
	{"solver.start", on("solver.method=matching"), unmatched},
	{"!solver.damping=0.0", on("solver.method=matching"), unmatched},
	{"solver.regularization", on("solver.method=matching"), unmatched},

	// Weights that a first solve finds.
	{"data.weights=coherence", on("solver.method=matching"), "{} is found by a first solve, which solver.method = {solver.method} does not have"},

	// The outputs.
	{"output.file=", nil, "is empty, want a path"},
	{"checkpoint.folder=", nil, "is empty, want a path"},
}

// givesWay lists defaults that replace the ordinary ones under a condition on other keys. The first
// entry of a key that holds counts.
var givesWay = []struct {
	key, value string // value as in the tag default
	beside     string // condition
}{
	{"data.weights", "none", "solver.method=matching"},
	{"kirchhoff.dynamic", "false", "image.domain=time"},
	{"solver.band", "false", "solver.method=matching"},
	{"solver.damping", "0", "solver.method=matching"},
	{"solver.damping", "0", "solver.penalty_scale=absolute"},
	{"solver.damping", "0.03", "output.scale=reflectivity"},
	{"solver.damping", "0.03", "image.gathers=offset|angle"},
}

// noted lists the combinations that are allowed but perhaps not meant.
var noted = []rule{
	{"!kirchhoff.tables=auto|full", on("kirchhoff.engine=reference"), `not used by kirchhoff.engine = "reference", which has full tables only`},
}

const (
	unequalLegs = `{} is half the opening angle, but the angles of converted waves are two: want "opening"`
	bothLegs    = "has no use beside traveltime.method = {traveltime.method}, whose file holds the times of sources and of receivers"
	unscaled    = "{} is for waves of one kind, not for converted waves"
	traced      = "{} is for waves of one kind, not for converted waves"
	inTime      = `{} needs the angles of rays, which an image in the time domain does not have`
	oneImage    = "{} is for one image, found image.gathers = {image.gathers}"
	halved      = "{} makes two images, found solver.method = {solver.method}, which is for one"
	unmatched   = `solver.method = "matching" has no use for it: it starts from the migrated image and solves for filters alone`
)

func on(conditions ...string) []string { return conditions }

// unstreamed lists the conditions that need all traces in memory at once.
var unstreamed = [][]string{
	{"!kirchhoff.engine=" + offering(engines.Streamed)},
	{"!solver.method=cg|cgls"},
	{"solver.regularization"},
	{"image.gathers"},
	{"image.halves"},
	{"output.psf"},
}

// offering returns the values of kirchhoff.engine that offer a feature. The engine that auto takes
// offers it too.
func offering(f engines.Features) string {
	return strings.Join(append(engines.Offering(f), "auto"), "|")
}

// Matches reports whether the image is found by matching filters.
func (s Solver) Matches() bool { return s.Method == "matching" }

// Unstreamed is a key whose value needs all traces in memory at once, "" if there is
// none.
func (c *Config) Unstreamed() string {
	for _, all := range unstreamed {
		holds := true
		for _, text := range all {
			holds = holds && table().condition(text).holds(c)
		}
		if holds {
			return table().condition(all[0]).field.Name()
		}
	}
	return ""
}
