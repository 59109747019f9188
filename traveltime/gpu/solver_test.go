package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
	"golang.org/x/sys/cpu"
)

func TestMain(m *testing.M) { os.Exit(gputest.Main(m)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, engine driver.Engine) *card.Device {
	t.Helper()
	gputest.Need(t)
	d, err := card.Open(card.Options{Engine: engine, Cache: accel.UserCache()})
	if err != nil && gputest.Real() {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

// trial is a model, an image in it and places.
type trial struct {
	name         string
	model, image grid.Grid
	velocity     func(x []float64) float64 // m/s; nil for straight rays
	coarse       int                       // every so many points in coarse tables; 0: none
	options      traveltime.Options
	p            *survey.Positions
}

// positions scatters n places over g: between its points, on them, in the middle of cells and
// at its corners.
func positions(g grid.Grid, n int, r *rand.Rand) *survey.Positions {
	s := &survey.Survey{Dim: g.Dim(), Fixed: true, Receivers: make([]float64, g.Dim())}
	for i := range n {
		for a := range g.Dim() {
			u := r.Float64() * float64(g.Shape[a]-1)
			switch i % 5 {
			case 1:
				u = math.Round(u)
			case 2:
				u = min(math.Floor(u)+0.5, float64(g.Shape[a]-1)) // six points of the start box along each axis
			case 3:
				u = float64(i / 5 >> a & 1 * (g.Shape[a] - 1))
			}
			s.Sources = append(s.Sources, g.Origin[a]+u*g.Spacing[a])
		}
	}
	s.Receivers = s.Sources[:g.Dim()]
	return s.Distinct(true)
}

func box(spacing, origin []float64, shape ...int) grid.Grid {
	return grid.Grid{Origin: origin, Spacing: spacing, Shape: shape}
}

// rough jumps by a factor of up to three between blocks of a few cells.
func rough(x []float64) float64 {
	h := uint64(17)
	for _, v := range x {
		h = (h ^ uint64(int64(math.Floor(v/43)))) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	return 1500 + 3000*float64(h%1000)/1000
}

func layered(x []float64) float64 {
	return []float64{1500, 1900, 2600, 2100, 3400, 4500}[int(math.Abs(x[len(x)-1])/60)%6]
}

func trials() []trial {
	r := rand.New(rand.NewPCG(3, 9))
	flat := func([]float64) float64 { return 2000 }
	linear := func(x []float64) float64 { return 1500 + 0.6*x[len(x)-1] + 0.1*x[0] }
	plane, deep := box([]float64{10, 10}, []float64{-100, 50}, 61, 75), box([]float64{12.5, 10, 8}, []float64{0, 10, -20}, 17, 14, 37)
	var all []trial
	add := func(name string, model, image grid.Grid, v func([]float64) float64, n int) *trial {
		all = append(all, trial{name: name, model: model, image: image, velocity: v, p: positions(model, n, r)})
		return &all[len(all)-1]
	}
	for _, c := range []struct {
		name     string
		velocity func([]float64) float64
	}{{"flat", flat}, {"linear", linear}, {"layers", layered}, {"rough", rough}} {
		add(c.name+" 2-D", plane, plane, c.velocity, 19)
		add(c.name+" 3-D", deep, deep, c.velocity, 11)
	}
	add("straight 2-D", plane, plane, nil, 9)
	add("straight 3-D", deep, deep, nil, 9)
	add("two rows", box([]float64{10, 10}, []float64{0, 0}, 2, 64), box([]float64{10, 10}, []float64{0, 0}, 2, 64), linear, 5)
	add("one row along y", box([]float64{10, 10, 10}, []float64{0, 0, 0}, 20, 1, 30), box([]float64{10, 10, 10}, []float64{0, 0, 0}, 20, 1, 30), rough, 5)
	add("resampled 2-D", plane, box([]float64{7, 6}, []float64{-37, 71}, 50, 60), layered, 9)
	add("resampled 3-D", deep, box([]float64{9, 6, 11}, []float64{13, 20, 0}, 15, 12, 20), rough, 9)
	for _, c := range []struct {
		model, image grid.Grid
		margin       float64
	}{
		{plane, plane, 35}, {plane, box([]float64{7, 6}, []float64{-37, 71}, 50, 60), 0}, {deep, deep, 20},
		{deep, box([]float64{9, 6, 11}, []float64{13, 20, 0}, 15, 12, 20), math.Inf(1)},
	} {
		w := add(fmt.Sprintf("windows %v, margin %g", c.image, c.margin), c.model, c.image, rough, 13)
		w.options.Margin = c.margin
		for range w.p.Len() {
			window := traveltime.Whole(c.image)
			for a := range c.image.Dim() - 1 {
				n := c.image.Shape[a]
				window.Lo[a] = r.IntN(n)
				window.Hi[a] = min(n, window.Lo[a]+1+r.IntN(n/2))
			}
			w.options.Windows = append(w.options.Windows, window)
		}
	}
	for n, i := range []int{0, 1, len(all) - 4, len(all) - 2} { // whole grids and windows, 2-D and 3-D
		c := all[i]
		c.name, c.coarse = fmt.Sprint("coarse ", c.name), 2+n/2
		all = append(all, c)
	}
	return all
}

func (c trial) method(t testing.TB) traveltime.Method {
	t.Helper()
	if c.velocity == nil {
		m, err := traveltime.NewAnalytic(1730, c.image)
		must(t, err)
		return m
	}
	v, x := make([]float64, c.model.Len()), make([]float64, c.model.Dim())
	for i := range v {
		c.model.Point(x, i)
		v[i] = c.velocity(x)
	}
	e, err := traveltime.NewEikonal(v, c.model, c.image)
	must(t, err)
	if c.coarse == 0 {
		return e
	}
	m, err := traveltime.NewCoarse(t.Context(), e, c.p, c.coarse, c.options)
	must(t, err)
	return m
}

func all(p *survey.Positions) (places []int) {
	for i := range p.Len() {
		places = append(places, i)
	}
	return places
}

// task is that of all places of a trial, by batches of so many bytes.
func (c trial) task(m traveltime.Method, budget int64) Task {
	return Task{m, c.p, all(c.p), c.options, c.p.Len(), budget}
}

// solved returns the times of a trial's places, by a batch of so many bytes.
func (c trial) solved(t testing.TB, d *card.Device, m traveltime.Method, budget int64) ([][]float64, error) {
	t.Helper()
	s, err := New(d, d.Context().Main(), c.task(m, budget))
	must(t, err)
	defer s.Close()
	return c.by(t, s)
}

// by returns the times of a trial's places by a solver.
func (c trial) by(t testing.TB, s *Solver) ([][]float64, error) {
	t.Helper()
	out := make([][]float64, c.p.Len())
	err := s.Solve(t.Context(), c.p, all(c.p), c.options, func(f Fields) error {
		for i, place := range f.Places {
			n := c.options.Window(c.image, place).Grid(c.image).Len()
			out[place] = make([]float64, n)
			if err := device.Download(out[place], f.Time.Slice(i*f.Pitch, n)); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// check compares the times of a trial with those of the processor's solver.
func (c trial) check(t *testing.T, d *card.Device) {
	m := c.method(t)
	got, err := c.solved(t, d, m, 1<<30)
	must(t, err)
	different := 0
	must(t, m.Solve(t.Context(), c.p, all(c.p), c.options, func(place int, f traveltime.Field) error {
		time := f.Branches[0].Time
		if len(got[place]) != len(time) {
			return fmt.Errorf("place %d has %d times, want %d", place, len(got[place]), len(time))
		}
		for i, want := range time {
			if !(math.Abs(got[place][i]-want) <= 1e-6*want) {
				return fmt.Errorf("place %d, point %d: %g s, want %g", place, i, got[place][i], want)
			}
			if got[place][i] != want {
				different++
			}
		}
		return nil
	}))
	if different > 0 && cpu.X86.HasFMA && cpu.X86.HasAVX2 {
		t.Errorf("%d times have other bits than the processor's", different)
	}
	batches, err := c.solved(t, d, m, 0)
	must(t, err)
	for i, again := range batches {
		if !slices.Equal(again, got[i]) {
			t.Errorf("place %d has other times in smaller batches", i)
		}
	}
}

// TestTimes: times are those of the processor's solver to 1e-6, to the last bit where that has
// fused multiply-add, and the same bits in batches of any size.
func TestTimes(t *testing.T) {
	d := open(t, driver.CUDA)
	for _, c := range trials() {
		t.Run(c.name, func(t *testing.T) { c.check(t, d) })
	}
}

// TestHIP: AMD's cards get the same bits.
func TestHIP(t *testing.T) {
	c := trials()[0]
	m := c.method(t)
	want, err := c.solved(t, open(t, driver.CUDA), m, 0)
	must(t, err)
	amd, err := c.solved(t, open(t, driver.HIP), m, 0)
	must(t, err)
	for i, got := range amd {
		if !slices.Equal(got, want[i]) {
			t.Errorf("place %d has other times with HIP", i)
		}
	}
}

// TestPart: places of a part of the positions, with numbers of their own, have the times that
// they have among all.
func TestPart(t *testing.T) {
	d := open(t, driver.CUDA)
	for _, c := range trials() {
		if c.options.Windows == nil || c.model.Dim() == 3 {
			continue
		}
		m := c.method(t)
		want, err := c.solved(t, d, m, 1<<30)
		must(t, err)
		s, err := New(d, d.Context().Main(), c.task(m, 1<<30))
		must(t, err)
		part := c
		part.options.Windows = nil
		part.p = &survey.Positions{Dim: c.p.Dim}
		for place := c.p.Len() - 1; place > 0; place -= 3 {
			part.p.XYZ = append(part.p.XYZ, c.p.At(place)...)
			part.p.Role, part.p.Row = append(part.p.Role, c.p.Role[place]), append(part.p.Row, c.p.Row[place])
			part.options.Windows = append(part.options.Windows, c.options.Windows[place])
		}
		mine, err := part.by(t, s)
		must(t, err)
		for i, got := range mine {
			if !slices.Equal(got, want[c.p.Len()-1-3*i]) {
				t.Errorf("%s: place %d has other times in a part", c.name, i)
			}
		}
		s.Close()
	}
}

// TestErrors: a place outside the model, a context that has ended and an error of the receiver
// end a solution as they end the processor's.
func TestErrors(t *testing.T) {
	d := open(t, driver.CUDA)
	c := trials()[0]
	m := c.method(t)
	s, err := New(d, d.Context().Main(), c.task(m, 0))
	must(t, err)
	defer s.Close()
	none := func(Fields) error { return nil }
	out := *c.p
	out.XYZ = slices.Clone(c.p.XYZ)
	out.XYZ[3*c.p.Dim] = 1e6
	want := m.Solve(t.Context(), &out, all(c.p), c.options, func(int, traveltime.Field) error { return nil })
	if got := s.Solve(t.Context(), &out, all(c.p), c.options, none); got == nil || want == nil || got.Error() != want.Error() {
		t.Errorf("a place outside: %v, want %v", got, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Solve(ended, c.p, all(c.p), c.options, none); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
	mine := errors.New("mine")
	if err := s.Solve(t.Context(), c.p, all(c.p), c.options, func(Fields) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("the receiver's error became %v", err)
	}
}

// TestMemory: a solver takes the memory that is foretold, and one that finds too little says so
// and gives back what it has.
func TestMemory(t *testing.T) {
	d := open(t, driver.CUDA)
	for _, c := range trials() {
		m := c.method(t)
		for _, budget := range []int64{0, 3 << 20, 1 << 30} {
			s, err := New(d, d.Context().Main(), c.task(m, budget))
			must(t, err)
			held := int64(0)
			for _, b := range s.held {
				held += int64(b.Len() * b.Type().Size())
			}
			if want := Bytes(c.task(m, budget)); held != want {
				t.Errorf("%s: %d bytes with a budget of %d, foretold %d", c.name, held, budget, want)
			}
			if _, eikonal := m.(*traveltime.Eikonal); eikonal && s.room.groups > 1 && held > budget {
				t.Errorf("%s: %d bytes with a budget of %d", c.name, held, budget)
			}
			s.Close()
		}
	}
	gputest.NeedEmulator(t)
	t.Setenv("GPUEMU_MEMORY", "200000")
	c := trials()[1]
	d = open(t, driver.CUDA)
	if _, err := New(d, d.Context().Main(), c.task(c.method(t), 1<<30)); status.Code(err) != status.NoResource {
		t.Errorf("without memory: %v", err)
	}
}

// TestPays: the card takes straight rays, and sweeps with enough places for its threads.
func TestPays(t *testing.T) {
	g := box([]float64{10, 10}, []float64{0, 0}, 400, 300)
	v := slices.Repeat([]float64{2000}, g.Len())
	e, err := traveltime.NewEikonal(v, g, g)
	must(t, err)
	straight, err := traveltime.NewAnalytic(2000, g)
	must(t, err)
	p := positions(g, 200, rand.New(rand.NewPCG(1, 1)))
	for _, c := range []struct {
		m               traveltime.Method
		places, threads int
		budget          int64
		want            bool
	}{
		{straight, 1, 64, 0, true},
		{e, 1, 1, 1 << 40, false}, // 10 blocks of points at a time
		{e, 12, 1, 1 << 40, false}, {e, 13, 1, 1 << 40, true},
		{e, 200, 15, 1 << 40, true}, {e, 200, 16, 1 << 40, false},
		{e, 200, 1, 0, false}, // 8 at a time
	} {
		if got := Pays(Task{c.m, p, all(p)[:c.places], traveltime.Options{Threads: c.threads}, c.places, c.budget}); got != c.want {
			t.Errorf("%s, %d places against %d threads within %d bytes: %v", c.m.Name(), c.places, c.threads, c.budget, got)
		}
	}
}

// A solver knows methods of isotropic media alone, and coarse tables of them.
func TestKnows(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{11, 11}}
	v := slices.Repeat([]float64{2000}, g.Len())
	m := traveltime.Medium{Grid: g, Least: 2000, Greatest: 2000, Slab: [2]int{0, 11}, Values: v}
	for _, anisotropic := range []bool{false, true} {
		m.Anisotropic = anisotropic
		e, err := traveltime.New("eikonal", traveltime.Spec{Image: g, Medium: m})
		must(t, err)
		coarse, err := traveltime.OutlineCoarse(e, &survey.Positions{Dim: 2}, 2, traveltime.Options{})
		must(t, err)
		if Knows(e) == anisotropic || Knows(coarse) == anisotropic {
			t.Errorf("anisotropic %v: the solver knows eikonal: %v, coarse: %v", anisotropic, Knows(e), Knows(coarse))
		}
	}
}
