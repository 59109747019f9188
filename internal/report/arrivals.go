package report

import "github.com/kirchhoff-lsm/lsm/io/picture"

// Arrivals says where first arrivals are weak, such as head waves, if that is known.
type Arrivals struct {
	Weak    []float64 // [image points], the share of the places from which it is; nil: not known
	Says    string    // a remark on it, or why it is not known
	Warning bool      // it matters
}

// MayBeWeak reports whether a run has traveltimes whose first arrivals need not be the strongest,
// and which --compute can look at.
func (r *Run) MayBeWeak() bool {
	return r.Config != nil && r.Config.Traveltime.Method == "eikonal" && r.Config.Velocity.Constant == 0
}

func (p *page) drawArrivals() error {
	a := p.Arrivals
	if a == nil || a.Weak == nil {
		return nil
	}
	return p.Weak.add("map of weak first arrivals", "Share of the places whose first arrival is weak")(
		picture.Model(p.Image.Grid, a.Weak, picture.Options{Title: "weak first arrivals", Bar: "share of the places", At: p.At}))
}
