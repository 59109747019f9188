package synth

import (
	"math"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Sections are drawn on a reference frame of 3000 m by 1500 m and stretched to
// the grid.
const (
	frameX = 3000.0
	frameZ = 1500.0
)

// section fills 2-D grids with a geology of the frame.
func section(velocity func(x, z float64) float64) func(grid.Grid) []float64 {
	return func(g grid.Grid) []float64 {
		return meanSlowness(g, 5, func(p []float64) float64 { return velocity(frameX*p[0], frameZ*p[1]) })
	}
}

// meanSlowness fills a grid with the mean slowness of each cell, sampled per times along
// each axis. The geology has the fractions of the grid's edges.
func meanSlowness(g grid.Grid, per int, velocity func(p []float64) float64) []float64 {
	v, p := make([]float64, g.Len()), make([]float64, g.Dim())
	subs := 1
	for range p {
		subs *= per
	}
	for n := range v {
		sum := 0.0
		for sub := range subs {
			cell, part := n, sub
			for a := g.Dim() - 1; a >= 0; a-- {
				p[a] = within(cell%g.Shape[a], part%per, per, g.Shape[a])
				cell, part = cell/g.Shape[a], part/per
			}
			sum += 1 / velocity(p)
		}
		v[n] = rounded(float64(subs) / sum)
	}
	return v
}

// profile is a curve of the frame at the columns of a 2-D grid.
func profile(g grid.Grid, z func(x float64) float64) []float64 {
	out := make([]float64, g.Shape[0])
	depth := g.End(1) - g.Origin[1]
	for i := range out {
		out[i] = g.Origin[1] + depth/frameZ*z(frameX*within(i, 2, 5, g.Shape[0]))
	}
	return out
}

// rounded takes the rounding of the mean off a velocity, so that a cell in a
// homogeneous bed has the bed's velocity exactly.
func rounded(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// within is the position of sub-sample a of per in cell i of an axis with n
// points, as a fraction of the axis.
func within(i, a, per, n int) float64 {
	off := (float64(a)+0.5)/float64(per) - 0.5
	return (float64(i) + off) / math.Max(1, float64(n-1))
}

// bed is a layer by the depth of its base in the undeformed column.
type bed struct{ base, velocity float64 }

// column returns the velocity at depth s of an undeformed column; the last bed
// has no base.
func column(beds []bed, s float64) float64 {
	for _, b := range beds {
		if s < b.base {
			return b.velocity
		}
	}
	return beds[len(beds)-1].velocity
}

// bump is a smooth hill of height 1 at x0.
func bump(x, x0, width float64) float64 {
	u := (x - x0) / width
	return math.Exp(-u * u)
}

// dipping is five homogeneous layers between plane interfaces, one flat and
// three dipping, two of them against each other.
func dipping(x, z float64) float64 {
	u := x / frameX
	switch {
	case z < 300:
		return 2000
	case z < 480+170*u:
		return 2200
	case z < 940-150*u:
		return 2500
	case z < 1080+140*u:
		return 2850
	}
	return 3300
}

// faulted is a folded sequence of thick and thin beds, cut by a normal fault
// and its antithetic partner into a graben, bevelled by an unconformity under
// gently dipping cover. Gas in the crest of the anticline slows one bed down to
// a flat contact, and below the unconformity all beds speed up to the right.
func faulted(x, z float64) float64 { return gasTo(500, x, z) }

// produced is faulted after years of production: brine has risen, and the gas ends higher.
func produced(x, z float64) float64 { return gasTo(462, x, z) }

// gasTo is faulted with gas down to a depth of its frame.
func gasTo(contact, x, z float64) float64 {
	beds := []bed{
		{330, 2350}, {400, 2600}, {430, 2900}, {550, 2550}, {572, 2250}, {690, 2700},
		{770, 3050}, {795, 2600}, {940, 3150}, {985, 2800}, {1150, 3400}, {1e9, 4000},
	}
	if z < 110+12*math.Sin(2*math.Pi*x/2600) {
		return 2000
	}
	if z < 215-0.03*(x-1500) {
		return 2150
	}
	if z < 320+25*math.Sin(2*math.Pi*(x+300)/3400) {
		return 2300
	}
	fold := -120*bump(x, 1000, 450) + 55*bump(x, 2200, 400) + 0.04*(x-1500)
	throw := 0.0
	const deg = math.Pi / 180
	main := x > 1500+(z-300)/math.Tan(62*deg) // hanging wall to the right
	anti := x > 2500-(z-300)/math.Tan(66*deg) // footwall to the right
	if main {
		throw = 75
	}
	if anti && main {
		throw = 25
	}
	s := z - fold - throw
	if !main && s > 572 && s < 690 && z < contact && x > 600 && x < 1400 {
		return 2150 // gas above a flat contact with the brine
	}
	return column(beds, s) * (1 + 0.06*(x-1500)/1500)
}

// salted is a salt body with an overhanging cap on a narrowing stem, in beds
// that are dragged up against it, over flat targets that it shadows.
func salted(x, z float64) float64 {
	if z < 130 {
		return 2000
	}
	u := x - 1480
	cap := func() bool {
		a, b := u/620, (z-560-20*math.Sin(x/90))/170
		return a*a+b*b < 1
	}
	stem := z > 560 && z < 1130 && math.Abs(u) < 170+110*math.Pow((z-845)/285, 2)
	if z < 1130 && (cap() || stem) {
		return 4400
	}
	if z > 1130 {
		beds := []bed{{1160, 3300}, {1270, 3050}, {1300, 3550}, {1400, 3200}, {1e9, 3800}}
		return column(beds, z)
	}
	drag := 150*bump(x, 1480, 700) + 25*math.Sin(x/260)
	s := z + drag*math.Min(1, (z-130)/400)
	beds := []bed{
		{250, 2100}, {330, 2250}, {360, 2450}, {470, 2250}, {580, 2400}, {610, 2650},
		{740, 2450}, {860, 2650}, {885, 2900}, {1020, 2700}, {1150, 2900}, {1e9, 3050},
	}
	return column(beds, s)
}

// hills is the topography of hilly: z of the surface at x.
func hills(x float64) float64 {
	return 115 - 60*math.Sin(2*math.Pi*(x+180)/1900) - 22*math.Sin(2*math.Pi*x/720) + 0.012*(x-1500)
}

// hilly is a folded sequence with a normal fault under hills, whose weathered layer
// follows the surface. Above the surface it goes on as below it, so that there is no
// contrast and rays of first arrivals stay in rock.
func hilly(x, z float64) float64 {
	if z < hills(x)+60+15*math.Sin(2*math.Pi*x/1100) {
		return 1800
	}
	s := z + 90*bump(x, 1050, 500) - 40*bump(x, 2350, 450) - 0.03*(x-1500)
	if x > 1750+(z-300)/math.Tan(65*math.Pi/180) { // hanging wall to the right
		s -= 60
	}
	beds := []bed{{420, 2150}, {540, 2350}, {600, 2650}, {760, 2400}, {830, 2750}, {1000, 2550}, {1180, 3000}, {1240, 2700}, {1e9, 3300}}
	return column(beds, s)
}

// The beds of the thrust sheet of thrusted dip to the right by sheetDip degrees, and their
// symmetry axis is normal to them.
const (
	sheetDip     = 40.0
	sheetEpsilon = 0.22 // of the shale in the physical model of Isaac and Lawton 1999, Geophysics 64
	sheetDelta   = 0.10
)

// inSheet reports whether a point of the frame lies in the thrust sheet, and how far, in m,
// above or below its middle.
func inSheet(x, z float64) (across float64, in bool) {
	sin, cos := math.Sincos(sheetDip * math.Pi / 180)
	across = (z-450)*cos - (x-1350)*sin
	return across, math.Abs(across) < 300 && z > 60 && z < 880
}

// thrusted is a sheet of dipping shale, thrust between flat beds, above a flat reflector and a
// small fault. Isotropic imaging misplaces what lies below the sheet.
func thrusted(x, z float64) float64 {
	if across, in := inSheet(x, z); in {
		return column([]bed{{120, 2900}, {200, 3000}, {330, 2850}, {420, 3000}, {1e9, 2900}}, across+300)
	}
	if x > 1600 && z > 1000 {
		z -= 40
	}
	return column([]bed{{60, 2600}, {300, 2700}, {480, 2850}, {700, 2750}, {880, 2950}, {1100, 2900}, {1220, 3300}, {1e9, 3600}}, z)
}

// sheetTilted is the anisotropy of thrusted.
func sheetTilted(g grid.Grid) traveltime.Anisotropy {
	a := traveltime.Anisotropy{Epsilon: make([]float64, g.Len()), Delta: make([]float64, g.Len()), Tilt: make([]float64, g.Len())}
	for i := range a.Epsilon {
		x, z := i/g.Shape[1], i%g.Shape[1]
		if _, in := inSheet(frameX*within(x, 2, 5, g.Shape[0]), frameZ*within(z, 2, 5, g.Shape[1])); in {
			a.Epsilon[i], a.Delta[i], a.Tilt[i] = sheetEpsilon, sheetDelta, -sheetDip
		}
	}
	return a
}

// domed is the geology of the cube in fractions of its edges: a dome cut
// by a dipping fault under a flat overburden with a buried channel.
func domed(p []float64) float64 {
	x, y, z := p[0], p[1], p[2]
	if z < 0.18 {
		return 2000
	}
	bend := 0.5 + 0.12*math.Sin(2*math.Pi*x) // the channel's course over x
	if d := (y - bend) / 0.09; d*d < 1 && z < 0.36-0.06*d*d && z > 0.29 {
		return 2020
	}
	if z < 0.36 {
		return 2150
	}
	rise := 0.16 * math.Exp(-((x-0.45)*(x-0.45)+(y-0.5)*(y-0.5))/0.09)
	s := z + rise
	if x > 0.62+0.25*(z-0.4)+0.1*(y-0.5) {
		s -= 0.07
	}
	return column([]bed{{0.58, 2300}, {0.64, 2600}, {0.8, 2400}, {1e9, 2800}}, s)
}
