package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// cross checks the keys against each other, as far as that needs no file. Keys
// that a problem names already take no further part.
func (r *reader) cross() {
	r.required()
	r.data()
	r.velocity()
	r.image()
	r.surface()
	r.gathers()
	r.traveltime()
	r.angles()
	r.antialias()
	r.engine()
	r.comm()
	r.solver()
	r.read()
	r.outputs()
}

// good reports whether none of the keys was named by a problem.
func (r *reader) good(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(k string) bool { return r.named[k] })
}

// given reports whether the key was given anywhere.
func (r *reader) given(key string) bool {
	_, ok := r.cfg.origins[key]
	return ok
}

// where is the origin of the first of the keys that was given, or else the
// section of the first in the file.
func (r *reader) where(keys ...string) origin {
	for _, k := range keys {
		if o, ok := r.cfg.origins[k]; ok {
			return o
		}
	}
	section, _, _ := strings.Cut(keys[0], ".")
	return origin{r.path, r.pos.line(section, "")}
}

// clash reports a value that does not go with the others, at the place of the
// first of the keys that was given.
func (r *reader) clash(message string, keys ...string) {
	r.complain(r.where(keys...), keys[0], message)
}

// note is clash for what is allowed all the same.
func (r *reader) note(message string, keys ...string) {
	at := r.where(keys...)
	r.cfg.notes = append(r.cfg.notes, Problem{Source: at.source, Line: at.line, Key: keys[0], Message: message})
}

func (r *reader) required() {
	for _, f := range r.fields() {
		if f.Required && r.good(f.Name()) && !r.given(f.Name()) {
			r.complain(r.where(f.Name()), f.Name(), "missing, want "+f.want()).Hint = "it has no default"
		}
	}
}

func (r *reader) image() {
	if !r.good("image.origin", "image.spacing", "image.shape") {
		return
	}
	im := r.cfg.Image
	n := map[string]int{"image.origin": len(im.Origin), "image.spacing": len(im.Spacing), "image.shape": len(im.Shape)}
	keys := []string{"image.origin", "image.spacing", "image.shape"}
	var empty, full []string
	for _, k := range keys {
		if n[k] == 0 {
			empty = append(empty, k)
		} else {
			full = append(full, k)
		}
	}
	switch {
	case len(full) == 0:
		if r.cfg.Velocity.Constant > 0 && r.good("velocity.constant", "velocity.file") && !r.cfg.Velocity.File.IsSet() {
			r.complain(r.where("velocity.constant"), "image.shape",
				"missing, a constant velocity has no grid of its own: want image.origin, image.spacing and image.shape")
		}
	case len(empty) > 0:
		r.clash(fmt.Sprintf("missing beside %s, want all three of image.origin, image.spacing and image.shape or none",
			strings.Join(full, " and ")), append(empty, full...)...)
	case n["image.origin"] != n["image.shape"] || n["image.spacing"] != n["image.shape"]:
		r.clash(fmt.Sprintf("%s beside %d in image.origin and %d in image.spacing, want as many in each: 2 (x, z) or 3 (x, y, z)",
			readable.Count(n["image.shape"], "value"), n["image.origin"], n["image.spacing"]), "image.shape")
	default:
		if err := im.Grid().Validate(); err != nil {
			r.clash(strings.TrimPrefix(err.Error(), "grid: "), "image.shape")
		}
	}
}

// keyInUse is a key and whether its value asks for something.
type keyInUse struct {
	key  string
	used bool
}

// gathers checks the classes of image.gathers.
func (r *reader) gathers() {
	const kind, bins, ends, opening = "image.gathers", "image.gather_bins", "image.gather_ends", "kirchhoff.opening_limit"
	if !r.good(kind, bins) {
		return
	}
	im := r.cfg.Image
	if im.Gathers != "angle" && r.good(ends) && im.GatherEnds != "closed" {
		r.note(fmt.Sprintf("not used by image.gathers = %s, only by angle", quote(im.Gathers)), ends)
	}
	const least = 2
	if im.Gathers == "none" {
		if len(im.GatherBins) > 0 {
			r.note("not used without image.gathers", bins)
		}
		return
	}
	if len(im.GatherBins) < least {
		r.clash(fmt.Sprintf("%s, image.gathers = %s needs at least %d", readable.Count(len(im.GatherBins), "value"), quote(im.Gathers), least), bins, kind)
	}
	for i := 1; i < len(im.GatherBins); i++ {
		if im.GatherBins[i] <= im.GatherBins[i-1] {
			r.clash(fmt.Sprintf("%g follows %g, must ascend", im.GatherBins[i], im.GatherBins[i-1]), bins)
			break
		}
	}
	if n := len(im.GatherBins); im.Gathers == "angle" && n > 0 && im.GatherBins[n-1] > 180 {
		r.clash(fmt.Sprintf("%g degrees, opening angles reach 180", im.GatherBins[n-1]), bins)
	}
	if r.good(opening) && im.Gathers == "angle" && len(r.cfg.Kirchhoff.OpeningLimit) > 0 {
		r.clash("given beside image.gathers = \"angle\", whose classes limit the opening angle", opening, kind)
	}
	for _, k := range []keyInUse{
		{"solver.method", r.cfg.Solver.Method == "matching"},
		{"solver.preconditioner", r.cfg.Solver.Preconditioner != "none"},
		{"output.psf", r.cfg.Output.PSF.IsSet()},
	} {
		if k.used && r.good(k.key) {
			r.clash(fmt.Sprintf("%s is for one image, found image.gathers = %s", r.cfg.Value(k.key), quote(im.Gathers)), k.key, kind)
		}
	}
}

func (r *reader) traveltime() {
	if !r.good("traveltime.method", "traveltime.file", "velocity.file", "velocity.constant") {
		return
	}
	t, v := r.cfg.Traveltime, r.cfg.Velocity
	switch {
	case t.Method == "table" && !t.File.IsSet():
		r.clash(`missing, traveltime.method = "table" needs the path of a table file`, "traveltime.file", "traveltime.method")
	case t.Method == "analytic" && v.Constant == 0:
		r.clash(`"analytic" needs velocity.constant, found velocity.file; "eikonal" takes any model`, "traveltime.method")
	}
	if t.Method != "table" && t.File.IsSet() {
		r.note(fmt.Sprintf("not read by traveltime.method = %s", quote(t.Method)), "traveltime.file")
	}
}

// angles gives the limits of angles their full form: [], or taper start and cut.
func (r *reader) angles() {
	k := &r.cfg.Kirchhoff
	const angle = "kirchhoff.angle_limit"
	r.taper(angle, &k.AngleLimit)
	r.taper(dipLimit, &k.DipLimit)
	r.taper(openingLimit, &k.OpeningLimit)
	set := len(k.AngleLimit) > 0 && encode(k.AngleLimit) != r.field(angle).Default
	if r.good(angle) && set && !k.Dynamic {
		r.note("acts only with kirchhoff.dynamic = true", angle)
	}
}

const (
	dipLimit     = "kirchhoff.dip_limit"
	openingLimit = "kirchhoff.opening_limit"
	antialias    = "kirchhoff.antialias"
	tables       = "kirchhoff.tables"
)

func (r *reader) taper(key string, limit *[]float64) {
	l := *limit
	if !r.good(key) || len(l) == 0 {
		return
	}
	if len(l) == 1 {
		l = []float64{0.8 * l[0], l[0]}
		*limit = l
	}
	switch {
	case l[0] > l[1]:
		r.clash(fmt.Sprintf("taper start %g lies above the cut %g degrees, want 0 <= start <= cut <= 180", l[0], l[1]), key)
	case l[1] == 0:
		r.clash("the cut is 0 degrees, which leaves nothing, want more; [] means no limit", key)
	}
}

// antialias notes a spacing that nothing uses.
func (r *reader) antialias() {
	const spacing = "kirchhoff.antialias_spacing"
	k := r.cfg.Kirchhoff
	if r.good(antialias, spacing) && k.Antialias == "off" && len(k.AliasSpacing) > 0 {
		r.note("acts only with kirchhoff.antialias = \"triangle\"", spacing)
	}
	const preconditioner = "solver.preconditioner"
	if r.good(antialias, preconditioner) && k.Antialias != "off" && r.cfg.Solver.Preconditioner == "diagonal" {
		r.clash(fmt.Sprintf("%s needs the diagonal of the operator, which is not known with kirchhoff.antialias = %s, want \"none\" or \"two-level\" beside it",
			quote("diagonal"), quote(k.Antialias)), preconditioner, antialias)
	}
}

func (r *reader) comm() {
	const grid, backend, engine = "comm.grid", "comm.backend", "kirchhoff.engine"
	c := r.cfg.Comm
	if r.good(grid) && c.Grid[0] == 0 && c.Grid[1] == 0 {
		r.clash("only one of the two values may be 0, for as many ranks as there are", grid)
	}
	if r.good(grid, backend) && c.Backend == "self" && max(c.Grid[0], c.Grid[1]) > 1 {
		r.clash(fmt.Sprintf("%d × %d ranks, but comm.backend = \"self\" has one", c.Grid[0], c.Grid[1]), grid, backend)
	}
	if r.good("comm.accumulate", "solver.reproducible") && c.Accumulate == "onesided" && r.cfg.Solver.Reproducible == "run" {
		r.clash("\"onesided\" adds in any order: want solver.reproducible = \"off\" or \"ranks\", found \"run\"", "comm.accumulate", "solver.reproducible")
	}
	if !r.good(backend, engine) {
		return
	}
	needs := map[string]string{"nccl": "cuda", "rccl": "hip"}[c.Backend]
	if e := r.cfg.Kirchhoff.Engine; needs != "" && e != "auto" && e != needs {
		r.clash(fmt.Sprintf("%s carries the buffers of kirchhoff.engine = %s, found kirchhoff.engine = %s",
			quote(c.Backend), quote(needs), quote(e)), backend, engine)
	}
}

func (r *reader) solver() {
	if !r.good("solver.method") {
		return
	}
	s := r.cfg.Solver
	r.regularization(s)
	r.matching(s)
	thresholds := s.Method == "ista" || s.Method == "fista"
	r.twoLevel(s)
	if s.Preconditioner == "diagonal" && thresholds {
		r.clash(fmt.Sprintf("%s changes the variables, in which solver.method = %s would have another minimum: want \"cg\", \"cgls\" or \"lsqr\"",
			quote(s.Preconditioner), quote(s.Method)), "solver.preconditioner", "solver.method")
	}
	if s.Backtracking && !thresholds {
		r.note(fmt.Sprintf("not used by solver.method = %s, only by ista and fista", quote(s.Method)), "solver.backtracking")
	}
	if !r.good("solver.sparsity") {
		return
	}
	if s.PenaltyScale == "relative" && s.Damping == 0 && s.Sparsity == 0 {
		r.note("acts only with solver.damping or solver.sparsity", "solver.penalty_scale")
	}
	switch {
	case thresholds && s.Sparsity == 0:
		r.note(fmt.Sprintf("is 0, so solver.method = %s gives no sparse image", quote(s.Method)), "solver.sparsity", "solver.method")
	case !thresholds && s.Sparsity > 0:
		r.note(fmt.Sprintf("not used by solver.method = %s, only by ista and fista", quote(s.Method)), "solver.sparsity")
	}
}

// twoLevel makes sure that the preconditioner has what it needs, and notes what only it
// uses.
func (r *reader) twoLevel(s Solver) {
	const key, method, times = "solver.preconditioner", "solver.method", "traveltime.method"
	if s.Preconditioner != "two-level" {
		for _, k := range []string{"solver.coarse_factor", "solver.coarse_iterations"} {
			if r.good(k) && r.cfg.Value(k) != r.field(k).Default {
				r.note(fmt.Sprintf("not used by solver.preconditioner = %s, only by two-level", quote(s.Preconditioner)), k)
			}
		}
		return
	}
	if s.Method != "cgls" && s.Method != "matching" {
		r.clash(fmt.Sprintf("\"two-level\" is for solver.method = \"cgls\", found %s", quote(s.Method)), key, method)
	}
	if r.good(times) && r.cfg.Traveltime.Method == "table" && s.CoarseFactor != 1 {
		r.clash("\"two-level\" needs traveltimes on a coarser grid, which traveltime.method = \"table\" does not have: want another, or solver.coarse_factor = 1", key, times)
	}
}

// regularization wants both its kind and its weight, or neither.
func (r *reader) regularization(s Solver) {
	const kind, weight = "solver.regularization", "solver.regularization_weight"
	if !r.good(kind, weight) {
		return
	}
	switch {
	case s.Regularization != "none" && s.RegWeight == 0:
		r.clash(fmt.Sprintf("missing or 0, solver.regularization = %s needs a weight above 0, such as 0.1", quote(s.Regularization)), weight, kind)
	case s.Regularization == "none" && s.RegWeight > 0:
		r.clash("missing beside solver.regularization_weight, want \"gradient\", \"laplacian\" or \"dip\"", kind, weight)
	}
}

// matching refuses what would change the image with another method and does nothing
// with this one, and says what else has no effect.
func (r *reader) matching(s Solver) {
	if s.Method != "matching" {
		for _, k := range []string{"solver.matching_window", "solver.matching_filter"} {
			if r.given(k) && r.good(k) {
				r.note(fmt.Sprintf("not used by solver.method = %s, only by matching", quote(s.Method)), k)
			}
		}
		return
	}
	for _, k := range []keyInUse{
		{"solver.start", s.Start.IsSet()}, {"solver.damping", s.Damping > 0},
		{"solver.regularization", s.Regularization != "none"}, {"solver.preconditioner", s.Preconditioner != "none"},
	} {
		if k.used && r.good(k.key) {
			r.clash(`solver.method = "matching" has no use for it: it starts from the migrated image and solves for filters alone`, k.key)
		}
	}
	for _, k := range []string{"solver.iterations", "solver.tolerance", "solver.orthogonalize", "solver.true_residual_every"} {
		if r.given(k) {
			r.note(`not used by solver.method = "matching", which does not iterate`, k)
		}
	}
	if r.good("solver.matching_filter") && slices.ContainsFunc(s.Filter, func(n int) bool { return n%2 == 0 }) {
		r.clash(fmt.Sprintf("%s has an even length, want odd ones", encode(s.Filter)), "solver.matching_filter")
	}
}

// read refuses to stream for what needs all traces at once.
func (r *reader) read() {
	if key := r.cfg.Unstreamed(); key != "" && r.cfg.Data.Read == "stream" && r.good("data.read", key) {
		r.clash(fmt.Sprintf("\"stream\" does not go with %s = %s, which needs all traces in memory", key, r.cfg.Value(key)), "data.read", key)
	}
}

// Unstreamed is a key whose value needs all traces in memory at once, "" if there is
// none.
func (c *Config) Unstreamed() string {
	k, s := c.Kirchhoff, c.Solver
	for _, u := range []keyInUse{
		{"kirchhoff.engine", k.Engine != "auto" && k.Engine != "cpu"},
		{"solver.method", s.Method != "cg" && s.Method != "cgls"},
		{"solver.preconditioner", s.Preconditioner != "none"},
		{"solver.regularization", s.Regularization != "none"},
		{"solver.penalty_scale", s.PenaltyScale == "relative" && s.Damping > 0},
		{"image.gathers", c.Image.Gathers != "none"},
		{"output.psf", c.Output.PSF.IsSet()},
	} {
		if u.used {
			return u.key
		}
	}
	return ""
}

// outputs refuses to write over what is read.
func (r *reader) outputs() {
	c := r.cfg
	before := append([]File{{"the configuration file", Path{Text: r.path, File: r.path}}}, c.Reads()...)
	for _, out := range c.Writes() {
		for _, f := range before {
			if r.good(out.Key, f.Key) && f.Path.same(out.Path) {
				r.clash(fmt.Sprintf("%s is %s as well, want another file", quote(out.Path.Text), f.Key), out.Key, f.Key)
			}
		}
		before = append(before, out)
	}
	if len(c.Output.PSFSpacing) > 0 && !c.Output.PSF.IsSet() {
		r.note("acts only with output.psf", "output.psf_spacing")
	}
	if r.good("output.file") && !c.Output.File.IsSet() {
		r.clash("is empty, want a path", "output.file")
	}
	if r.good("checkpoint.folder") && !c.Checkpoint.Folder.IsSet() {
		r.clash("is empty, want a path", "checkpoint.folder")
	}
}
