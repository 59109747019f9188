package pipeline

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// spreadings are the choices of kirchhoff.spreading.
var spreadings = map[string]traveltime.Spreading{
	"distance": traveltime.NoSpreading, "ray": traveltime.RaySpreading, "ray-2.5d": traveltime.PointSpreading,
}

// chooseSpreading returns the configuration with what kirchhoff.spreading = "auto" stands for.
func chooseSpreading(cfg *config.Config, t *Times) *config.Config {
	if cfg.Kirchhoff.Spreading != "auto" {
		return cfg
	}
	c := *cfg
	c.Kirchhoff.Spreading = "distance"
	if c.Kirchhoff.Tables != "coarse" && !t.givesAmplitudes() && traveltime.Spreads(t.Method) && !t.Source.Anisotropic && !t.Receiver.Anisotropic {
		c.Kirchhoff.Spreading = "ray"
	}
	return &c
}

// askRays sets what dynamic weights take from the rays.
func askRays(k *kirchhoff.Problem, c config.Kirchhoff) {
	k.Spreading = spreadings[c.Spreading]
	if len(c.TakeoffLimit) == 2 {
		k.TakeoffLimit = c.TakeoffLimit
	}
}

// FollowsRays reports whether the weights need what rays tell of their way: spreading or take-off.
func FollowsRays(c config.Kirchhoff, t *Times) bool {
	return c.Dynamic && (c.Spreading != "distance" && !t.givesAmplitudes() || len(c.TakeoffLimit) > 0)
}

// checkScale returns an error if the scale of reflection coefficients is not known: it is derived for
// isotropic media.
func checkScale(cfg *config.Config, t *Times) error {
	switch {
	case cfg.Output.Scale != "reflectivity":
		return nil
	case !t.Source.Anisotropic && cfg.Kirchhoff.Spreading != "ray":
		return status.Usage(fmt.Errorf(`output.scale = "reflectivity" needs kirchhoff.spreading = "ray", which the traveltimes (%s) do not tell`, t.Method.Name()))
	case !t.Source.Anisotropic:
		return nil
	}
	return status.Hint(status.Usage(fmt.Errorf(`output.scale = "reflectivity": the scale is that of isotropic media, %s is anisotropic`, cfg.Velocity.File.File)),
		`output.scale = "operator" goes with every model, and velocity.anisotropy = "none" ignores what is anisotropic`)
}

// checkArrivals returns an error if several arrivals of a point, or ones that have turned, are for more than the
// tables can.
func checkArrivals(c config.Kirchhoff, t *Times) error {
	if c.Tables == "coarse" && len(traveltime.Turned(t.Method)) > 1 {
		return status.Usage(errors.New(`kirchhoff.tables = "coarse" keeps one arrival of each point, the traveltimes have several: want another`))
	}
	return nil
}

// checkRays returns an error if the weights need what the traveltimes do not tell of their rays.
func checkRays(c config.Kirchhoff, t *Times, dim int) error {
	if !c.Dynamic {
		return nil
	}
	key, value := "spreading", c.Spreading
	switch {
	case c.Spreading == "ray-2.5d" && dim != 2:
		return status.Usage(fmt.Errorf(`kirchhoff.spreading = "ray-2.5d" is for lines, but the image has %d axes: want "ray"`, dim))
	case len(c.TakeoffLimit) > 0:
		key, value = "takeoff_limit", fmt.Sprint(c.TakeoffLimit)
	case c.Spreading == "distance" || t.givesAmplitudes():
		return nil
	}
	if !traveltime.Spreads(t.Method) || len(c.TakeoffLimit) > 0 && t.Tables != nil {
		return status.Hint(status.Usage(fmt.Errorf("kirchhoff.%s = %s needs to know how rays leave and spread, which the traveltimes (%s) of this model do not tell", key, value, t.Method.Name())),
			`they are known of isotropic velocity models in depth, with traveltime.method = "eikonal" or "analytic"`)
	}
	return nil
}

// smoothedWaves is the share of the length of waves of the wavelet's peak frequency at the least velocity
// over which the slowness is smoothed for rays by default: little, since migration velocities are mostly smooth.
const smoothedWaves = 0.125

// rayOptions say how traveltime.method = "rays" traces.
func rayOptions(c config.Traveltime, g *Geometry, in *Inputs) (o traveltime.RayOptions) {
	arrivals, fill := strings.CutSuffix(c.Arrivals, "+first")
	o.Fill, o.Latest = fill, g.RecordEnd()
	switch arrivals {
	case "first":
	case "strongest":
		o.Kept.Count = 1
	default:
		o.Kept.Count, _ = strconv.Atoi(arrivals) // one of the key's choices
	}
	if o.Period = 1 / BandOf(in.Survey.Wavelet).Peak; math.IsInf(o.Period, 0) {
		o.Period = 0 // the wavelet is constant
	}
	if o.Smoothing = smoothedWaves * o.Period * in.Slowest; len(c.Smoothing) > 0 {
		o.Smoothing = c.Smoothing[0]
	}
	return o
}
