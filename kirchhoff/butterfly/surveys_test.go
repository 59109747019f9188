package butterfly

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// lattice is nx × ny places, spaced by hx and hy m, the first at x and y. They are up to 2 m off.
func lattice(r *rand.Rand, x, y float64, nx, ny int, hx, hy float64) (out []float64) {
	for i := range nx {
		for j := range ny {
			out = append(out, x+hx*float64(i)+2*r.Float64(), y+hy*float64(j)+2*r.Float64(), 0)
		}
	}
	return out
}

// geometry is a survey over an image that begins at zero, 800 m deep.
type geometry struct {
	name               string
	shape              []int // of the image, points 10 m apart
	aperture           float64
	sources, receivers []float64
	live               func(source, receiver int, offset [2]float64) bool // nil: all pairs
	dynamic            bool
}

// streamer is a boat with 8 cables of 30 receivers, which drift: their angle to the line, feathering, grows by
// 0.7° a shot.
func streamer(r *rand.Rand, shape []int, aperture float64, shots int) geometry {
	sources := lattice(r, 0, 320, shots, 1, 25, 0)
	var receivers []float64
	for i := range shots {
		cables, tan := lattice(r, 100+25*float64(i), 150, 30, 8, 12.5, 50), math.Tan(float64(i)*0.7*math.Pi/180)
		for k := 0; k < len(cables); k += 3 {
			cables[k+1] += tan * (cables[k] - sources[3*i])
		}
		receivers = append(receivers, cables...)
	}
	return geometry{"streamer", shape, aperture, sources, receivers,
		func(source, receiver int, _ [2]float64) bool { return receiver/240 == source }, false}
}

// geometries are surveys of the kinds that there are.
func geometries() []geometry {
	r := rand.New(rand.NewPCG(1, 2))
	return []geometry{
		{"dense", []int{64, 64, 128}, 650, lattice(r, 130, 130, 16, 16, 25, 25), lattice(r, 140, 120, 16, 16, 25, 25), nil, false},
		{"nodes", []int{64, 64, 128}, 650, lattice(r, 0, 0, 32, 32, 25, 25), lattice(r, 50, 60, 4, 4, 200, 200), nil, false},
		{"land", []int{64, 64, 128}, 650, lattice(r, 0, 0, 6, 40, 150, 25), lattice(r, 0, 0, 40, 6, 25, 150),
			func(_, _ int, offset [2]float64) bool { return max(math.Abs(offset[0]), math.Abs(offset[1])) <= 700 }, false},
		streamer(r, []int{48, 64, 64}, 650, 12),
		{"dynamic", []int{64, 64, 64}, 650, lattice(r, 130, 130, 16, 16, 25, 25), lattice(r, 140, 120, 16, 16, 25, 25), nil, true},
	}
}

// problem is that of a geometry in a homogeneous medium.
func (g *geometry) problem(t testing.TB) *kirchhoff.Problem {
	s := survey.Survey{Dim: 3, Sources: g.sources, Receivers: g.receivers}
	for i := range len(g.sources) / 3 {
		for j := range len(g.receivers) / 3 {
			offset := [2]float64{g.receivers[3*j] - g.sources[3*i], g.receivers[3*j+1] - g.sources[3*i+1]}
			if g.live == nil || g.live(i, j, offset) {
				s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, int32(i)), append(s.ReceiverIndex, int32(j))
			}
		}
	}
	p := carpet(t, 1, 25, 800, g.shape)
	p.Positions, p.Threads, p.NT = s.Distinct(true), 1, 500
	p.Aperture, p.ApertureTaper = []float64{g.aperture, g.aperture}, []float64{0.1 * g.aperture, 0.1 * g.aperture}
	var err error
	if p.Times, err = traveltime.NewAnalytic(2500, p.Grid); err != nil {
		t.Fatal(err)
	}
	if g.dynamic {
		p.Dynamic, p.Velocity = true, slices.Repeat([]float64{2500}, p.ImageLen())
	}
	return p
}

// BenchmarkSurveys: forward and adjoint together, of a whole engine on one thread: direct with the data's own
// samples, then within two tolerances, all direct and with parts. gain is against direct sums of the
// same accuracy, those of the samples and curves that FinerFor gives; gain-own against the data's own samples.
// Times are the processor's.
func BenchmarkSurveys(b *testing.B) {
	for _, g := range geometries() {
		b.Run(g.name, func(b *testing.B) {
			p := g.problem(b)
			own := timeOf(b, "own", p, 0)
			for _, tolerance := range []float64{1e-2, 1e-3} {
				b.Run(fmt.Sprintf("tolerance=%g", tolerance), func(b *testing.B) {
					q := *p
					begin := processor()
					share := factorise(b, &q, tolerance)
					deciding := processor() - begin
					same := q
					same.Elsewhere = nil
					direct := timeOf(b, "direct", &same, own)
					b.Run("parts", func(b *testing.B) {
						seconds := applied(b, &q)
						b.ReportMetric(direct/seconds, "gain")
						b.ReportMetric(own/seconds, "gain-own")
						b.ReportMetric(100*share, "%factorised")
						b.ReportMetric(deciding, "s/set-up")
					})
				})
			}
		})
	}
}

// timeOf is the time of an application of p, and prints it beside that of the data's own samples.
func timeOf(b *testing.B, name string, p *kirchhoff.Problem, own float64) (seconds float64) {
	b.Run(name, func(b *testing.B) {
		seconds = applied(b, p)
		if own > 0 {
			b.ReportMetric(own/seconds, "gain-own")
		}
	})
	return seconds
}

// applied is the time, in s, of a forward and an adjoint.
func applied(b *testing.B, p *kirchhoff.Problem) float64 {
	host := device.NewHost(1)
	d, m := device.Wrap(host, random(1, p.NumTraces()*p.NT)), device.Wrap(host, random(2, p.ImageLen()))
	e, err := kirchhoff.New(b.Context(), p, kirchhoff.Work{})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	k := e.Kernels()[0]
	apply := func() {
		if err := errors.Join(k.Forward(b.Context(), d, m), k.Adjoint(b.Context(), m, d)); err != nil {
			b.Fatal(err)
		}
	}
	if p.Elsewhere != nil {
		apply() // makes the memory that later ones keep
	}
	begin := processor()
	for range b.N {
		apply()
	}
	seconds := (processor() - begin) / float64(b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(seconds, "s/application")
	b.ReportMetric(seconds/float64(p.Triples())*1e9, "ns/triple")
	return seconds
}

// BenchmarkSetUp: what the choice of clusters and the skeletons take of processors, in s.
func BenchmarkSetUp(b *testing.B) {
	for _, g := range geometries() {
		for _, tolerance := range []float64{1e-2, 1e-3} {
			b.Run(fmt.Sprintf("%s/tolerance=%g", g.name, tolerance), func(b *testing.B) {
				p := g.problem(b)
				var took [2]float64
				for range b.N {
					begin := processor()
					c := NewClusters(p, tolerance, Use{})
					chosen := processor()
					if _, err := NewPart(b.Context(), p, c, tolerance, alone); err != nil {
						b.Fatal(err)
					}
					took[0] += chosen - begin
					took[1] += processor() - chosen
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(took[0]/float64(b.N), "s/clusters")
				b.ReportMetric(took[1]/float64(b.N), "s/skeletons")
			})
		}
	}
}

// alone is what the only part of a survey agrees to.
func alone(longest float64, err error) (float64, error) { return longest, err }

// factorise has p summed within a tolerance, and is the share of what counts that is factorised.
func factorise(t testing.TB, p *kirchhoff.Problem, tolerance float64) float64 {
	var err error
	if p.Finer, p.Curve, err = kirchhoff.FinerFor(p, tolerance); err != nil {
		t.Fatal(err)
	}
	o, err := New(t.Context(), p, tolerance)
	if err != nil {
		t.Fatal(err)
	}
	if o == nil {
		return 0
	}
	p.Elsewhere = o
	return float64(o.Triples()) / float64(p.Triples())
}

// processor is the time, in s, that this process has kept processors busy.
func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) * 1e-9
}

func random(seed uint64, n int) []float32 {
	r, x := rand.New(rand.NewPCG(seed, 1)), make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// answer is what the operator of a survey makes of random vectors, of samples refined 16 times.
type answer struct {
	p             *kirchhoff.Problem
	traces, image []float32
}

func truthOf(t *testing.T, p *kirchhoff.Problem) answer {
	fine := *p
	fine.Finer = 16
	d, m, _ := both(t, &fine, 3)
	return answer{p, d, m}
}

// holds asserts that a share of the sums, at least and at most, is factorised to the tolerance.
func (want answer) holds(t *testing.T, name string, tolerance, least, most float64) {
	p := *want.p
	share := factorise(t, &p, tolerance)
	d, m, dot := both(t, &p, 3)
	e := max(off(d, want.traces), off(m, want.image))
	text := fmt.Sprintf("%s, tolerance %g: %.0f %% factorised, off by %.2e, dot test %.1e", name, tolerance, 100*share, e, dot)
	t.Log(text)
	if share < least || share > most || !(e <= tolerance) || !(dot <= 1e-6) {
		t.Error(text)
	}
}

// TestOneEndDense: nodes under a carpet of shots are factorised, shots over a carpet of receivers, and each
// shot's own receivers on cables that drift, to the tolerance.
func TestOneEndDense(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	carpet, nodes := lattice(r, 20, 20, 12, 12, 25, 25), lattice(r, 0, 100, 3, 1, 150, 0)
	for _, g := range []geometry{
		{"nodes", []int{32, 32, 32}, 400, carpet, nodes, nil, false},
		{"shots", []int{32, 32, 32}, 400, nodes, carpet, nil, false},
		streamer(r, []int{32, 32, 32}, 400, 3),
	} {
		truthOf(t, g.problem(t)).holds(t, g.name, 1e-2, 0.3, 1)
	}
}

// TestOnePair: traces of one source and one receiver are summed directly, however many they are.
func TestOnePair(t *testing.T) {
	p := carpet(t, 1, 25, 400, []int{32, 32, 32})
	s := survey.Survey{Dim: 3, Sources: []float64{100, 100, 0}, Receivers: []float64{200, 100, 0}, SourceIndex: make([]int32, 200), ReceiverIndex: make([]int32, 200)}
	p.Positions = s.Distinct(true)
	truthOf(t, p).holds(t, "one pair", 1e-2, 0, 0)
}
