// Package gate judges the operator by primaries that it did not make: those of a closed form, and of another
// program's finite differences. Nothing else of the tree runs their tests; they have no code of their own.
//
// Each experiment asks two questions of each engine. Modelled: are the traces that the operator makes of a
// reflection coefficient the primaries? Imaged: does the adjoint make of the primaries the pulse that stationary
// phase says? docs/numerics/evidence.md has both amplitudes.
package gate

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/gpu"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

func TestMain(m *testing.M) { os.Exit(gputest.Main(m)) }

// What the gate lets through.
const (
	mostPhase     = 5    // degrees
	mostDepth     = 0.02 // dominant wavelengths
	mostAmplitude = 0.03 // of a trace or an offset against the mean
	mostScale     = 0.05 // of the mean against the absolute value
)

// TestGate prints the table: go test -v -run TestGate ./internal/gate
func TestGate(t *testing.T) {
	list := slices.Concat(analytic(2), analytic(3), finite(t))
	engines := []engine{host("cpu", kirchhoff.New), host("double", kirchhoff.NewDouble), host("reference", kirchhoff.NewReference)}
	rows := make([]string, len(list)*(len(engines)+1))
	t.Run("cases", func(t *testing.T) {
		for i, e := range list {
			t.Run(strings.ReplaceAll(fmt.Sprintf("%s %d-D %s", e.name, e.dim, e.made), " ", "-"), func(t *testing.T) {
				t.Parallel()
				for k, on := range engines {
					rows[i*(len(engines)+1)+k] = e.judge(t, on)
				}
			})
		}
		t.Run("card", func(t *testing.T) {
			t.Parallel()
			on := emulated(t)
			for i, e := range list {
				rows[i*(len(engines)+1)+len(engines)] = e.judge(t, on)
			}
		})
	})
	t.Logf("limits: phase %d degrees, depth %g wavelengths, amplitude %g %%, scale %g %%\n%s\n%s", mostPhase, mostDepth, 100*mostAmplitude, 100*mostScale,
		"| case | primaries | engine | modelled: polarity | phase | depth | amplitude | scale | imaged: polarity | phase | depth | amplitude | scale |\n"+
			"|---|---|---|---|---|---|---|---|---|---|---|---|---|", strings.Join(slices.DeleteFunc(rows, func(r string) bool { return r == "" }), "\n"))
}

// TestGateNotices makes sure that the gate sees a wrong sign, a missing half derivative and weights that are left out.
func TestGateNotices(t *testing.T) {
	for _, c := range []struct {
		name  string
		e     *experiment
		spoil func(p *kirchhoff.Problem)
		want  string
	}{
		{"sign", analytic(3)[0], func(p *kirchhoff.Problem) { p.WaveletFilter = kirchhoff.PyLopsFilter }, "7 of 7 reversed"},
		{"filter", analytic(2)[0], func(p *kirchhoff.Problem) { p.WaveletFilter = kirchhoff.NoFilter }, "the phase is off by 4"},
		{"late", analytic(2)[1], func(p *kirchhoff.Problem) { p.T0 += 0.004 }, "the depth is off by 0.03"},
		{"weights", analytic(2)[3], func(p *kirchhoff.Problem) { p.Dynamic, p.Spreading = false, traveltime.NoSpreading }, "amplitudes are off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			spoilt := host("cpu", func(ctx context.Context, p *kirchhoff.Problem, w kirchhoff.Work) (kirchhoff.Engine, error) {
				c.spoil(p)
				return kirchhoff.New(ctx, p, w)
			})
			if _, faults := verdict(c.e.compareModelled(t, spoilt)); !strings.Contains(strings.Join(faults, "; "), c.want) {
				t.Errorf("found %q, want %q", faults, c.want)
			}
		})
	}
}

// engine is one way to make an operator.
type engine struct {
	name   string
	device device.Device
	make   func(context.Context, *kirchhoff.Problem, kirchhoff.Work) (kirchhoff.Engine, error)
}

func host(name string, make func(context.Context, *kirchhoff.Problem, kirchhoff.Work) (kirchhoff.Engine, error)) engine {
	return engine{name, device.NewHost(1), make}
}

// emulated is the emulated card, or with LSM_TEST_GPU=1 the real one.
func emulated(t *testing.T) engine {
	gputest.Need(t)
	d, err := card.Open(card.Options{Engine: driver.CUDA, Cache: accel.UserCache()})
	if err != nil && gputest.Real() {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return engine{"cuda", d, func(ctx context.Context, p *kirchhoff.Problem, w kirchhoff.Work) (kirchhoff.Engine, error) {
		return gpu.New(ctx, d, p, w)
	}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// judge is a row of the table.
func (e *experiment) judge(t *testing.T, on engine) string {
	t.Helper()
	row := fmt.Sprintf("| %d-D %s | %s | %s", e.dim, e.name, e.made, on.name)
	for _, way := range []struct {
		name string
		list []likeness
	}{{"modelled", e.compareModelled(t, on)}, {"imaged", e.compareImaged(t, on)}} {
		text, faults := verdict(way.list)
		row += text
		for _, f := range faults {
			t.Errorf("%d-D %s (%s), %s, %s: %s", e.dim, e.name, e.made, on.name, way.name, f)
		}
	}
	return row + " |"
}

// verdict is the worst of several pulses. Their shifts are in wavelengths.
func verdict(list []likeness) (text string, faults []string) {
	mean, phase, depth, amplitude, reversed := 0.0, 0.0, 0.0, 0.0, 0
	for _, l := range list {
		mean += math.Abs(l.gain) / float64(len(list))
		phase, depth = max(phase, math.Abs(l.phase)), max(depth, math.Abs(l.late))
		if l.gain < 0 {
			reversed++
		}
	}
	for _, l := range list {
		amplitude = max(amplitude, math.Abs(math.Abs(l.gain)/mean-1))
	}
	polarity := "right"
	if reversed > 0 {
		polarity = fmt.Sprintf("%d of %d reversed", reversed, len(list))
		faults = append(faults, polarity)
	}
	check := func(ok bool, format string, v float64) {
		if !ok {
			faults = append(faults, fmt.Sprintf(format, v))
		}
	}
	check(phase <= mostPhase, "the phase is off by %.1f degrees", phase)
	check(depth <= mostDepth, "the depth is off by %.3f wavelengths", depth)
	check(amplitude <= mostAmplitude, "amplitudes are off by %.1f %% of their mean", 100*amplitude)
	check(math.Abs(mean-1) <= mostScale, "the scale is off by %+.1f %%", 100*(mean-1))
	return fmt.Sprintf(" | %s | %.1f° | %.3f λ | %.1f %% | %+.1f %%", polarity, phase, depth, 100*amplitude, 100*(mean-1)), faults
}

// problem is the operator of some traces and an image. An eikonal solver would take long for the many places of an image
// in 3-D, so there times and amplitudes may be exact ones.
func (e *experiment) problem(t *testing.T, pairs []pair, g grid.Grid, exact bool) *kirchhoff.Problem {
	s := survey.Survey{Dim: e.dim}
	for i, p := range pairs {
		s.Sources, s.Receivers = append(s.Sources, p[0]...), append(s.Receivers, p[1]...)
		s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, int32(i)), append(s.ReceiverIndex, int32(i))
	}
	w, zero := e.wavelet()
	p := &kirchhoff.Problem{Grid: g, Positions: s.Distinct(true), NT: e.nt, DT: e.dt, T0: e.first,
		Wavelet: survey.Wavelet{Samples: w, Zero: zero, DT: e.dt}, WaveletFilter: kirchhoff.HalfDerivatives,
		Times: e.times(t, g, exact), Dynamic: true, Spreading: traveltime.RaySpreading, Velocity: make([]float64, g.Len()), Threads: 1}
	x := make([]float64, e.dim)
	for i := range p.Velocity {
		g.Point(x, i)
		p.Velocity[i] = e.medium.at(x[e.dim-1])
	}
	if c, ok := p.Times.(closed); ok {
		p.Spreading, p.Amplitude = traveltime.NoSpreading, func(place int) ([]float64, error) {
			b := make([]float64, g.Len())
			c.each(p.Positions.At(place), func(i int, _, spreading float64) { b[i] = spreading })
			return b, nil
		}
	}
	return p
}

// apply is one direction of an engine's operator.
func apply(t *testing.T, on engine, p *kirchhoff.Problem, adjoint bool, from []float64) []float64 {
	t.Helper()
	made, err := on.make(t.Context(), p, kirchhoff.Work{})
	must(t, err)
	defer made.Close()
	to := make([]float64, p.NumTraces()*p.NT)
	if adjoint {
		to = make([]float64, p.Grid.Len())
	}
	src, err := on.device.Alloc(len(from), made.Type())
	must(t, err)
	dst, err := on.device.Alloc(len(to), made.Type())
	must(t, err)
	if made.Type() == device.F32 {
		less := make([]float32, len(from))
		for i, v := range from {
			less[i] = float32(v)
		}
		must(t, device.Upload(src, less))
	} else {
		must(t, device.Upload(src, from))
	}
	if k := made.Kernels()[0]; adjoint {
		must(t, k.Adjoint(t.Context(), dst, src))
	} else {
		must(t, k.Forward(t.Context(), dst, src))
	}
	must(t, device.Download(to, dst))
	return to
}

// fade is 1 near the middle and falls to 0 at the reach by half a period of a cosine.
func fade(u, reach float64) float64 {
	return 0.5 + 0.5*math.Cos(math.Pi*min(1, max(0, (math.Abs(u)/reach-0.55)/0.45)))
}

// foot is where the mirror's normal to the origin meets it, or the diffractor.
func (e *experiment) foot() []float64 {
	x := at(e.dim)
	for i, s := range e.slope {
		x[i] = -e.depth * s / (e.steepness() * e.steepness())
	}
	x[e.dim-1] = e.mirror.at(x)
	return x
}

// plate is the image of the mirror: of the coefficient R it is R √(v/8π) Δx Δz δ(n) in 2-D and R/4π Δx Δy Δz δ(n) in
// 3-D, v the velocity at the surface. It fades out where no trace has its reflection.
func (e *experiment) plate() (grid.Grid, []float64) {
	foot, half, cell := e.foot(), 600.0, 10.0
	if e.dim == 3 {
		cell = 20
		if e.k != 0 {
			half = 400
		}
	}
	g := grid.Grid{}
	deep, high := 10.0, 1
	if e.steepness() > 1 {
		deep = 8
		high = int(half*math.Sqrt(e.steepness()*e.steepness()-1)*1.4/deep) + 4
	}
	n := int(half / cell)
	if e.point {
		n = 1
	}
	for a := range e.dim - 1 {
		g.Origin, g.Spacing, g.Shape = append(g.Origin, foot[a]-float64(n)*cell), append(g.Spacing, cell), append(g.Shape, 2*n+1)
	}
	z := e.dim - 1
	g.Origin, g.Spacing, g.Shape = append(g.Origin, foot[z]-float64(high)*deep), append(g.Spacing, deep), append(g.Shape, 2*high+1)
	m, x := make([]float64, g.Len()), make([]float64, e.dim)
	unit := e.strength * cell * math.Sqrt(e.v0/(8*math.Pi)) * e.steepness()
	if e.dim == 3 {
		unit = e.strength * cell * cell / (4 * math.Pi) * e.steepness()
	}
	for i := range m {
		g.Point(x, i)
		if e.point {
			if distance(x, foot) < 1 {
				m[i] = e.strength
			}
			continue
		}
		m[i] = unit * cubic((x[z]-e.mirror.at(x))/deep)
		for a := range z {
			m[i] *= fade(x[a]-foot[a], half)
		}
	}
	return g, m
}

// cubic are the weights by which Lagrange's cubics spread a point over its four neighbours.
func cubic(u float64) float64 {
	switch u = math.Abs(u); {
	case u < 1:
		return (1 - u) * (1 + u) * (2 - u) / 2
	case u < 2:
		return (1 - u) * (2 - u) * (3 - u) / 6
	}
	return 0
}

// compareModelled compares the traces of the plate with the primaries.
func (e *experiment) compareModelled(t *testing.T, on engine) (list []likeness) {
	g, m := e.plate()
	pairs := e.modelled
	if e.slow(on) {
		pairs = pairs[len(pairs)-3:]
	}
	made := apply(t, on, e.problem(t, pairs, g, false), false, m)
	for i, pair := range pairs {
		arrival, cosine := e.arrival(pair)
		lo := max(0, int((arrival-1.9/e.f0-e.first)/e.dt))
		hi := min(e.nt, int((arrival+1.9/e.f0-e.first)/e.dt))
		l := compare(made[i*e.nt+lo:i*e.nt+hi], e.trace(pair)[lo:hi])
		l.gain /= cosine
		l.late *= e.dt * e.f0 / 2 // two-way times in wavelengths
		list = append(list, l)
	}
	return list
}

// slow says that the emulator would take long for all of a case: it has three traces and one offset of it.
func (e *experiment) slow(on engine) bool { return e.dim == 3 && on.name == "cuda" && !gputest.Real() }

// arrival is the time of a primary, and what the operator's amplitude lacks: a diffractor's image is larger by 1/cos θ.
func (e *experiment) arrival(p pair) (t, cosine float64) {
	if !e.point {
		t, _, _ = e.reflected(e.medium, p[0], p[1])
		return t, 1
	}
	t, weight := e.diffracted(p, e.foot())
	_, a := e.leg(p[0], e.foot())
	_, b := e.leg(p[1], e.foot())
	return t, weight / (a * b) * e.v0 / 2
}

// diffracted is the time by way of a point and the weight |p_s + p_r| b_s b_r = 2 cos θ/v b_s b_r.
func (e *experiment) diffracted(p pair, x []float64) (t, weight float64) {
	weight, sum := 1, 0.0
	total := make([]float64, e.dim)
	for _, end := range p {
		time, b := e.leg(end, x)
		t, weight = t+time, weight*b
		for i, s := range e.slowness(end, x) {
			total[i] += s
		}
	}
	for _, s := range total {
		sum += s * s
	}
	return t, weight * math.Sqrt(sum)
}

// correlation is that of the wavelet that traces hold with itself, at a lag, over dt: f^power more than a Ricker's.
func (e *experiment) correlation(lag, power float64) float64 {
	const df = 0.25
	sum := 0.0
	for f := df; f < 5*e.f0; f += df {
		w := ricker(f, e.f0)
		sum += 2 * w * w * math.Pow(2*math.Pi*f, power) * math.Cos(2*math.Pi*f*lag) * df
	}
	return sum / e.dt
}

// compareImaged compares the column of the image of each class with the pulse that it should be.
func (e *experiment) compareImaged(t *testing.T, on engine) (list []likeness) {
	foot, z := e.foot(), e.dim-1
	length := e.medium.at(foot[z]) / e.f0
	g := grid.Grid{Origin: slices.Clone(foot)}
	for a := range z {
		g.Origin[a] -= 10
		g.Spacing, g.Shape = append(g.Spacing, 10), append(g.Shape, 3)
	}
	const n = 28
	g.Spacing, g.Shape = append(g.Spacing, length/32), append(g.Shape, 2*n+1)
	g.Origin[z] -= n * length / 32
	e.once.Do(func() {
		for _, class := range e.classes {
			e.faded, e.wanted = append(e.faded, e.fadedTraces(class)), append(e.wanted, e.column(class, g))
		}
	})
	for i, class := range e.classes {
		if i > 0 && e.slow(on) {
			break
		}
		image := apply(t, on, e.problem(t, class, g, e.dim == 3 && e.k != 0), true, e.faded[i])
		middle := g.Len() / 2 / g.Shape[z] * g.Shape[z] // of the middle column
		l := compare(image[middle:middle+2*n+1], e.wanted[i])
		l.late /= 32
		list = append(list, l)
	}
	return list
}

// fadedTraces are the primaries of a class; those of a mirror fade out where midpoints end, away from the
// stationary one.
func (e *experiment) fadedTraces(class []pair) (data []float64) {
	for _, pair := range class {
		weight := 1.0
		if !e.point {
			for a := range e.dim - 1 {
				weight *= fade((pair[0][a]+pair[1][a])/2, e.reach)
			}
		}
		for _, v := range e.trace(pair) {
			data = append(data, weight*v)
		}
	}
	return data
}

// column is the middle column of a class's image, of a diffractor as the sum over traces, of a mirror by stationary
// phase: with ψ(m) the time by way of the point less that of the reflection, m the midpoint, the sum over traces Δm
// apart is that of the trace where ψ is least, read at that lag, times √(2π/ψ″)/Δm in 2-D and 2π/√det ψ″/Δm² in 3-D
// (Bleistein 1984, Mathematical methods for wave phenomena, section 2.7).
func (e *experiment) column(class []pair, g grid.Grid) []float64 {
	x, z := e.foot(), e.dim-1
	half := at(e.dim)
	for i := range half {
		half[i] = (class[0][1][i] - class[0][0][i]) / 2
	}
	out, m := make([]float64, g.Shape[z]), make([]float64, z)
	for k := range out {
		x[z] = g.Origin[z] + float64(k)*g.Spacing[z]
		if e.point {
			for _, p := range class {
				t, weight := e.diffracted(p, x)
				t0, weight0 := e.diffracted(p, e.foot())
				_, cosine := e.arrival(p)
				out[k] += weight * weight0 / cosine * e.strength * e.correlation(t-t0, float64(e.dim+1))
			}
			continue
		}
		around := func(m []float64) pair {
			p := pair{at(e.dim, m...), at(e.dim, m...)}
			for i := range half {
				p[0][i], p[1][i] = p[0][i]-half[i], p[1][i]+half[i]
			}
			return p
		}
		psi := func(m []float64) float64 {
			p := around(m)
			there, _ := e.leg(p[0], x)
			back, _ := e.leg(p[1], x)
			t, _, _ := e.reflected(e.medium, p[0], p[1])
			return there + back - t
		}
		det, lag := least(psi, m), psi(m)
		p := around(m)
		_, weight := e.diffracted(p, x)
		_, b, _ := e.reflected(e.medium, p[0], p[1])
		out[k] = weight * b * e.strength * math.Pow(2*math.Pi, float64(z)/2) / math.Sqrt(det) / math.Pow(e.spacing, float64(z)) * e.correlation(lag, 0)
	}
	return out
}

// least moves m to where f is least, by Newton's method, and returns the determinant of the second derivatives there.
func least(f func([]float64) float64, m []float64) float64 {
	const h = 2.0
	det := 0.0
	for range 5 {
		at := func(i, j float64) float64 {
			x := slices.Clone(m)
			x[0] += i * h
			if len(x) == 2 {
				x[1] += j * h
			}
			return f(x)
		}
		gx, xx := (at(1, 0)-at(-1, 0))/(2*h), (at(1, 0)-2*at(0, 0)+at(-1, 0))/(h*h)
		if len(m) == 1 {
			det = xx
			m[0] -= gx / xx
			continue
		}
		gy, yy := (at(0, 1)-at(0, -1))/(2*h), (at(0, 1)-2*at(0, 0)+at(0, -1))/(h*h)
		xy := (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * h * h)
		det = xx*yy - xy*xy
		m[0], m[1] = m[0]-(yy*gx-xy*gy)/det, m[1]-(xx*gy-xy*gx)/det
	}
	return det
}
