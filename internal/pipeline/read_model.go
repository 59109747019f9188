package pipeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// ModelFile is a velocity model file that is open; the zero Model: none.
type ModelFile struct {
	Reader *h5.ModelReader
	File   string
	Point  int // numbers that a run reads at each point: the velocity, and what makes it anisotropic

	// Anisotropy says what the file holds beside the velocity, "" for nothing. Used reports
	// whether it acts.
	Anisotropy string
	Used       bool
}

// modelRanges holds the facts that all ranks need about a whole model. Rank 0 finds them.
type modelRanges struct {
	Least, Greatest, Slowest float64
	Properties               map[h5.Property][2]float64 // least and greatest of each
}

// readVelocity opens the velocity models: of the waves from the sources and, if waves are
// converted, of those to the receivers.
func (in *Inputs) readVelocity(r Ranks, cfg *config.Config) (err error) {
	v := cfg.Velocity
	in.Velocity.Constant, in.Receiver.Constant = v.Constants()
	in.Velocity, in.Slowest, err = in.openModel(r, cfg, survey.AtSource, v.File, in.Velocity)
	if err != nil || !v.Converted() {
		return err
	}
	slowest := 0.0
	in.Receiver, slowest, err = in.openModel(r, cfg, survey.AtReceiver, v.ReceiverFile, in.Receiver)
	in.Slowest = min(in.Slowest, slowest)
	return err
}

// openModel opens the model of waves from or to places in a role, if it is in a file, and
// returns their medium and the least velocity at the image's points in any direction.
func (in *Inputs) openModel(r Ranks, cfg *config.Config, role survey.Role, path config.Path, m traveltime.Medium) (traveltime.Medium, float64, error) {
	if !path.IsSet() {
		return m, m.Constant, nil
	}
	model := &in.Models[role]
	model.File = path.File
	var err error
	model.Reader, err = h5.OpenModel(path.File, unitOf(cfg.Velocity.Units))
	if err == nil {
		err = model.checkModel(cfg, in.Survey)
	}
	if err := r.Together(err); err != nil {
		return m, 0, err
	}
	found, err := CallOnRoot(&r, func() (modelRanges, error) { return model.scanRanges(cfg) })
	if err != nil {
		return m, 0, err
	}
	model.Reader.Trust()
	all, err := comm.GatherJSON(r.World.Host().AllGather, found)
	if err != nil {
		return m, 0, err
	}
	found = all[0]
	model.describe(found)
	g := model.Reader.Grid()
	if g.Dim() == 3 {
		g.Frame = in.Survey.Frame
	}
	m = traveltime.Medium{Grid: g, Least: found.Least, Greatest: found.Greatest, Anisotropic: model.Used}
	return m, found.Slowest, nil
}

// checkModel refuses a model of other dimensions than the survey, and opens what makes it
// anisotropic.
func (m *ModelFile) checkModel(cfg *config.Config, s *survey.Survey) error {
	if n := m.Reader.Grid().Dim(); n != s.Dim {
		return status.Input(fmt.Errorf("%s: velocity has %d axes, the survey's positions have %d columns", m.File, n, s.Dim))
	}
	if own := m.Reader.Grid().Frame; own != nil && !own.Equal(s.Frame) { // of the waves to the receivers
		return status.Hint(status.Input(fmt.Errorf("%s: lies in another frame, %s, than the other model and the survey, %s", m.File, own, s.Frame)), FrameHint)
	}
	if err := checkDomain(m.File, m.Reader, cfg); err != nil {
		return err
	}
	if cfg.Velocity.Anisotropy == "none" {
		var names []string
		for _, p := range m.Reader.Properties() {
			if m.Reader.Has("/" + p.String()) {
				names = append(names, "/"+p.String())
			}
		}
		if names != nil {
			m.Anisotropy = fmt.Sprintf(`%s: velocity.anisotropy = "none" ignores %s`, m.File, strings.Join(names, ", "))
		}
		return nil
	}
	return m.Reader.OpenAnisotropy()
}

// scanRanges goes through the file.
func (m *ModelFile) scanRanges(cfg *config.Config) (w modelRanges, err error) {
	if w.Least, w.Greatest, err = m.Reader.Range(); err == nil {
		err = checkPlausible(m.File, cfg.Velocity.Units, w.Least, w.Greatest)
	}
	w.Properties = map[h5.Property][2]float64{}
	for _, p := range m.Reader.Properties() {
		var of [2]float64
		if err == nil {
			of[0], of[1], err = m.Reader.PropertyRange(p)
		}
		w.Properties[p] = of
	}
	if err == nil {
		w.Slowest, err = m.findSlowest(cfg, w)
	}
	return w, err
}

// anisotropic reports whether epsilon, delta or eta is another than 0 anywhere.
func (w *modelRanges) anisotropic() bool {
	none := [2]float64{}
	return w.Properties[h5.Epsilon] != none || w.Properties[h5.Delta] != none || w.Properties[h5.Eta] != none
}

// describe says what the file holds beside the velocity, and whether it acts.
func (m *ModelFile) describe(w modelRanges) {
	m.Used, m.Point = w.anisotropic(), 1
	var held []string
	for _, p := range m.Reader.Properties() {
		if !m.Reader.Holds(p) {
			continue
		}
		of := w.Properties[p]
		held = append(held, fmt.Sprintf("%v %.4g to %.4g%s", p, of[0], of[1], p.Unit()))
		if m.Used {
			m.Point++
		}
	}
	switch {
	case held == nil:
	case m.Used:
		m.Anisotropy = fmt.Sprintf("%s: transversely isotropic, %s", m.File, strings.Join(held, ", "))
	default:
		zero := "epsilon and delta are"
		if m.Reader.Grid().Domain == grid.Time {
			zero = "eta is"
		}
		m.Anisotropy = fmt.Sprintf("%s: %s 0 everywhere: taken as isotropic", m.File, zero)
	}
}

// slabBytes is about how much of a model's velocities is read at a time to find the slowest point.
const slabBytes = 1 << 20

// findSlowest returns the least velocity at the image's points in any direction. For an isotropic image
// on the model's grid, or where nothing needs to be known, it is that of the model.
func (m *ModelFile) findSlowest(cfg *config.Config, w modelRanges) (float64, error) {
	medium := traveltime.Medium{Grid: m.Reader.Grid(), Anisotropic: w.anisotropic()}
	g := cfg.Image.Grid()
	if cfg.Kirchhoff.Antialias == "off" || !cfg.Image.IsSet() || !g.Inside(medium.Grid) {
		g = medium.Grid
	}
	if g.Equal(medium.Grid) && !medium.Anisotropic {
		return w.Least, nil
	}
	var all []float64
	n := g.Shape[0]
	step := max(1, n*slabBytes/(8*max(g.Len(), medium.Grid.Len())))
	for lo := 0; lo < n; lo += step {
		slab := [2]int{lo, min(lo+step, n)}
		part, err := m.readSlab(medium, medium.Below(g, slab))
		if err != nil {
			return 0, err
		}
		all = append(all, slices.Min(leastSpeeds(part, g, slab)))
	}
	return slices.Min(all), nil
}

// leastSpeeds returns the least velocities in any direction at the points of a slab of g.
func leastSpeeds(m traveltime.Medium, g grid.Grid, slab [2]int) []float64 {
	v := m.On(g, slab)
	if !m.Anisotropic {
		return v
	}
	least, of := make([]float64, len(v)), [3][]float64{}
	for i, values := range [3][]float64{m.Anisotropy.Epsilon, m.Anisotropy.Delta, m.Anisotropy.Eta} {
		if of[i] = make([]float64, len(v)); values != nil {
			m.Values = values
			of[i] = m.On(g, slab)
		}
	}
	for i, v := range v {
		// In two-way time waves move sideways with v sqrt(1 + 2η) far away.
		least[i] = traveltime.LeastSpeed(v, of[0][i], of[1][i]) * math.Sqrt(1+2*min(of[2][i], 0))
	}
	return least
}

// ReadSlabs returns Velocity and Receiver with the values at the indices [lo, hi) of their
// slabs along the first axis of their models, read from the files. It returns constants as
// they are.
func (in *Inputs) ReadSlabs(slabs [2][2]int) (source, receiver traveltime.Medium, err error) {
	m := [2]traveltime.Medium{in.Velocity, in.Receiver}
	for role := range m {
		if !m[role].IsConstant() && err == nil {
			m[role], err = in.Models[role].readSlab(m[role], slabs[role])
		}
	}
	return m[survey.AtSource], m[survey.AtReceiver], err
}

// readSlab returns a model's medium with the values of a slab.
func (m *ModelFile) readSlab(medium traveltime.Medium, slab [2]int) (traveltime.Medium, error) {
	first, n := slab[0]*medium.Plane(), (slab[1]-slab[0])*medium.Plane()
	v, err := m.Reader.Read(first, n)
	medium.Slab, medium.Values = slab, v
	if !medium.Anisotropic {
		return medium, FileError(err)
	}
	for p, to := range medium.Anisotropy.All() {
		if err == nil {
			*to, err = m.Reader.ReadProperty(h5.Property(p), first, n)
		}
	}
	return medium, FileError(err)
}

// ReadVelocity reads a velocity model and returns it in m/s. unit is as in
// velocity.units. With "auto" it is an error if the velocities do not look like m/s.
func ReadVelocity(file, unit string) (grid.Grid, []float64, error) {
	g, v, err := h5.ReadModelIn(file, unitOf(unit))
	if err == nil {
		err = checkPlausible(file, unit, slices.Min(v), slices.Max(v))
	}
	return g, v, FileError(err)
}

// unitOf is the unit that velocity.units gives; "" leaves it to the file.
func unitOf(units string) string {
	if units == "auto" {
		return ""
	}
	return units
}

// checkPlausible returns an error if velocities in m/s, in a file without a given unit, do not look
// like them.
func checkPlausible(file, units string, least, greatest float64) error {
	if unitOf(units) != "" {
		return nil
	}
	if err := velocity.Plausible(least, greatest); err != nil {
		return status.Hint(status.Input(fmt.Errorf("%s: /velocity: %w", file, err)), config.UnitsHint)
	}
	return nil
}

// ReadAnisotropy reads what a model file holds of anisotropy, at all points.
func ReadAnisotropy(file string) (a traveltime.Anisotropy, err error) {
	r, err := h5.OpenModel(file, "")
	if err != nil {
		return a, FileError(err)
	}
	defer r.Close()
	if err := r.OpenAnisotropy(); err != nil {
		return a, FileError(err)
	}
	for i, values := range a.All() {
		if *values, err = r.ReadProperty(h5.Property(i), 0, r.Grid().Len()); err != nil {
			return a, FileError(err)
		}
	}
	return a, nil
}

// PropertiesBeside lists what stands of a beside the velocity in a model file.
func PropertiesBeside(a traveltime.Anisotropy) (list []h5.Beside) {
	for i, values := range a.All() {
		if *values != nil {
			list = append(list, h5.Beside{Property: h5.Property(i), Values: *values})
		}
	}
	return list
}

// checkDomain makes sure that a model has the domain and the kind of velocities that
// image.domain needs.
func checkDomain(file string, m *h5.ModelReader, cfg *config.Config) error {
	has, want := m.Grid().Domain.String(), cfg.Image.Domain
	switch {
	case has != want:
		return status.Hint(status.Input(fmt.Errorf("%s: /velocity lies in %s, image.domain is %q", file, has, want)),
			"lsm velocity --to converts a model between depth and time")
	case m.Grid().Domain == grid.Time && m.Kind() != h5.RMS:
		return status.Hint(status.Input(fmt.Errorf("%s: /velocity@kind is %q, an image in time needs %q", file, m.Kind(), h5.RMS)),
			"lsm velocity --to rms converts it")
	}
	return nil
}

// ReadWholeModel is ReadVelocity with all that is known of the velocities: their kind, in time η, and
// in depth ε and δ. The symmetry axis must then be vertical.
func ReadWholeModel(file, unit string) (*velocity.Model, error) {
	r, err := h5.OpenModel(file, unitOf(unit))
	if err != nil {
		return nil, FileError(err)
	}
	defer r.Close()
	m := &velocity.Model{Grid: r.Grid(), Kind: velocity.Kind(r.Kind())}
	least, greatest, err := r.Range() // which compares with the digest
	if err == nil {
		err = checkPlausible(file, unit, least, greatest)
	}
	if err == nil {
		m.V, err = r.Read(0, m.Grid.Len())
	}
	if err == nil {
		err = readUpright(r, m)
	}
	return m, FileError(err)
}

// readUpright reads what makes a model anisotropic. Its symmetry axis must be vertical.
func readUpright(r *h5.ModelReader, m *velocity.Model) error {
	if err := r.OpenAnisotropy(); err != nil {
		return err
	}
	least, greatest, err := r.PropertyRange(h5.Tilt)
	if tilt := cmp.Or(least, greatest); err == nil && tilt != 0 {
		err = status.Input(fmt.Errorf("%s: /tilt is %g degrees at a point, vertical times are known for 0 alone", r.Path(), tilt))
	}
	for p, to := range map[h5.Property]*[]float64{h5.Epsilon: &m.Epsilon, h5.Delta: &m.Delta, h5.Eta: &m.Eta} {
		if err == nil {
			*to, err = r.ReadProperty(p, 0, m.Grid.Len())
		}
	}
	return err
}
