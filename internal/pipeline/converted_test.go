package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// toReceivers writes a slower model on a grid of its own, which holds the problem's, and
// returns the key that makes waves converted with it.
func (p *problem) toReceivers(t *testing.T) string {
	t.Helper()
	g := grid.Grid{Shape: slices.Clone(p.grid.Shape)}
	for a, h := range p.grid.Spacing {
		g.Spacing = append(g.Spacing, 1.25*h)
		g.Origin = append(g.Origin, p.grid.Origin[a]-h)
	}
	v, x := make([]float64, g.Len()), make([]float64, g.Dim())
	for i := range v {
		g.Point(x, i)
		v[i] = 1100 + x[g.Dim()-1] + 0.1*x[0]
	}
	must(t, h5.WriteModel(p.path("s.h5"), g, v, h5.WriteOptions{Force: true}))
	return "velocity.receiver_file=" + p.path("s.h5")
}

// lean makes the problem's model anisotropic.
func (p *problem) lean(t *testing.T) {
	t.Helper()
	_, v, err := h5.ReadModel(p.path("model.h5"))
	must(t, err)
	g := p.grid
	epsilon, delta, tilt := make([]float64, g.Len()), make([]float64, g.Len()), make([]float64, g.Len())
	for i := range v {
		epsilon[i], delta[i], tilt[i] = 0.15+0.001*float64(i%17), -0.1+0.002*float64(i%5), 20
	}
	must(t, h5.WriteModel(p.path("model.h5"), g, v, h5.WriteOptions{Force: true},
		h5.Beside{Property: h5.Epsilon, Values: epsilon}, h5.Beside{Property: h5.Delta, Values: delta}, h5.Beside{Property: h5.Tilt, Values: tilt}))
}

// bothAt makes every source a receiver as well, at the same place.
func bothAt(t *testing.T, p *problem) *problem {
	t.Helper()
	s := *p.survey
	s.Receivers, s.Data = append(slices.Clone(s.Receivers), s.Sources...), nil
	s.Data = noise(s.NumTraces()*s.NT, 4)
	p.record(t, &s)
	return p
}

// times writes the traveltime tables of a run with some keys.
func (p *problem) times(t *testing.T, name string, set ...string) *h5.Tables {
	t.Helper()
	j := p.open(t, NeedGeometry, progress.Discard(), "cpu", set...)
	must(t, j.WriteTimes(context.Background(), p.path(name), false, Source{Command: "traveltime", Force: true}))
	tables, err := h5.OpenTables(p.path(name))
	must(t, err)
	t.Cleanup(func() { tables.Close() })
	return tables
}

// ways are the four ways to give the velocities of the two legs.
func ways(p *problem, file string) [][]string {
	constant := append(onGrid(p.grid), `velocity.file=""`, "velocity.constant=1900")
	return [][]string{
		{file},
		{"velocity.receiver_constant=1000"},
		append(slices.Clip(constant), file),
		append(slices.Clip(constant), "velocity.receiver_constant=1000"),
	}
}

// The operator of converted waves is that of tables whose rows of sources come from the model
// of the sources, those of receivers from the model of the receivers. It has its transpose, and
// the reference engine agrees with it.
func TestConvertedWaves(t *testing.T) {
	for name, of := range map[string]func(*testing.T) *problem{"2-D": line, "3-D": cube} {
		p := bothAt(t, of(t))
		m := noise(p.grid.Len(), 3)
		for _, set := range ways(p, p.toReceivers(t)) {
			own := slices.Clip(set[:len(set)-1])
			alone := append(slices.Clone(onGrid(p.grid)), `velocity.file="`+p.path("s.h5")+`"`)
			if strings.Contains(set[len(set)-1], "constant") {
				alone = append(onGrid(p.grid), `velocity.file=""`, "velocity.constant=1000")
			}
			source, receiver := p.times(t, "first.h5", own...), p.times(t, "second.h5", alone...)
			p.mixed(t, source, receiver)
			table := []string{"traveltime.method=table", "traveltime.file=" + p.path("both.h5")}
			both := p.times(t, "converted.h5", set...)
			p.sameTimes(t, fmt.Sprint(name, set), both, source, receiver)

			reference := p.migrate(t, "reference", set...)
			near(t, name+": image of tables", reference, p.migrate(t, "reference", table...), 1e-6)
			near(t, name+": image", p.migrate(t, "cpu", set...), reference, 1e-5)
			am, ad := p.model(t, m, "reference", set...), reference
			if left, right, scale := dot(am, p.survey.Data), dot(m, ad), norm(am)*norm(p.survey.Data); !(abs(left-right) <= 1e-6*scale) || scale == 0 {
				t.Errorf("%s %v: %g and %g differ by %.1e of %g", name, set, left, right, abs(left-right)/scale, scale)
			}
			if d := relativeDifference(reference, p.migrate(t, "reference", own...)); d < 0.5 {
				t.Errorf("%s %v: the image of waves of one kind differs by %g only", name, set, d)
			}
		}
	}
}

// mixed writes tables of the rows of sources of one and of the rows of receivers of another.
func (p *problem) mixed(t *testing.T, source, receiver *h5.Tables) {
	t.Helper()
	w, err := h5.CreateTables(p.path("both.h5"), h5.TablesLayout{Grid: p.grid, NumSources: source.NumSources(), NumReceivers: source.NumReceivers(), Float64: true}, h5.WriteOptions{Force: true})
	must(t, err)
	defer w.Abort()
	row := make([]float64, p.grid.Len())
	for role, from := range []*h5.Tables{survey.AtSource: source, survey.AtReceiver: receiver} {
		for i := range []int{from.NumSources(), from.NumReceivers()}[role] {
			must(t, from.ReadRow(row, survey.Role(role), h5.Time, i))
			must(t, w.WriteRow(survey.Role(role), h5.Time, i, row))
		}
	}
	must(t, w.Commit())
}

// sameTimes checks that tables have the rows of mixed.
func (p *problem) sameTimes(t *testing.T, what string, got, source, receiver *h5.Tables) {
	t.Helper()
	a, b := make([]float64, p.grid.Len()), make([]float64, p.grid.Len())
	for role, from := range []*h5.Tables{survey.AtSource: source, survey.AtReceiver: receiver} {
		for i := range []int{from.NumSources(), from.NumReceivers()}[role] {
			must(t, got.ReadRow(a, survey.Role(role), h5.Time, i))
			must(t, from.ReadRow(b, survey.Role(role), h5.Time, i))
			equal(t, fmt.Sprintf("%s: times of %s %d", what, survey.Role(role), i), a, b)
		}
	}
}

// The dot test holds, through every way in which traveltimes are made and kept, with converted
// waves and with anisotropy.
func TestMediaAreAdjoint(t *testing.T) {
	for name, c := range map[string]struct {
		of  func(*testing.T) *problem
		set []string
	}{
		"2-D":                {line, nil},
		"2-D, recomputed":    {line, []string{"kirchhoff.tables=recompute", "kirchhoff.antialias=triangle"}},
		"2-D, coarse":        {line, []string{"kirchhoff.tables=coarse", "kirchhoff.aperture=60"}},
		"2-D, streamed":      {line, []string{"data.read=stream", "kirchhoff.aperture=80", "traveltime.margin=30"}},
		"2-D, other grid":    {line, onGrid(grid.Grid{Origin: []float64{-15, 2}, Spacing: []float64{5, 4}, Shape: []int{20, 20}})},
		"3-D, filter":        {cube, []string{"kirchhoff.wavelet_filter=true"}},
		"3-D, coarse, local": {cube, []string{"kirchhoff.tables=coarse", "kirchhoff.aperture=30", "traveltime.margin=10"}},
	} {
		for _, kind := range []string{"converted", "anisotropic", "both"} {
			p := bothAt(t, c.of(t))
			set := slices.Clone(c.set)
			if kind != "anisotropic" {
				set = append(set, p.toReceivers(t))
			}
			if kind != "converted" {
				p.lean(t)
			}
			j, _ := p.ready(t, "cpu", set...)
			if e, err := j.op.DotTest(context.Background()); err != nil || !(e <= 1e-6) {
				t.Errorf("%s, %s: dot test %g (%v)", name, kind, e, err)
			}
		}
	}
}

// Converted waves with equal velocities on both legs have the bits of ordinary ones. Where a
// source and a receiver share a place the sums have another order.
func TestConvertedWithEqualVelocities(t *testing.T) {
	for name, of := range map[string]func(*testing.T) *problem{"2-D": line, "3-D": block} {
		p := of(t)
		set := []string{"kirchhoff.aperture=60", "kirchhoff.antialias=triangle"}
		want := p.solveOn(t, 1, set...)
		sameResult(t, name, p.solveOn(t, 1, append(set, "velocity.receiver_file="+p.path("model.h5"))...), want)
		flat := constantModel(p.grid, "1900")
		sameResult(t, name+", constant", p.solveOn(t, 1, append(slices.Clip(flat), "velocity.receiver_constant=1900")...), p.solveOn(t, 1, flat...))
		p = bothAt(t, p)
		near(t, name+", shared places", p.migrate(t, "cpu", "velocity.receiver_file="+p.path("model.h5")), p.migrate(t, "cpu"), 1e-6)
	}
}

// converted is wide with sources that are receivers, too, and leaning is long in an anisotropic model.
func converted(t *testing.T) *problem { return bothAt(t, wide(t)) }

func leaning(t *testing.T) *problem {
	p := long(t)
	p.lean(t)
	return p
}

// With an aperture a rank reads a part of each leg's model, as large as was foreseen.
func TestConvertedModelSlabs(t *testing.T) {
	p := moving(t)
	p.lean(t)
	set := []string{p.toReceivers(t), "kirchhoff.aperture=60", "traveltime.margin=40", "solver.iterations=1"}
	want := p.solveOn(t, 1, set...)
	sameResult(t, "three ranks", p.solveOn(t, 3, set...), want)
	must(t, p.on(3, set, func(j *Job) error {
		op, err := j.Build(context.Background())
		if err != nil {
			return err
		}
		defer op.engine.Close()
		bytes := int64(0)
		for role, m := range []traveltime.Medium{op.plan.Times.Source, op.plan.Times.Receiver} {
			n := m.Slab[1] - m.Slab[0]
			if n < 100 || n > 900 || len(m.Values) != n*m.Plane() {
				t.Errorf("rank %d holds %d values of slab %v of the %s's model", j.Ranks.World.Rank(), len(m.Values), m.Slab, survey.Role(role))
			}
			bytes += []int64{4*8 + 4*6, 12}[role] * int64(n*m.Plane())
		}
		if got := CountMemory(j.plan, j.share).Model; got != bytes {
			t.Errorf("rank %d: %d bytes of the models are foreseen, want %d", j.Ranks.World.Rank(), got, bytes)
		}
		return nil
	}))
}

// An anisotropic medium is read part by part like the velocity. Its least speed in any direction
// is found for all ranks. Where epsilon and delta are 0, or are ignored, it is isotropic.
func TestAnisotropicMedium(t *testing.T) {
	p := line(t)
	isotropic := p.open(t, NeedPlanning, progress.Discard(), "cpu")
	p.lean(t)
	j := p.open(t, NeedPlanning, progress.Discard(), "cpu")
	m, a := j.plan.Times.Source, j.plan.Times.Source.Anisotropy
	if n := p.grid.Len(); !m.Anisotropic || len(a.Epsilon) != n || len(a.Delta) != n || len(a.Tilt) != n || a.Azimuth != nil {
		t.Fatalf("anisotropic %v, %d, %d, %d and %d values", m.Anisotropic, len(a.Epsilon), len(a.Delta), len(a.Tilt), len(a.Azimuth))
	}
	least := math.Inf(1)
	for i, v := range m.Values {
		least = min(least, traveltime.LeastSpeed(v, a.Epsilon[i], a.Delta[i]))
	}
	if j.plan.Inputs.Slowest != least || least >= 1.2*m.Least {
		t.Errorf("the least speed is %g m/s, want %g", j.plan.Inputs.Slowest, least)
	}
	source, _, err := j.plan.Inputs.ReadSlabs([2][2]int{{3, 7}})
	must(t, err)
	plane := m.Plane()
	equal(t, "a part of epsilon", source.Anisotropy.Epsilon, a.Epsilon[3*plane:7*plane])
	equal(t, "a part of tilt", source.Anisotropy.Tilt, a.Tilt[3*plane:7*plane])
	text := fmt.Sprint(RemarkMedia(j.plan.Config.Velocity, j.plan.Times, j.plan.Inputs.Models))
	if want := "model.h5: transversely isotropic, epsilon 0.15 to 0.166, delta -0.1 to -0.092, tilt 20 to 20 degrees"; !strings.Contains(text, want) {
		t.Errorf("%q, want %q", text, want)
	}

	ignored := p.open(t, NeedPlanning, progress.Discard(), "cpu", "velocity.anisotropy=none")
	if text, want := fmt.Sprint(RemarkMedia(ignored.plan.Config.Velocity, ignored.plan.Times, ignored.plan.Inputs.Models)), `velocity.anisotropy = "none" ignores /epsilon, /delta, /tilt`; ignored.plan.Times.Source.Anisotropic || ignored.plan.Inputs.Slowest != isotropic.plan.Inputs.Slowest || !strings.Contains(text, want) {
		t.Errorf("%q, want %q", text, want)
	}
	_, v, err := h5.ReadModel(p.path("model.h5"))
	must(t, err)
	zeros := make([]float64, len(v))
	must(t, h5.WriteModel(p.path("model.h5"), p.grid, v, h5.WriteOptions{Force: true}, h5.Beside{Property: h5.Epsilon, Values: zeros}, h5.Beside{Property: h5.Tilt, Values: a.Tilt}))
	upright := p.open(t, NeedPlanning, progress.Discard(), "cpu")
	if text, want := fmt.Sprint(RemarkMedia(upright.plan.Config.Velocity, upright.plan.Times, upright.plan.Inputs.Models)), "epsilon and delta are 0 everywhere"; upright.plan.Times.Source.Anisotropic || upright.plan.Times.Source.Anisotropy.Tilt != nil || !strings.Contains(text, want) {
		t.Errorf("%q, want %q", text, want)
	}
}

// Images, places and models that do not go together are refused, each leg by its own model.
func TestConvertedRefuses(t *testing.T) {
	p := line(t)
	set := p.toReceivers(t)
	small := p.grid
	small.Shape = []int{9, 11}
	must(t, h5.WriteModel(p.path("s.h5"), small, slices.Repeat([]float64{900}, small.Len()), h5.WriteOptions{Force: true}))
	must(t, p.refused(set, "reaches outside the velocity model, x [-20, 60]"))
	inside := append(onGrid(grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{5, 5}}), set)
	must(t, p.refused(strings.Join(inside, " "), "receiver 4 at (90, 0) m lies outside the velocity model, x [-20, 60]"))
	flat := grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{10, 10, 10}, Shape: []int{3, 3, 3}}
	must(t, h5.WriteModel(p.path("s.h5"), flat, slices.Repeat([]float64{900}, flat.Len()), h5.WriteOptions{Force: true}))
	must(t, p.refused(set, "velocity has 3 axes, the survey's positions have 2 columns"))
}

// refused returns an error unless opening the problem fails with a text.
func (p *problem) refused(set, want string) error {
	err := p.on(1, strings.Fields(set), func(*Job) error { return nil })
	if err == nil || !strings.Contains(err.Error(), want) {
		return fmt.Errorf("%v: %v, want %q", set, err, want)
	}
	return nil
}
