package pipeline

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// spreadings are the choices of kirchhoff.spreading.
var spreadings = map[string]traveltime.Spreading{
	"distance": traveltime.NoSpreading, "ray": traveltime.RaySpreading, "ray-2.5d": traveltime.PointSpreading,
}

// chooseSpreading puts what kirchhoff.spreading = "auto" stands for into the plan's configuration.
func chooseSpreading(p *Plan) {
	c := *p.Config
	if c.Kirchhoff.Spreading != "auto" {
		return
	}
	c.Kirchhoff.Spreading = "distance"
	if c.Kirchhoff.Tables != "coarse" && !givenAmplitudes(p) && traveltime.Spreads(p.Times) && !p.Inputs.Velocity.Anisotropic && !p.Inputs.Receiver.Anisotropic {
		c.Kirchhoff.Spreading = "ray"
	}
	p.Config = &c
}

// askRays sets what dynamic weights take from the rays.
func askRays(k *kirchhoff.Problem, c config.Kirchhoff) {
	k.Spreading = spreadings[c.Spreading]
	if len(c.TakeoffLimit) == 2 {
		k.TakeoffLimit = c.TakeoffLimit
	}
}

// FollowsRays reports whether the weights need what rays tell of their way: spreading or take-off.
func FollowsRays(p *Plan) bool {
	c := p.Config.Kirchhoff
	return c.Dynamic && (c.Spreading != "distance" && !givenAmplitudes(p) || len(c.TakeoffLimit) > 0)
}

// givenAmplitudes reports whether the spreading comes from a table file.
func givenAmplitudes(p *Plan) bool {
	t := p.Inputs.Tables
	return t != nil && t.Has(survey.AtSource, h5.Amplitude) && t.Has(survey.AtReceiver, h5.Amplitude)
}

// checkScale returns an error if the scale of reflection coefficients is not known: it is derived for
// isotropic media.
func checkScale(p *Plan) error {
	m := p.Inputs.Models[survey.AtSource]
	switch {
	case p.Config.Output.Scale != "reflectivity":
		return nil
	case !p.Inputs.Velocity.Anisotropic && p.Config.Kirchhoff.Spreading != "ray":
		return status.Usage(fmt.Errorf(`output.scale = "reflectivity" needs kirchhoff.spreading = "ray", which the traveltimes (%s) do not tell`, p.Times.Name()))
	case !p.Inputs.Velocity.Anisotropic:
		return nil
	}
	return status.Hint(status.Usage(fmt.Errorf(`output.scale = "reflectivity": the scale is that of isotropic media, %s is anisotropic`, m.File)),
		`output.scale = "operator" goes with every model, and velocity.anisotropy = "none" ignores what is anisotropic`)
}

// checkRays returns an error if the weights need what the traveltimes do not tell of their rays.
func checkRays(p *Plan) error {
	c := p.Config.Kirchhoff
	if !c.Dynamic {
		return nil
	}
	key, value := "spreading", c.Spreading
	switch {
	case c.Spreading == "ray-2.5d" && p.Image.Dim() != 2:
		return status.Usage(fmt.Errorf(`kirchhoff.spreading = "ray-2.5d" is for lines, but the image has %d axes: want "ray"`, p.Image.Dim()))
	case len(c.TakeoffLimit) > 0:
		key, value = "takeoff_limit", fmt.Sprint(c.TakeoffLimit)
	case c.Spreading == "distance" || givenAmplitudes(p):
		return nil
	}
	if !traveltime.Spreads(p.Times) {
		return status.Hint(status.Usage(fmt.Errorf("kirchhoff.%s = %s needs to know how rays leave and spread, which the traveltimes (%s) of this model do not tell", key, value, p.Times.Name())),
			`they are known of isotropic velocity models in depth, with traveltime.method = "eikonal" or "analytic"`)
	}
	return nil
}
