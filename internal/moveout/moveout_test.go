package moveout_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
)

// depths of the reflectors at offset 0, in m.
var depths = []float64{700, 1000, 1300, 1700, 2000}

// gathers have reflectors whose curvature is that of gamma at a place, with noise of a share of the
// amplitude. A hyperbola is written out here a second time. dip is ∂z/∂x.
func gathers(g grid.Grid, gamma func(x, z float64) float64, speeds []float64, dip, noise float64) *moveout.Gathers {
	offsets := []float64{100, 300, 500, 700, 900, 1100, 1300, 1500, 1700, 1900, 2100}
	nx, nz := g.Shape[0], g.Shape[1]
	all := make([]float32, nx*len(offsets)*nz)
	image := make([]float32, nx*nz)
	r := rand.New(rand.NewPCG(1, 2))
	scale := g.Spacing[1] / 10
	for ix := range nx {
		x := g.Coord(0, ix)
		for h, offset := range offsets {
			for iz := range nz {
				v := noise * r.NormFloat64()
				for _, z0 := range depths {
					z0 = (z0 + dip*(x-1000)) * scale
					c := 4.0
					if speeds != nil {
						c = speeds[ix*nz+iz] * speeds[ix*nz+iz]
					}
					q := gamma(x, z0)
					at := math.Sqrt(max(0, z0*z0+(q*q-1)*offset*offset/c))
					u := (g.Coord(1, iz) - at) / (30 * scale)
					v += (1 - 2*u*u) * math.Exp(-u*u)
				}
				all[(ix*len(offsets)+h)*nz+iz] = float32(v)
				image[ix*nz+iz] += float32(v)
			}
		}
	}
	n := len(offsets) * nz
	return &moveout.Gathers{Grid: g, Offsets: offsets, Speeds: speeds, Image: image, Panel: func(column int) ([]float32, error) { return all[column*n : (column+1)*n], nil }}
}

func options(window float64) moveout.Options {
	return moveout.Options{Least: 0.7, Greatest: 1.4, Step: 0.005, Every: [2]int{5, 5}, Around: [2]int{2, 2}, Window: window, Mute: 1.5, Stiffness: 0.02, Threshold: 0.3, Threads: 2}
}

func pick(t *testing.T, g *moveout.Gathers, o moveout.Options) []moveout.Pick {
	t.Helper()
	s, err := moveout.Scan(g, o)
	if err != nil {
		t.Fatal(err)
	}
	picks, _ := moveout.Picks(g, o, s, moveout.Trajectories(g, o, s))
	return picks
}

func TestPicksAreThoseOfTheGathers(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 300}, Spacing: []float64{40, 10}, Shape: []int{51, 220}}
	for _, c := range []struct {
		name       string
		gamma      func(x, z float64) float64
		dip, noise float64
		most       float64 // error of γ
	}{
		{"too slow", func(x, z float64) float64 { return 0.9 }, 0, 0, 0.003},
		{"too fast", func(x, z float64) float64 { return 1.12 }, 0, 0, 0.003},
		{"right", func(x, z float64) float64 { return 1 }, 0.2, 0, 0.003},
		{"changing", func(x, z float64) float64 { return 0.88 + 0.1*(z-700)/1300 + 0.02*math.Sin(x/400) }, 0.1, 0, 0.015},
		{"noise", func(x, z float64) float64 { return 0.93 }, 0, 0.3, 0.025},
	} {
		t.Run(c.name, func(t *testing.T) {
			gathers := gathers(g, c.gamma, nil, c.dip, c.noise)
			picks := pick(t, gathers, options(100))
			worst := 0.0
			for _, p := range picks {
				worst = max(worst, math.Abs(p.Gamma-c.gamma(p.X, p.Z)))
				if math.Abs(p.Slope-c.dip) > 0.05 {
					t.Errorf("slope at (%g, %g) is %.3f, want %g", p.X, p.Z, p.Slope, c.dip)
				}
				if p.Certainty <= 0 || p.Certainty > p.Semblance {
					t.Errorf("certainty %g of semblance %g", p.Certainty, p.Semblance)
				}
			}
			if want := 10 * len(depths) * 8 / 10; len(picks) < want || worst > c.most {
				t.Errorf("%d picks, want at least %d; γ is off by %.4f, want at most %g", len(picks), want, worst, c.most)
			}
		})
	}
}

// Classes that no trace lights hold noise alone, as strong as the reflectors: with their illumination they do
// not count, and the far offsets that picks name are lit.
func TestUnlitClassesDoNotCount(t *testing.T) {
	t.Parallel()
	g := grid.Grid{Origin: []float64{0, 300}, Spacing: []float64{40, 10}, Shape: []int{31, 220}}
	made := func() *moveout.Gathers {
		all := gathers(g, func(x, z float64) float64 { return 0.9 }, nil, 0, 0)
		panel := all.Panel
		r := rand.New(rand.NewPCG(3, 4))
		all.Panel = func(column int) ([]float32, error) {
			p, err := panel(column)
			p = slices.Clone(p)
			for i := 6 * 220; i < len(p); i++ { // 1300 m and beyond
				p[i] = float32(r.NormFloat64())
			}
			return p, err
		}
		return all
	}
	o := options(100)
	o.Threads = 1
	blind := pick(t, made(), o)
	lit := made()
	lit.Light = func(int) ([]float32, error) {
		light := make([]float32, 11*220)
		for i := range 6 * 220 {
			light[i] = 0.5 / float32(1+i/220)
		}
		for i := 6 * 220; i < len(light); i++ {
			light[i] = 0.001
		}
		return light, nil
	}
	picks := pick(t, lit, o)
	worst, least := 0.0, 1.0
	for _, p := range picks {
		worst, least = max(worst, math.Abs(p.Gamma-0.9)), min(least, p.Semblance)
		if p.Far > 1100 {
			t.Errorf("pick at %g m reaches to %g m, where no trace lights it", p.Z, p.Far)
		}
	}
	high := 0.0
	for _, p := range blind {
		high = max(high, p.Semblance)
	}
	t.Logf("%d picks, γ off by %.4f, semblance at least %.3f; without illumination %d picks, semblance at most %.3f", len(picks), worst, least, len(blind), high)
	if len(picks) < 20 || worst > 0.01 || least < 0.9 {
		t.Errorf("%d picks, γ off by %.4f, semblance at least %.3f", len(picks), worst, least)
	}
}

// Depths count from the datum.
func TestPicksBelowADatum(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 300}, Spacing: []float64{40, 10}, Shape: []int{31, 220}}
	shifted := gathers(g, func(x, z float64) float64 { return 0.9 }, nil, 0, 0)
	shifted.Grid.Origin = []float64{0, 700}
	shifted.Datum = make([]float64, 31)
	for i := range shifted.Datum {
		shifted.Datum[i] = 400
	}
	picks := pick(t, shifted, options(100))
	if len(picks) < 20 {
		t.Fatalf("%d picks", len(picks))
	}
	for _, p := range picks {
		if want := math.Sqrt((p.Z-400)*(p.Z-400)-0.19*p.Far*p.Far/4) - (p.Z - 400); math.Abs(p.Gamma-0.9) > 0.003 || math.Abs(p.Residual()-want) > 2 {
			t.Errorf("γ is %.4f at %g m, want 0.9; residual %.1f m, want %.1f", p.Gamma, p.Z, p.Residual(), want)
		}
	}
}

// In time γ is the velocity of the migration over the one picked.
func TestPicksInTime(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 0.3}, Spacing: []float64{40, 0.01}, Shape: []int{31, 220}, Domain: grid.Time}
	speeds := make([]float64, g.Len())
	for i := range speeds {
		speeds[i] = 1800
	}
	gathers := gathers(g, func(x, z float64) float64 { return 0.92 }, speeds, 0, 0)
	o := options(0.1)
	picks := pick(t, gathers, o)
	if len(picks) < 20 {
		t.Fatalf("%d picks", len(picks))
	}
	for _, p := range picks {
		if v := p.Speed / p.Gamma; math.Abs(v-1800/0.92) > 0.004*v {
			t.Errorf("velocity %.0f at %.2f s, want %.0f", v, p.Z, 1800/0.92)
		}
	}
}

// Flattened gathers have nothing left to pick.
func TestFlattenTakesTheMoveoutOff(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 300}, Spacing: []float64{40, 10}, Shape: []int{21, 220}}
	curved := gathers(g, func(x, z float64) float64 { return 0.9 }, nil, 0, 0)
	o := options(100)
	gamma := make([]float64, g.Shape[1])
	for i := range gamma {
		gamma[i] = 0.9
	}
	flat := *curved
	flat.Panel = func(column int) ([]float32, error) {
		panel, err := curved.Panel(column)
		return curved.Flatten(column, panel, gamma, o), err
	}
	before, after := moveout.MeanResidual(pick(t, curved, o)), moveout.MeanResidual(pick(t, &flat, o))
	if before < 50 || after > 0.02*before {
		t.Errorf("mean residual %.2f m before and %.2f m after", before, after)
	}
}

func TestCertainty(t *testing.T) {
	if a, b := moveout.Certainty(0.9, 0.05), moveout.Certainty(0.9, 0.2); a != 0.45 || b >= a {
		t.Errorf("certainties %g and %g", a, b)
	}
}

// Offsets without a midpoint where a layer reflects do not count. Here the far ones are those of another
// velocity, as smiles at the end of a line are.
func TestUnlitOffsetsDoNotCount(t *testing.T) {
	g := grid.Grid{Origin: []float64{0, 300}, Spacing: []float64{40, 10}, Shape: []int{51, 220}}
	right := gathers(g, func(x, z float64) float64 { return 0.95 }, nil, 0.1, 0.05)
	wrong := gathers(g, func(x, z float64) float64 { return 0.8 }, nil, 0.1, 0.05)
	const lit = 6
	mixed := *right
	mixed.Panel = func(column int) ([]float32, error) {
		panel, err := wrong.Panel(column)
		near, _ := right.Panel(column)
		return append(append([]float32{}, near[:lit*220]...), panel[lit*220:]...), err
	}
	for class := range mixed.Offsets {
		points := []float64{-9000}
		for x := 0.0; x <= 2500 && class < lit; x += 50 {
			points = append(points, x)
		}
		mixed.Midpoints = append(mixed.Midpoints, points)
	}
	picks := pick(t, &mixed, options(100))
	if len(picks) < 40 {
		t.Errorf("%d picks", len(picks))
	}
	for _, p := range picks {
		if math.Abs(p.Gamma-0.95) > 0.02 || p.Far > mixed.Offsets[lit-1] {
			t.Errorf("γ is %.3f at (%g, %g), want 0.95; offsets up to %g count", p.Gamma, p.X, p.Z, p.Far)
		}
	}
}

// Picks whose peak is nearly as wide as what is scanned say nothing, and are dropped and counted: small
// offsets alone do not tell one γ from another.
func TestUnresolvedPicksAreDropped(t *testing.T) {
	t.Parallel()
	g := grid.Grid{Origin: []float64{0, 300}, Spacing: []float64{40, 10}, Shape: []int{31, 220}}
	short := gathers(g, func(x, z float64) float64 { return 1 }, nil, 0, 0.1)
	for i := range short.Offsets {
		short.Offsets[i] *= 0.15
	}
	o := options(100)
	s, err := moveout.Scan(short, o)
	if err != nil {
		t.Fatal(err)
	}
	picks, unresolved := moveout.Picks(short, o, s, moveout.Trajectories(short, o, s))
	for _, p := range picks {
		if p.Width > moveout.MostWidth*(o.Greatest-o.Least) {
			t.Errorf("the pick at (%g, %g) is %g wide in γ, of %g", p.X, p.Z, p.Width, o.Greatest-o.Least)
		}
	}
	if unresolved < 20 {
		t.Errorf("%d picks, %d dropped as unresolved, want most of them dropped", len(picks), unresolved)
	}
}
