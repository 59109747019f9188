package synth

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/kirchhoff-lsm/lsm/grid"
)

func build(t *testing.T, name string, opt Options) *Case {
	t.Helper()
	c, err := Build(name, opt)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

func TestCases(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := build(t, name, Options{})
			checkCase(t, c)
			if Title(name) == "" || c.Title != Title(name) {
				t.Errorf("title is %q, want %q", c.Title, Title(name))
			}
			again := build(t, name, Options{})
			if !reflect.DeepEqual(c, again) {
				t.Error("two builds differ")
			}
			// A run of some seconds: no more than 200 million triples.
			if n := c.Survey.NumTraces() * c.Grid.Len(); n > 200e6 {
				t.Errorf("%d triples an application", n)
			}
		})
	}
	if _, err := Build("marmousi", Options{}); err == nil || !strings.Contains(err.Error(), "points, layers, faults, produced, salt, land, thrust, cube, ava") {
		t.Errorf("an unknown name: %v", err)
	}
}

// checkCase holds for every case, named or over a given model.
func checkCase(t *testing.T, c *Case) {
	t.Helper()
	n := c.Grid.Len()
	if len(c.Velocity) != n || len(c.Smooth) != n || len(c.Reflectivity) != n {
		t.Fatalf("arrays have %d, %d and %d values for %d points", len(c.Velocity), len(c.Smooth), len(c.Reflectivity), n)
	}
	lo, hi := slices.Min(c.Velocity), slices.Max(c.Velocity)
	if lo < 1000 || hi > 7000 {
		t.Errorf("velocities from %g to %g m/s are not those of rock", lo, hi)
	}
	if l, h := slices.Min(c.Smooth), slices.Max(c.Smooth); l < lo*(1-1e-12) || h > hi*(1+1e-12) {
		t.Errorf("smooth velocity from %g to %g exceeds the true one's %g to %g m/s", l, h, lo, hi)
	}
	strong := 0
	for i, r := range c.Reflectivity {
		if math.IsNaN(float64(r)) || math.Abs(float64(r)) > 1 {
			t.Fatalf("reflectivity is %g at %d", r, i)
		}
		if math.Abs(float64(r)) > 0.01 {
			strong++
		}
	}
	if strong == 0 {
		t.Error("no reflector is stronger than 0.01")
	}
	s := c.Survey
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	if (s.Data != nil) != (c.Interfaces != nil) || s.Dim != c.Grid.Dim() {
		t.Errorf("survey has %d samples of data and %d dimensions", len(s.Data), s.Dim)
	}
	for i := range s.NumSources() {
		if !c.Grid.Contains(s.Source(i)) {
			t.Errorf("source %d at %v lies outside the model", i, s.Source(i))
		}
	}
	for i := range s.NumReceivers() {
		if !c.Grid.Contains(s.Receiver(i)) {
			t.Errorf("receiver %d at %v lies outside the model", i, s.Receiver(i))
		}
	}
	checkConfig(t, c)
	for _, f := range []string{SurveyFile, ModelFile, ReflectivityFile, ConfigFile} {
		if !strings.Contains(c.Readme, f) {
			t.Errorf("the README does not name %s", f)
		}
	}
}

// checkConfig reads the configuration into the contract's tables: an unknown
// key or a wrong type is an error.
func checkConfig(t *testing.T, c *Case) {
	t.Helper()
	var cfg struct {
		Survey   struct{ File string }
		Velocity struct {
			File     string
			Constant float64
		}
		Image struct {
			Origin, Spacing []float64
			Shape           []int
			Surface         string
			Gathers         string
			GatherAngle     string    `toml:"gather_angle"`
			GatherBins      []float64 `toml:"gather_bins"`
			GatherEnds      string    `toml:"gather_ends"`
		}
		Traveltime struct{ Method string }
		Kirchhoff  struct {
			Engine        string
			Dynamic       bool
			WaveletFilter string `toml:"wavelet_filter"`
		}
		Solver struct {
			Method     string
			Iterations int
		}
		Output struct{ File string }
	}
	meta, err := toml.Decode(c.Config, &cfg)
	if err != nil {
		t.Fatalf("configuration: %v\n%s", err, c.Config)
	}
	if u := meta.Undecoded(); len(u) > 0 {
		t.Errorf("configuration has unknown keys %v", u)
	}
	if cfg.Survey.File != SurveyFile || cfg.Output.File != ImageFile || cfg.Solver.Iterations != c.Options.Iterations {
		t.Errorf("configuration says %+v", cfg)
	}
	if (cfg.Image.Surface == "survey") != (c.Surface != nil) {
		t.Errorf("configuration says image.surface = %q", cfg.Image.Surface)
	}
	if cfg.Velocity.Constant == 0 {
		if cfg.Velocity.File != ModelFile || cfg.Traveltime.Method != "eikonal" {
			t.Errorf("configuration says %+v", cfg)
		}
		return
	}
	g := grid.Grid{Origin: cfg.Image.Origin, Spacing: cfg.Image.Spacing, Shape: cfg.Image.Shape}
	if err := g.Validate(); err != nil || !g.Equal(c.Grid) || cfg.Velocity.Constant != c.Velocity[0] || cfg.Traveltime.Method != "analytic" {
		t.Errorf("configuration says %+v (%v), the case has %v", cfg, err, c.Grid)
	}
}

func TestOptionsAreUsed(t *testing.T) {
	c := build(t, "faults", Options{Shape: []int{151, 76}, Spacing: []float64{20, 10}, Shots: 5, ShotSpacing: 300,
		FirstShot: 800, Channels: 10, ReceiverSpacing: 50, NearOffset: 100, SourceDepth: 5, ReceiverDepth: 15,
		Peak: 10, NT: 600, DT: 0.002, Smoothing: 30, Iterations: 7})
	checkCase(t, c)
	s := c.Survey
	if s.NumSources() != 5 || s.NT != 600 || s.DT != 0.002 || s.NumTraces() != 50 {
		t.Errorf("%d shots, %d traces of %d samples at %g s", s.NumSources(), s.NumTraces(), s.NT, s.DT)
	}
	if p := s.Source(1); p[0] != 1100 || p[1] != 5 {
		t.Errorf("second source is at %v, want [1100 5]", p)
	}
	if p := s.Receiver(0); p[0] != 700 || p[1] != 15 {
		t.Errorf("first receiver is at %v, want [700 15]", p)
	}
	// The same section at another spacing: the top layer is there in both.
	if c.Velocity[0] != 2000 {
		t.Errorf("velocity at the top is %g, want 2000", c.Velocity[0])
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		want string
		opt  Options
	}{
		{"dt is 0.008 s, must be at most 0.005 s for a peak frequency of 20 Hz", Options{DT: 0.008}},
		{"grid spacing along z is 10 m, must be at most 5", Options{Peak: 40}},
		{"grid spacing along x is 40 m, must be at most 20", Options{Spacing: []float64{40, 10}}},
		{"source 30 at [3020 10] m lies outside the model, [0 0] to [3000 1500] m", Options{ShotSpacing: 80}},
		{"shot 0 at x = 10 m has no receiver", Options{FirstShot: 10}},
		{"shots are -3", Options{Shots: -3}},
		{"shot spacing is -5 m", Options{ShotSpacing: -5}},
		{"dt is NaN s", Options{DT: math.NaN()}},
		{"first shot NaN m", Options{FirstShot: math.NaN()}},
		{`geometry "towed" is unknown`, Options{Geometry: "towed"}},
		{"has 2 axes, shape [3 3 3] has 3", Options{Shape: []int{3, 3, 3}}},
		{"receiver 0 at [-80 10] m lies outside", Options{Geometry: Fixed, Channels: 159, ReceiverSpacing: 20}},
		{"traces have 20 samples, must be at least the wavelet's 39", Options{NT: 20}},
		{"grid: origin", Options{Spacing: []float64{10}}},
	} {
		if _, err := Build("faults", c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, want one with %q", err, c.want)
		}
	}
}

func TestGeologyHasHomogeneousBeds(t *testing.T) {
	c := build(t, "layers", Options{})
	nz := c.Grid.Shape[1]
	zero, interfaces := 0, 0
	for i, r := range c.Reflectivity {
		k := i % nz
		same := k > 0 && k < nz-1 && c.Velocity[i-1] == c.Velocity[i+1]
		if same && r != 0 {
			t.Fatalf("reflectivity is %g at %d where the velocity does not change", r, i)
		}
		if r == 0 {
			zero++
		}
		if r > 0.01 {
			interfaces++
		}
	}
	// Four interfaces, each two to four points thick, in 301 columns.
	if interfaces < 301*4*2 || interfaces > 301*4*4 || zero < len(c.Reflectivity)*8/10 {
		t.Errorf("%d points reflect and %d are zero of %d", interfaces, zero, len(c.Reflectivity))
	}
	// The sum down a column is half the logarithm of bottom over top.
	sum := 0.0
	for _, r := range c.Reflectivity[:nz] {
		sum += float64(r)
	}
	if want := 0.5 * math.Log(3300.0/2000); math.Abs(sum-want) > 1e-6 {
		t.Errorf("reflectivity of a column sums to %g, want %g", sum, want)
	}
}

// The land line lies on its hills, sources and receivers at shared places, and there is
// nothing to see above it.
func TestLandOnHills(t *testing.T) {
	c := build(t, "land", Options{})
	s := c.Survey
	if p := s.Distinct(true).Len(); p != s.NumReceivers() || s.NumReceivers() != 151 || s.NumSources() != 36 {
		t.Errorf("%d sources, %d receivers, %d places", s.NumSources(), s.NumReceivers(), p)
	}
	lo, hi := slices.Min(c.Surface), slices.Max(c.Surface)
	if lo < 20 || hi > 220 || hi-lo < 100 {
		t.Errorf("surface from %g to %g m", lo, hi)
	}
	for i := range s.NumReceivers() {
		if p := s.Receiver(i); math.Abs(p[1]-hills(p[0])) > 1e-3 {
			t.Errorf("station at %v, the surface at %g m", p, hills(p[0]))
		}
	}
	for i := range s.NumTraces() {
		if s.Offset(i) > 600 {
			t.Errorf("trace %d has offset %g m", i, s.Offset(i))
		}
	}
	nz := c.Grid.Shape[1]
	for i, r := range c.Reflectivity {
		if c.Grid.Coord(1, i%nz) < c.Surface[i/nz]+20 && r != 0 {
			t.Fatalf("reflectivity %g at point %d, above or at the surface", r, i)
		}
	}
}
