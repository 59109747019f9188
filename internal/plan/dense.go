package plan

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Dense says why parts of the operator that are dense are not factorised (package butterfly), empty
// if they may be: with kirchhoff.accuracy, where weights, images and the order of sums allow it.
func Dense(p *Plan) (direct string) {
	c := p.Config
	for _, reason := range []struct {
		holds bool
		text  string
	}{
		{c.Kirchhoff.Accuracy == 0, "kirchhoff.accuracy = 0"},
		{p.Image.Dim() != 3, "the image is 2-D"},
		{p.Engine != "cpu", "the engine is " + p.Engine},
		{c.Solver.Reproducible == "ranks", `solver.reproducible = "ranks"`},
		{c.Kirchhoff.Dynamic, "kirchhoff.dynamic = true"},
		{len(c.Kirchhoff.DipLimit) > 0, "kirchhoff.dip_limit is set"},
		{len(c.Kirchhoff.OpeningLimit) > 0, "kirchhoff.opening_limit is set"},
		{c.Kirchhoff.Antialias != "off", "kirchhoff.antialias = \"" + c.Kirchhoff.Antialias + "\""},
		{c.Solver.Preconditioner == "diagonal", `solver.preconditioner = "diagonal"`},
		{p.Classes.N > 0, "images by class"},
		{p.Monitor != nil, "two surveys"},
		{p.Held.Stream, "traces are streamed"},
		{p.Held.Tables == "coarse", "tables are coarse"},
	} {
		if reason.holds {
			return reason.text
		}
	}
	return ""
}

// CheckCorrection makes sure that there may be something for solver.defect_correction to correct.
func CheckCorrection(p *Plan) error {
	if why := Dense(p); p.Config.Solver.DefectCorrection && why != "" {
		return status.Usage(fmt.Errorf("solver.defect_correction: all sums are direct: %s", why))
	}
	return nil
}
