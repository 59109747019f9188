package traveltime

import (
	"context"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// converted is the method of NewConverted.
type converted struct {
	legs [2]Method // by survey.Role
}

// NewConverted returns the method for waves that are converted where they are reflected,
// such as from P to S. Times of a place that is a source come from the first method, those of
// a receiver from the second. Both must have the same grid. A place has one role, so a source
// and a receiver at one position must be two places (survey.DistinctRoles).
func NewConverted(source, receiver Method) (Method, error) {
	if a, b := source.Grid(), receiver.Grid(); !a.Equal(b) {
		return nil, fmt.Errorf("traveltime: times from sources are on %v from %v m, those to receivers on %v from %v m: must be the same grid",
			a, a.Origin, b, b.Origin)
	}
	return &converted{[2]Method{survey.AtSource: source, survey.AtReceiver: receiver}}, nil
}

// Leg returns the method that computes the times of places in a role: one of the two of
// NewConverted, or m itself.
func Leg(m Method, role survey.Role) Method {
	if c, ok := m.(*converted); ok {
		return c.legs[role]
	}
	return m
}

// Name implements Method: that of the leg which solves, if only one does.
func (c *converted) Name() string {
	source, receiver := c.legs[survey.AtSource].Name(), c.legs[survey.AtReceiver].Name()
	if source == "analytic" {
		return receiver
	}
	return source
}

// Grid implements Method.
func (c *converted) Grid() grid.Grid { return c.legs[0].Grid() }

// Domain implements Method. A limit of one leg need not limit the other: see Leg.
func (c *converted) Domain() *grid.Grid { return nil }

func (c *converted) unequal() bool { return true }

func (c *converted) spreads() bool { return Spreads(c.legs[0]) && Spreads(c.legs[1]) }

// rays serves methods whose rays do not run along slownesses.
func (c *converted) rays(role survey.Role, slowness [][]float64, w Window) {
	if leg, ok := c.legs[role].(interface {
		rays(role survey.Role, slowness [][]float64, w Window)
	}); ok {
		leg.rays(role, slowness, w)
	}
}

// split returns the places of each role, in the order given.
func split(p *survey.Positions, places []int) (of [2][]int) {
	for _, place := range places {
		of[p.Role[place]] = append(of[p.Role[place]], place)
	}
	return of
}

// ScratchBytes implements Method: that of the leg which takes more, since Solve goes through
// one after the other.
func (c *converted) ScratchBytes(p *survey.Positions, places []int, opt Options) (most int64) {
	for role, own := range split(p, places) {
		if opt.Windows == nil || len(own) > 0 {
			most = max(most, c.legs[role].ScratchBytes(p, own, opt))
		}
	}
	return most
}

// Solve implements Method.
func (c *converted) Solve(ctx context.Context, p *survey.Positions, places []int, opt Options, sink func(place int, f Field) error) error {
	if err := Check(c, p, places, opt); err != nil {
		return err
	}
	for role, own := range split(p, places) {
		if err := c.legs[role].Solve(ctx, p, own, opt, sink); err != nil {
			return err
		}
	}
	return nil
}

// check is Check, leg by leg.
func (c *converted) check(p *survey.Positions, places []int, opt Options) error {
	for role, own := range split(p, places) {
		if err := Check(c.legs[role], p, own, opt); err != nil {
			return err
		}
	}
	return nil
}
