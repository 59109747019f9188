package plan

import (
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Problem describes the operator of a share to the engines.
func (p *Plan) Problem(s *Share) *kirchhoff.Problem {
	c := p.Config.Kirchhoff
	k := &kirchhoff.Problem{
		Grid:          p.Image,
		Slab:          s.Slab,
		Positions:     s.Places,
		NT:            p.Survey.NT,
		DT:            p.Survey.DT,
		T0:            p.Survey.T0,
		Wavelet:       p.Wavelet,
		WaveletFilter: c.WaveletFilter && p.White == nil,
		Times:         p.Times,
		Dynamic:       c.Dynamic,
		Threads:       p.Threads,
	}
	if len(c.DipLimit) == 2 {
		k.DipLimit = c.DipLimit
	}
	if o := c.OpeningLimit; len(o) == 2 {
		k.Opening = kirchhoff.Window{Fall0: o[0], Fall1: o[1]}
	}
	if w := p.Classes.Windows; w != nil {
		k.Opening = w[0]
	}
	if c.Antialias != "off" {
		k.Antialias = p.AliasSpacing()
	}
	if k.Antialias != nil || c.Dynamic {
		k.Velocity = p.Velocity.On(p.Image)
	}
	if c.Dynamic {
		k.MaxDistance[0], k.MaxDistance[1] = kirchhoff.MaxDistance(p.Image, p.Places)
		if len(c.AngleLimit) == 2 {
			k.AngleLimit = c.AngleLimit
		}
		if t := p.Tables; t != nil && t.Has(survey.AtSource, h5.Amplitude) && t.Has(survey.AtReceiver, h5.Amplitude) {
			k.Amplitude = func(own int) ([]float64, error) {
				b, place := make([]float64, p.Image.Len()), s.From[own]
				return b, t.ReadRow(b, p.Places.Role[place], h5.Amplitude, int(p.Places.Row[place]))
			}
		}
	}
	return k
}
