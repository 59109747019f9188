package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// verdict is how the run went, in words. Mood is good, fair or bad.
type verdict struct {
	Mood, Headline string
	Points         []string
	Suspects       bool // the page names the usual causes of a high residual
}

// gain is the least fall of the residual in one iteration that is worth it.
const gain = 0.01

// Verdict judges the run.
func (r *Run) Verdict() verdict {
	if r.Target() {
		return r.targetVerdict()
	}
	if !r.Solved() {
		return verdict{Mood: "fair", Headline: "Plain migration: no solver ran"}
	}
	v := r.outcome()
	v.Points = append(v.Points, r.fitPoints()...)
	r.suspectPoints(&v)
	h, d := r.Image.ResidualNorm, r.DotTest
	if !isNorm(h[0]) || !isNorm(h[len(h)-1]) || d != nil && !d.Passed() {
		v.Mood = "bad"
	}
	return v
}

// targetVerdict says what is known of a target.
func (r *Run) targetVerdict() verdict {
	v := verdict{Mood: "good", Headline: "Solved by the Hessian of the target"}
	if !slices.ContainsFunc(r.Fields, func(f h5.Field) bool { return f.Name == "standard_deviation" }) {
		v.Points = append(v.Points, "The noise is not known, so there is no standard deviation: --image or --noise of lsm target brings it.")
	}
	return v
}

// outcome says why the run ended.
func (r *Run) outcome() verdict {
	text := r.Record().Reason
	after := "after " + readable.Count(r.Iterations(), "iteration")
	switch reason := solver.Reason(text); reason {
	case solver.ConvergedResidual:
		return verdict{Mood: "good", Headline: "Converged " + after, Points: []string{
			"The residual reached " + r.withValue("solver.tolerance") + ": the run has done what it was asked for."}}
	case solver.ConvergedGradient:
		return verdict{Mood: "good", Headline: "Converged " + after, Points: []string{
			"The gradient cannot be told from rounding: no further step can improve the image."}}
	case solver.StoppedIterations:
		return verdict{Mood: "fair", Headline: "Stopped at its limit " + after, Points: []string{
			"The run ended as it was asked to, at " + r.withValue("solver.iterations") + ", not because it had converged."}}
	case solver.StoppedAgreement:
		return verdict{Mood: "fair", Headline: "Stopped " + after, Points: []string{
			"The images of the odd and of the even shots agreed less and less: further iterations would fit what is not in all shots."}}
	case solver.StoppedSignal, solver.StoppedTime:
		return verdict{Mood: "fair", Headline: "Stopped early " + after, Points: []string{
			map[bool]string{true: "It was asked to stop.", false: "Its time was up."}[reason == solver.StoppedSignal] + " The same command with --resume goes on."}}
	case solver.Matched:
		return verdict{Mood: "good", Headline: "Made by matching filters", Points: []string{
			"The migrated image was filtered to undo one pass of modelling and migration, and scaled to fit the data. There are no iterations to converge."}}
	case "":
		return verdict{Mood: "fair", Headline: "Ended " + after, Points: []string{"The file does not say why the run ended."}}
	default:
		if reason.Failed() {
			return verdict{Mood: "bad", Headline: "Failed " + after, Points: []string{"The solver gave up: " + text + ". Do not trust the image."}}
		}
		return verdict{Mood: "fair", Headline: "Ended " + after, Points: []string{"Reason given: " + text + "."}}
	}
}

// withValue is a key of the configuration, followed by its value where that is known.
func (r *Run) withValue(key string) string {
	if r.Config == nil {
		return key
	}
	return key + " (" + r.Config.Value(key) + ")"
}

// fitPoints says how the residual and the gradient fell.
func (r *Run) fitPoints() (points []string) {
	h := r.Image.ResidualNorm
	n := len(h) - 1
	first, last := h[0], h[n]
	switch {
	case !isNorm(first) || !isNorm(last):
		return []string{fmt.Sprintf("The history holds %g and %g, which are no norms: do not trust it.", first, last)}
	case first == 0:
		return []string{"The residual was zero at the start: the data hold nothing to explain."}
	case last >= first && n > 0:
		points = append(points, fmt.Sprintf("The residual did not fall: %s at the start, %s at the end. Check units, wavelet and velocity.", number(first), number(last)))
	default:
		points = append(points, fmt.Sprintf("The residual fell from %s to %s, to %s of its start, which leaves %s of the energy unexplained.",
			number(first), number(last), percent(last/first), percent(last/first*(last/first))))
	}
	least, coherent := slices.Min(h), r.Config != nil && r.Config.Data.Weights == "coherence"
	if coherent {
		points = append(points, `Norms are those of the data as they are weighed (data.weights = "coherence"): what the first image does not predict counts less, so that a residual may rise where the weights are found.`)
	}
	if at := slices.Index(h, least); least < last*(1-1e-6) && !coherent {
		points = append(points, fmt.Sprintf("It was lower before the end: %s after iteration %d.", number(least), at))
	} else if n > 0 && h[n-1] > 0 && last < first && r.Record().Reason != string(solver.Matched) {
		fall := 1 - last/h[n-1]
		switch {
		case fall > gain:
			points = append(points, fmt.Sprintf("The last iteration still lowered it by %s: more iterations would fit the data closer, which need not make the image truer.", percent(fall)))
		case fall >= 0:
			points = append(points, fmt.Sprintf("The last iteration lowered it by %s: more iterations would gain little.", percent(fall)))
		}
	}
	if g := r.Image.GradientNorm; len(g) > 1 && g[0] > 0 && finite(g[0]) && finite(g[len(g)-1]) {
		points = append(points, fmt.Sprintf("The gradient ended at %s of its start.", percent(g[len(g)-1]/g[0])))
	}
	if a := r.Image.Agreement; len(a) > 0 {
		best := slices.Max(a)
		points = append(points, fmt.Sprintf("The odd and the even shots agree by %.3f on the image; the most was %.3f, after %s. What both have wrong, as by a wrong velocity, this does not see.",
			a[len(a)-1], best, readable.Count(slices.Index(a, best)+1, "iteration")))
	}
	return points
}

func isNorm(v float64) bool { return finite(v) && v >= 0 }

// Zero reports whether the image is zero everywhere.
func (r *Run) Zero() bool {
	return !slices.ContainsFunc(r.Image.Data, func(v float32) bool { return v != 0 })
}

// AdjointError is the greatest relative difference between forward and adjoint in the
// tests of the iterations, "" where none is known.
func (r *Run) AdjointError() string {
	worst := math.NaN()
	if r.Log != nil {
		for _, it := range r.Log.Iterations {
			if it.Adjoint != nil && !(*it.Adjoint <= worst) {
				worst = *it.Adjoint
			}
		}
	}
	if !finite(worst) {
		return ""
	}
	return fmt.Sprintf("%.1e", worst)
}

// much is the unexplained share of the data's energy above which the page names suspects.
const much = 0.25

// suspectPoints says so where much of the data stays unexplained and more iterations
// would not help.
func (r *Run) suspectPoints(v *verdict) {
	h := r.Image.ResidualNorm
	n := len(h) - 1
	first, last := h[0], h[n]
	if n < 1 || !isNorm(first) || !isNorm(last) || first == 0 {
		return
	}
	left := last / first * (last / first)
	later := left // after as many iterations again that gain as the last one did
	if fall := last / h[n-1]; fall < 1 && r.Record().Reason != string(solver.Matched) {
		later = left * math.Pow(fall, 2*float64(n))
	}
	if !(later > much) {
		return
	}
	if v.Mood == "good" {
		v.Mood = "fair"
	}
	if left < 1 {
		v.Headline += ", with " + percent(left) + " of the data's energy unexplained"
	}
	v.Points = append(v.Points, "More iterations alone will not change that: operator and data do not fit each other. Find the cause before you trust the image.")
	if r.startsWithAdjoint() && n > 1 && isNorm(h[1]) {
		after := h[1] / first * (h[1] / first)
		point := fmt.Sprintf("Compare it with the adjoint: plain migration, scaled to fit, leaves %s unexplained, and the %s after it brought that to %s.",
			percent(after), readable.Count(n-1, "iteration"), percent(left))
		if after-left < much*after {
			point += " The least-squares image explains little more than the adjoint does."
		}
		v.Points = append(v.Points, point)
	}
	v.Suspects = true
}

// startsWithAdjoint reports whether the first iterate is the adjoint image times a
// factor.
func (r *Run) startsWithAdjoint() bool {
	if r.Config == nil {
		return false
	}
	s := r.Config.Solver
	return slices.Contains([]string{"cg", "cgls"}, s.Method) && !s.Start.IsSet() &&
		r.Config.Image.Gathers == "none"
}
