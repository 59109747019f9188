package report

import (
	"strconv"

	"github.com/kirchhoff-lsm/lsm/solver"
)

// step is something to try after a run: why, and the command that does it.
type step struct{ Why, Command string }

// mostSteps is how many steps a page names.
const mostSteps = 4

// answer says in one or two sentences whether the image can be trusted. v is the verdict without it.
func (r *Run) answer(v verdict) string {
	h := r.Image.ResidualNorm
	switch {
	case v.Mood == "bad":
		return "No. Do not trust it."
	case r.Zero():
		return "No: it is zero everywhere."
	case r.Target():
		return "As good as the traces allow in this window. The maps of resolution and uncertainty say how good that is."
	case !r.Solved():
		return "Plain migration puts reflectors in their places. Nothing here tells how well the image explains the traces."
	}
	first, last := h[0], h[len(h)-1]
	left := percent(last / first * (last / first))
	switch {
	case first == 0:
		return "There is nothing to judge: the traces are zero."
	case last >= first:
		return "No: it explains nothing of the traces."
	case v.Suspects:
		return "Take care: it leaves " + left + " of the energy of the traces unexplained, and more iterations will not change that."
	case !r.Weighted() && !r.settled():
		return "Not settled: the last iteration still changed the fit."
	}
	return "As far as this run can tell, yes: the fit has settled and leaves " + left + " of the energy of the traces unexplained. A wrong velocity can fit as well, so check it."
}

// Weighted reports whether samples counted by coherence, so that residuals are those of weighted traces.
func (r *Run) Weighted() bool { return r.Config != nil && r.Config.Data.Weights == "coherence" }

// settled reports whether the last iteration lowered the residual by less than gain.
func (r *Run) settled() bool {
	h := r.Image.ResidualNorm
	n := len(h) - 1
	return n < 1 || r.Record().Reason == string(solver.Matched) || !(1-h[n]/h[n-1] > gain)
}

// Next lists what to try after this run, the most useful first. config.toml stands for the run's configuration,
// whose name the image file does not hold.
func (r *Run) Next() []step {
	if r.Zero() {
		return []step{{"See which traces and which points of the image the run has used.", "lsm check config.toml"}}
	}
	if r.Target() {
		return nil
	}
	var steps []step
	add := func(why, command string) { steps = append(steps, step{why, command}) }
	c := r.Config
	switch reason := solver.Reason(r.Record().Reason); {
	case reason == solver.StoppedSignal || reason == solver.StoppedTime:
		add("Finish the run.", "lsm run config.toml --resume")
	case r.Solved() && !r.settled() && !r.Weighted():
		if c != nil && c.Solver.Damping == 0 {
			add("Damp the inversion: without damping, iterations fit what no image explains.", "lsm run config.toml --set solver.damping=0.2 -o damped.h5")
		} else {
			add("Iterate further.", "lsm run config.toml --set solver.iterations="+strconv.Itoa(2*r.Iterations())+" -o longer.h5")
		}
	}
	if c != nil && c.Image.Gathers == "none" {
		add("Check the velocity: where it is right, reflectors are flat in the gathers. Where they are not, lsm loop improves it.", "lsm run config.toml --set image.gathers=offset -o gathers.h5")
	}
	if !r.Solved() {
		add("Invert the same traces by least squares, and compare.", "lsm run config.toml -o inverted.h5")
	}
	if a := r.Arrivals; a != nil && a.Warning && c != nil && c.Traveltime.Method == "eikonal" {
		add("Count later arrivals: the first ones are weak in a part of the image.", "lsm run config.toml --set traveltime.method=rays --set traveltime.arrivals=3+first -o later.h5")
	}
	if r.Solved() && c != nil && !c.Image.Halves {
		add("See where noise made the image: this compares images of the odd and of the even shots.", "lsm run config.toml --set image.halves=true -o halves.h5")
	}
	if r.Solved() && r.Adjoint == nil {
		add("Compare it with plain migration. Least squares sharpens reflectors; doubt those that it adds.", "lsm migrate config.toml -o migrated.h5")
	}
	return steps[:min(len(steps), mostSteps)]
}
