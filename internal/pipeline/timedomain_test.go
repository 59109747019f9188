package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

var inTime = []string{"image.domain=time", "traveltime.method=rms"}

// timed gives a problem a model in two-way time, with η, on as many points.
func timed(t *testing.T, p *problem) *problem {
	t.Helper()
	g := p.grid
	last := g.Dim() - 1
	g.Origin, g.Spacing, g.Domain = slices.Clone(g.Origin), slices.Clone(g.Spacing), grid.Time
	g.Origin[last], g.Spacing[last] = 0, 0.008
	v, eta, x := make([]float64, g.Len()), make([]float64, g.Len()), make([]float64, g.Dim())
	for i := range v {
		g.Point(x, i)
		v[i], eta[i] = 1700+900*x[last]+0.3*x[0], 0.1-0.3*x[last]
	}
	must(t, h5.WriteTimeModel(p.path("model.h5"), g, h5.RMS, v, h5.WriteOptions{Force: true}, h5.Beside{Property: h5.Eta, Values: eta}))
	p.grid = g
	return p
}

func timedWide(t *testing.T) *problem  { return timed(t, wide(t)) }
func timedLong(t *testing.T) *problem  { return timed(t, long(t)) }
func timedSlice(t *testing.T) *problem { return timed(t, slice(t)) }

// Forward and adjoint in the time domain are a pair, and the engines agree.
func TestTimeDomainIsAdjoint(t *testing.T) {
	for name, make := range map[string]func(*testing.T) *problem{"2-D": line, "3-D": cube} {
		for _, set := range [][]string{
			nil,
			{"kirchhoff.wavelet_filter=true", "kirchhoff.antialias=triangle", "kirchhoff.antialias_spacing=60"},
			{"kirchhoff.aperture=60"},
			{"velocity.receiver_constant=1100"},
		} {
			set = append(slices.Clone(inTime), set...)
			p := timed(t, make(t))
			m := noise(p.grid.Len(), 3)
			images := map[string][]float32{}
			for _, engine := range tested {
				am, ad := p.model(t, m, engine, set...), p.migrate(t, engine, set...)
				images[engine] = ad
				left, right := dot(am, p.survey.Data), dot(m, ad)
				if scale := norm(am) * norm(p.survey.Data); !(abs(left-right) <= 1e-6*scale) || scale == 0 {
					t.Errorf("%s %s %v: %g and %g differ by %.1e of %g", name, engine, set, left, right, abs(left-right)/scale, scale)
				}
				j, _ := p.ready(t, engine, set...)
				if e, err := j.op.DotTest(context.Background()); err != nil || !(e <= 1e-6) {
					t.Errorf("%s %s %v: dot test %g (%v)", name, engine, set, e, err)
				}
			}
			near(t, fmt.Sprint(name, set), images["cpu"], images["reference"], 1e-5)
		}
	}
}

// layered is a survey over flat reflectors in v = 1600 + 0.6 z, whose traces are made in depth, and
// the reflectors. The model is written in depth and in time.
func layered(t *testing.T) (p *problem, model *velocity.Model) {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{25, 5}, Shape: []int{61, 181}}
	s := &survey.Survey{Dim: 2, Fixed: true, NT: 300, DT: 0.004, Wavelet: ricker(25, 0.004)}
	for x := 50.0; x <= 1450; x += 50 {
		s.Sources = append(s.Sources, x, 0)
	}
	for x := 0.0; x <= 1500; x += 50 {
		s.Receivers = append(s.Receivers, x, 0)
	}
	p = newProblem(t, g, s)
	model = &velocity.Model{Grid: g, Kind: velocity.Interval, V: make([]float64, g.Len())}
	reflectors := make([]float32, g.Len())
	for i := range reflectors {
		model.V[i] = 1600 + 0.6*5*float64(i%181)
		reflectors[i] = map[int]float32{60: 1, 100: -0.8, 140: 0.9}[i%181]
	}
	must(t, h5.WriteModel(p.path("model.h5"), g, model.V, h5.WriteOptions{Force: true}))
	s.Data = p.model(t, reflectors, "cpu", layeredSet[0])
	p.record(t, s)
	rms, err := model.Convert(t.Context(), velocity.Target{Domain: grid.Time, Kind: velocity.RMS, Spacing: 0.004})
	must(t, err)
	must(t, h5.WriteTimeModel(p.path("rms.h5"), rms.Grid, h5.RMS, rms.V, h5.WriteOptions{}))
	return p, model
}

// The offsets are small against the depths, so that the hyperbola of the time domain holds.
var layeredSet = []string{"kirchhoff.wavelet_filter=true", "data.offset=0,400"}

// Time migration of layers is depth migration stretched to time: events agree within half a sample
// and 5 per cent. Both sum the same samples, so migrated images compare as they are. In
// least-squares images a sample stands for Δτ or Δz of reflectors, so that one in time is larger
// by (v/2) Δτ/Δz.
func TestTimeMigrationIsStretchedDepthMigration(t *testing.T) {
	p, model := layered(t)
	stretch, err := velocity.NewStretch(model, p.grid, 0.004)
	must(t, err)
	time := append(slices.Clone(layeredSet), append(inTime, "velocity.file="+p.path("rms.h5"))...)
	for _, solve := range []bool{false, true} {
		image := p.migrate
		if solve {
			image = func(t *testing.T, engine string, set ...string) []float32 {
				return p.solve(t, engine, append(set, "solver.iterations=10")...).Image
			}
		}
		want, got := make([]float32, stretch.To.Len()), image(t, "cpu", time...)
		if err := stretch.Apply(t.Context(), want, image(t, "cpu", layeredSet...)); err != nil {
			t.Fatal(err)
		}
		n := stretch.To.Shape[1]
		for _, z := range []float64{300, 500, 700} {
			tau := 2 / 0.6 * math.Log(1+0.6*z/1600)
			factor := 1.0
			if solve {
				factor = (1600 + 0.6*z) / 2 * 0.004 / 5
			}
			a, at := peak(want[30*n:31*n], tau/0.004)
			b, near := peak(got[30*n:31*n], tau/0.004)
			if math.Abs(at-near) > 0.5 || math.Abs(b/(a*factor)-1) > 0.05 {
				t.Errorf("solve %v, reflector at %g m, %.1f samples: %g at %.2f in time, %g at %.2f stretched from depth", solve, z, tau/0.004, b, near, a*factor, at)
			}
		}
	}
}

// peak is the largest absolute value within 4 samples of one, with its sign, and where the parabola
// through it and its neighbours has its top.
func peak(v []float32, about float64) (value, at float64) {
	best := int(about)
	for k := int(about) - 4; k <= int(about)+4; k++ {
		if math.Abs(float64(v[k])) > math.Abs(float64(v[best])) {
			best = k
		}
	}
	a, b, c := float64(v[best-1]), float64(v[best]), float64(v[best+1])
	u := 0.5 * (a - c) / (a - 2*b + c)
	return b - 0.25*(a-c)*u, float64(best) + u
}

// reflection is the two-way time at an offset of a flat reflector at z in a homogeneous VTI medium,
// from the exact acoustic dispersion relation: v_h² p² + v0² q² (1 − 2η v_n² p²) = 1.
func reflection(offset, z, v0, epsilon, delta float64) float64 {
	n2, h2, eta := v0*v0*(1+2*delta), v0*v0*(1+2*epsilon), (epsilon-delta)/(1+2*delta)
	q := func(p float64) float64 { return math.Sqrt((1 - h2*p*p) / (v0 * v0 * (1 - 2*eta*n2*p*p))) }
	lo, hi := 0.0, 0.999999/math.Sqrt(h2)
	for range 100 {
		p, d := (lo+hi)/2, 1e-6/v0
		if half := -z * (q(p+d) - q(p-d)) / (2 * d); p+d < 1/math.Sqrt(h2) && half < offset/2 {
			lo = p
		} else {
			hi = p
		}
	}
	return 2 * (lo*offset/2 + q(lo)*z)
}

// Of time migrations with many η, that of the medium has the flattest offset gathers.
func TestEtaFromFlatGathers(t *testing.T) {
	const v0, epsilon, delta, z = 2000.0, 0.21, 0.05, 1000.0
	moveout, eta := v0*math.Sqrt(1+2*delta), (epsilon-delta)/(1+2*delta)
	s := &survey.Survey{Dim: 2, NT: 420, DT: 0.004, Wavelet: ricker(20, 0.004)}
	w := s.Wavelet
	for offset := 100.0; offset <= 2900; offset += 400 {
		for middle := -1500.0; middle <= 1500; middle += 30 {
			n := int32(len(s.SourceIndex))
			s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, n), append(s.ReceiverIndex, n)
			s.Sources, s.Receivers = append(s.Sources, middle-offset/2, 0), append(s.Receivers, middle+offset/2, 0)
			trace, arrival := make([]float32, s.NT), reflection(offset, z, v0, epsilon, delta)
			for k := range trace {
				a := math.Pow(math.Pi*20*(float64(k)*s.DT-arrival), 2)
				trace[k] = float32((1 - 2*a) * math.Exp(-a))
			}
			s.Data = append(s.Data, trace...)
		}
	}
	s.Wavelet = survey.Wavelet{Samples: []float64{0, 1, 0}, Zero: 1, DT: w.DT}
	g := grid.Grid{Origin: []float64{-30, 0.8}, Spacing: []float64{30, 0.004}, Shape: []int{3, 101}, Domain: grid.Time}
	p := newProblem(t, grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{1, 1}, Shape: []int{2, 2}}, s)
	best, flattest := 0.0, 0.0
	for try := 0.05; try <= 0.251; try += 0.01 {
		v, etas := slices.Repeat([]float64{moveout}, g.Len()), slices.Repeat([]float64{try}, g.Len())
		must(t, h5.WriteTimeModel(p.path("model.h5"), g, h5.RMS, v, h5.WriteOptions{Force: true}, h5.Beside{Property: h5.Eta, Values: etas}))
		p.migrateTo(t, p.path("image.h5"), 1, "cpu", append(slices.Clone(inTime),
			"image.gathers=offset", "image.gather_bins=0,300,700,1100,1500,1900,2300,2700,3000")...)
		_, v32 := readGathers(t, p.path("image.h5"))
		if f := semblance(v32, 8, g); f > flattest {
			best, flattest = try, f
		}
	}
	if math.Abs(best-eta) > 0.02 || flattest < 0.8 {
		t.Errorf("the flattest gathers, of semblance %.3f, have η = %.2f, the medium %.4f", flattest, best, eta)
	}
}

// semblance is that of so many classes in the middle column, 1 where they are the same.
func semblance(gathers []float32, classes int, g grid.Grid) float64 {
	n := g.Shape[1]
	stack, power := 0.0, 0.0
	for k := range n {
		sum := 0.0
		for c := range classes {
			v := float64(gathers[c*g.Len()+n+k])
			sum, power = sum+v, power+v*v
		}
		stack += sum * sum
	}
	return stack / (float64(classes) * power)
}

// What an image in the time domain cannot be made with is refused. Faults of the configuration alone
// get their status from the command.
func TestTimeDomainRefuses(t *testing.T) {
	p := timed(t, line(t))
	deep := line(t)
	for _, c := range []struct {
		p    *problem
		code int
		want string
		set  []string
	}{
		{p, status.Other, "kirchhoff.dynamic=true: true needs the angles of rays", append(inTime, "kirchhoff.dynamic=true")},
		{p, status.Other, `traveltime.method = "rms" or "table"`, []string{"image.domain=time"}},
		{p, status.Other, `which needs image.domain = "time"`, []string{"traveltime.method=rms"}},
		{p, status.BadInput, `/velocity lies in time, image.domain is "depth"`, nil},
		{deep, status.BadInput, `/velocity lies in depth, image.domain is "time"`, inTime},
		{p, status.BadUsage, "0.4 s of two-way time, above 0.1 s: looks like ms", append(inTime, "velocity.file=", "velocity.constant=2000",
			"image.origin=0,0", "image.spacing=10,0.4", "image.shape=5,4")},
		{p, status.BadUsage, "must be 0 s or later", append(inTime, "velocity.file=", "velocity.constant=2000",
			"image.origin=0,-0.1", "image.spacing=10,0.004", "image.shape=5,4")},
	} {
		err := c.p.on(1, c.set, func(*Job) error { return nil })
		if status.Code(err) != c.code || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%v: status %d, error %v, want %d and one that says %q", c.set, status.Code(err), err, c.code, c.want)
		}
	}
}
