package pipeline

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Waves go from a source to an image point and from there to a receiver. Both legs lie in
// Velocity, unless waves are converted: then the second lies in Receiver.

// leg is the role of the places whose medium is used for places in a role.
func legRole(p *Plan, role survey.Role) survey.Role {
	if p.Config.Velocity.Converted() {
		return role
	}
	return survey.AtSource
}

// media are the media of the legs, by role; without converted waves the first is that of both.
func media(p *Plan) []traveltime.Medium {
	all := []traveltime.Medium{p.Inputs.Velocity, p.Inputs.Receiver}
	return all[:1+legRole(p, survey.AtReceiver)]
}

// LegMedium returns the medium of the waves from, or to, places in a role.
func LegMedium(p *Plan, role survey.Role) traveltime.Medium {
	if legRole(p, role) == survey.AtReceiver {
		return p.Inputs.Receiver
	}
	return p.Inputs.Velocity
}

// Eikonal returns what solves the traveltimes of places in a role; nil: nothing does.
func Eikonal(p *Plan, role survey.Role) *traveltime.Eikonal {
	e, _ := traveltime.Leg(p.Times, role).(*traveltime.Eikonal)
	return e
}

// Speeds returns the least and the greatest velocity, in m/s, that make the length of waves
// in an image: of converted waves the harmonic means of those of the two legs.
func Speeds(p *Plan) (least, greatest float64) {
	least, greatest = p.Inputs.Velocity.Range()
	if p.Config.Velocity.Converted() {
		slow, fast := p.Inputs.Receiver.Range()
		least, greatest = 2/(1/least+1/slow), 2/(1/greatest+1/fast)
	}
	return least, greatest
}

// Remark is what may surprise the user.
type Remark struct {
	Topic, Text string
	Doubtful    bool // it may not be meant
}

// Media says that waves are converted, and how the models are anisotropic, or that this is
// ignored.
func RemarkMedia(p *Plan) (list []Remark) {
	v := p.Config.Velocity
	if v.Converted() {
		of := func(m traveltime.Medium, file string) string {
			if m.IsConstant() {
				return readable.Speed(m.Constant) + " m/s"
			}
			return fmt.Sprintf("%s, %s to %s m/s", file, readable.Speed(m.Least), readable.Speed(m.Greatest))
		}
		list = append(list, Remark{Topic: "converted waves", Text: fmt.Sprintf("from the sources %s; to the receivers %s", of(p.Inputs.Velocity, v.File.File), of(p.Inputs.Receiver, v.ReceiverFile.File))})
	}
	for _, m := range p.Inputs.Models {
		if m.Anisotropy != "" {
			list = append(list, Remark{"anisotropy", m.Anisotropy, !m.Used})
		}
	}
	return list
}

// timesOf makes the method of the traveltimes of places in a role.
func timesOf(p *Plan, role survey.Role, s traveltime.Spec) (traveltime.Method, error) {
	s.Medium = LegMedium(p, role)
	m, err := traveltime.New(p.Config.Traveltime.Method, s)
	if file := p.Inputs.Models[legRole(p, role)].File; err != nil && file != "" {
		if err = fmt.Errorf("%s: %w", file, err); status.Code(err) == status.Other {
			err = status.Input(err)
		}
	}
	return m, err
}

// insideModels refuses an image that reaches outside a model.
func insideModels(p *Plan) error {
	for _, m := range media(p) {
		if !m.IsConstant() && !p.Image.Inside(m.Grid) {
			return status.Hint(fmt.Errorf("image: %s reaches outside the velocity model, %s", ExtentText(p.Image), ExtentText(m.Grid)),
				"choose image.origin and image.shape within the model, or make a larger one (lsm velocity --margin, --depth)")
		}
	}
	return nil
}
