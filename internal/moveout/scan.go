package moveout

import (
	"math"
	"sync"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Gathers are images by offset, below a line or a surface. A column lies below one of its points;
// columns count in C order.
type Gathers struct {
	Grid    grid.Grid // of each image, [nx, (ny,) nz]
	Offsets []float64 // m, of the classes, ascending, from 0 on

	// Panel reads the gather of a column, [classes, nz].
	Panel func(column int) ([]float32, error)

	// Light reads how strongly traces light each class and point of a column, [classes, nz]; nil: not
	// known, and all classes count alike.
	Light func(column int) ([]float32, error)

	Image []float32 // [nx, (ny,) nz], whose layers are those of the gathers

	// Midpoints are the distinct ones of the traces of each class, x or [n, 2] x and y, m; nil: not known,
	// and every offset counts everywhere.
	Midpoints [][]float64

	// Speeds are the velocities of the migration at the grid's points, m/s, for images in time;
	// nil for depth.
	Speeds []float64

	// Datum is z of sources and receivers near each column, m, from which depths count; nil: 0.
	Datum []float64

	slopes  [][]float32 // ∂z/∂x and ∂z/∂y of the layers, each [nx, (ny,) nz]
	weights [][]float32 // of columns that are scanned, [classes, nz], from Light
	clouds  []*cloud    // of Midpoints
}

// Options steer a scan.
type Options struct {
	Least, Greatest, Step float64 // of γ

	Every  [2]int  // columns from one place that is analysed to the next, along x and y
	Around [2]int  // columns on either side whose semblances are added to those of a place
	Window float64 // length along the last axis over which a semblance sums, m or s
	Mute   float64 // offsets up to this many depths count

	Stiffness float64 // of trajectories: of each point, what a change of γ by 0.1 over 1000 m (or 1 s) costs
	Threshold float64 // the least semblance of a pick

	Threads  int
	Progress func() // after each place; may be nil
}

// LeastTraces is the number of offsets that a semblance needs.
const LeastTraces = 3

// Gammas are the values of γ that are tried.
func (o Options) Gammas() []float64 {
	n := int(math.Round((o.Greatest-o.Least)/o.Step)) + 1
	gammas := make([]float64, n)
	for i := range gammas {
		gammas[i] = o.Least + float64(i)*o.Step
	}
	return gammas
}

// nz is the number of points of a column, columns that of columns.
func (g *Gathers) nz() int      { return g.Grid.Shape[g.Grid.Dim()-1] }
func (g *Gathers) columns() int { return g.Grid.Len() / g.nz() }

// index is the index of a column along x and y.
func (g *Gathers) index(column int) [2]int {
	if g.Grid.Dim() == 2 {
		return [2]int{column}
	}
	return [2]int{column / g.Grid.Shape[1], column % g.Grid.Shape[1]}
}

// shape is the number of columns along x and y.
func (g *Gathers) shape() [2]int {
	if g.Grid.Dim() == 2 {
		return [2]int{g.Grid.Shape[0], 1}
	}
	return [2]int{g.Grid.Shape[0], g.Grid.Shape[1]}
}

// place is x and y of a column, m; y is 0 on a line.
func (g *Gathers) place(column int) (x [2]float64) {
	i := g.index(column)
	for a := range g.Grid.Dim() - 1 {
		x[a] = g.Grid.Coord(a, i[a])
	}
	return x
}

// near lists the columns around one, in order.
func (g *Gathers) near(column int, around [2]int) (list []int) {
	at, n := g.index(column), g.shape()
	for i := max(0, at[0]-around[0]); i <= min(n[0]-1, at[0]+around[0]); i++ {
		for j := max(0, at[1]-around[1]); j <= min(n[1]-1, at[1]+around[1]); j++ {
			list = append(list, i*n[1]+j)
		}
	}
	return list
}

// lattice is the number of places along x and y, and the columns along each at which they lie.
func (g *Gathers) lattice(o Options) (n [2]int, at [2][]int) {
	for a, count := range g.shape() {
		every := max(1, o.Every[a])
		for i := min(every/2, count-1); i < count; i += every {
			at[a] = append(at[a], i)
		}
		n[a] = len(at[a])
	}
	return n, at
}

// Places are the columns that are analysed, in order.
func (g *Gathers) Places(o Options) (list []int) {
	_, at := g.lattice(o)
	for _, i := range at[0] {
		for _, j := range at[1] {
			list = append(list, i*g.shape()[1]+j)
		}
	}
	return list
}

// Spectrum holds the semblances of one place.
type Spectrum struct {
	Column    int
	Semblance []float64 // [γ, nz], 0 where too few offsets count
	Energy    []float64 // [nz], of the offsets that count, over its mean
}

// Depth returns how far below the datum a reflector lies at an offset that lies at z0 at offset 0, for
// c = 2 in depth and the velocity of the migration in time; 0 where the curve ends.
func Depth(z0, gamma, offset, c float64) float64 {
	return math.Sqrt(max(0, z0*z0+(gamma*gamma-1)*offset*offset/(c*c)))
}

// speed is c of the curves at point iz of a column.
func (g *Gathers) speed(column, iz int) float64 {
	if g.Speeds == nil {
		return 2
	}
	return g.Speeds[column*g.nz()+iz]
}

// below is the depth of point iz of a column below the datum, m or s.
func (g *Gathers) below(column, iz int) float64 {
	return g.Grid.Coord(g.Grid.Dim()-1, iz) - g.datum(column)
}

func (g *Gathers) datum(column int) float64 {
	if g.Datum == nil {
		return 0
	}
	return g.Datum[column]
}

// along is where the curve of γ at point iz of a column lies at an offset, in points of the last axis.
func (g *Gathers) along(column, iz int, gamma, offset float64) float64 {
	z := g.datum(column) + Depth(g.below(column, iz), gamma, offset, g.speed(column, iz))
	return g.points(z)
}

// points is z in points of the last axis.
func (g *Gathers) points(z float64) float64 {
	last := g.Grid.Dim() - 1
	return (z - g.Grid.Origin[last]) / g.Grid.Spacing[last]
}

// far is the largest offset that counts at point iz of a column; below 0 above the datum.
func (g *Gathers) far(column, iz int, o Options) float64 {
	z := g.below(column, iz)
	return o.Mute * z * g.speed(column, iz) / 2
}

// Scan computes the semblances of the places.
func Scan(g *Gathers, o Options) ([]Spectrum, error) {
	g.aim(o.Threads)
	g.weights = make([][]float32, g.columns())
	g.clouds = nil
	for _, list := range g.Midpoints {
		g.clouds = append(g.clouds, newCloud(list, g.Grid.Dim()-1))
	}
	var all []Spectrum
	for _, column := range g.Places(o) {
		all = append(all, Spectrum{Column: column})
	}
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	next := make(chan int)
	for range max(1, min(o.Threads, len(all))) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				if errs[i] = all[i].sum(g, o); o.Progress != nil {
					o.Progress()
				}
			}
		}()
	}
	for i := range all {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// sum adds up the columns around that of s, along the curves of that column.
func (s *Spectrum) sum(g *Gathers, o Options) error {
	nz, gammas, half := g.nz(), o.Gammas(), o.half(g)
	if err := g.weigh(s.Column, o); err != nil {
		return err
	}
	var panels [][]float32
	s.Energy = make([]float64, nz)
	flat := g.curves(s.Column, 1, o)
	for _, column := range g.near(s.Column, o.Around) {
		panel, err := g.Panel(column)
		if err != nil {
			return err
		}
		panels = append(panels, panel)
		flat.each(panel, func(iz int, at sums) { s.Energy[iz] += at.squares })
	}
	s.Semblance = make([]float64, len(gammas)*nz)
	for k, gamma := range gammas {
		above, below := make([]float64, nz), make([]float64, nz)
		c := g.curves(s.Column, gamma, o)
		for _, panel := range panels {
			c.add(panel, above, below)
		}
		num, den := Smooth(above, half), Smooth(below, half)
		for i := range num {
			if num[i] > 0 { // and den as well
				s.Semblance[k*nz+i] = num[i] / den[i]
			}
		}
	}
	s.Energy = Smooth(s.Energy, half)
	mean := 0.0
	for _, e := range s.Energy {
		mean += e / float64(nz)
	}
	for i := range s.Energy {
		if mean > 0 {
			s.Energy[i] /= mean
		}
	}
	return nil
}

// curves are the curves of one γ below a column.
type curves struct {
	nz    int
	first []int     // [nz+1] of each depth in the others
	at    []int     // number in a panel of the sample above the curve
	next  []float32 // weight of the sample below
	by    []float32 // weight of the class
}

// sums over the classes that count at a depth, with weights w and values a.
type sums struct {
	n                        int
	all                      float64 // Σ w
	values, squares, doubled float64 // Σ w a, Σ w a², Σ w² a²
}

func (g *Gathers) curves(column int, gamma float64, o Options) *curves {
	nz := g.nz()
	c := &curves{nz: nz}
	for iz := range nz {
		c.first = append(c.first, len(c.at))
		far := g.far(column, iz, o)
		for class, x := range g.Offsets {
			if x > far {
				break
			}
			weight := g.weight(column, iz, class)
			if weight == 0 {
				continue
			}
			at := g.along(column, iz, gamma, x)
			if at >= 0 && at <= float64(nz-1) {
				k := min(int(at), nz-2)
				c.at, c.next = append(c.at, class*nz+k), append(c.next, float32(at-float64(k)))
				c.by = append(c.by, weight)
			}
		}
	}
	c.first = append(c.first, len(c.at))
	return c
}

// add adds the sums above and below the line of S, at each depth z0.
func (c *curves) add(panel []float32, above, below []float64) {
	c.each(panel, func(iz int, at sums) {
		if at.n >= LeastTraces {
			above[iz] += at.values*at.values - at.doubled
			below[iz] += at.all*at.squares - at.doubled
		}
	})
}

// each gives the sums along the curve of each depth.
func (c *curves) each(panel []float32, do func(iz int, at sums)) {
	for iz := range c.nz {
		var at sums
		for i := c.first[iz]; i < c.first[iz+1]; i++ {
			k := c.at[i]
			a, w := float64(panel[k]+c.next[i]*(panel[k+1]-panel[k])), float64(c.by[i])
			if a == 0 { // nothing is migrated there
				continue
			}
			at.n++
			at.all += w
			at.values += w * a
			at.squares += w * a * a
			at.doubled += w * w * a * a
		}
		do(iz, at)
	}
}

// Smooth is the sum of v over a triangle from −half to half.
func Smooth(v []float64, half int) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		for d := -half; d <= half; d++ {
			if j := i + d; j >= 0 && j < len(v) {
				out[i] += v[j] * float64(half+1-max(d, -d))
			}
		}
	}
	return out
}

// Flatten moves each trace of a gather [classes, nz] of a column along the curves of γ(z0), [nz], so
// that a reflector that follows them becomes flat. Offsets that do not count are 0.
func (g *Gathers) Flatten(column int, panel []float32, gamma []float64, o Options) []float32 {
	nz := g.nz()
	out := make([]float32, len(panel))
	for class, x := range g.Offsets {
		trace := panel[class*nz : (class+1)*nz]
		for iz := range nz {
			if x > g.far(column, iz, o) {
				continue
			}
			at := g.along(column, iz, gamma[iz], x)
			if at >= 0 && at <= float64(nz-1) {
				k := min(int(at), nz-2)
				out[class*nz+iz] = trace[k] + float32(at-float64(k))*(trace[k+1]-trace[k])
			}
		}
	}
	return out
}
