package traveltime

import (
	"errors"

	"github.com/kirchhoff-lsm/lsm/grid"
)

func newRaysIn(m Medium, image grid.Grid, opt RayOptions) (Method, error) {
	return nil, errors.New("traveltime: rays")
}
