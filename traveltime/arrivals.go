package traveltime

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Arrivals are several arrivals at each point of a grid, each in C order: [arrival][points], gradients
// [arrival][axis][points]. A point has those whose Amplitude is not 0.
type Arrivals struct {
	Time      []float64 // s
	Amplitude []float64 // the geometrical spreading b, not negative
	Turns     []float64 // whole numbers of quarter periods by which the phase has turned, one for each caustic passed
	Gradient  []float64 // of the time, s/m
}

// ArrivalRows reads what arrives from the given source or receiver row into dst. It is never called by two
// goroutines at once.
type ArrivalRows func(dst *Arrivals, role survey.Role, row int) error

// arrivalTables is the method for given tables of several arrivals.
type arrivalTables struct {
	g     grid.Grid
	count int
	mu    sync.Mutex // over rows
	rows  ArrivalRows
}

// NewArrivalTables returns the method for given tables of count arrivals at each point, used unchanged.
// Their grid, tables, must be the image grid. Times, amplitudes and gradients of arrivals must be
// finite, amplitudes and times not negative.
func NewArrivalTables(rows ArrivalRows, count int, tables, image grid.Grid) (Method, error) {
	if err := checkTablesGrid(tables, image); err != nil {
		return nil, err
	}
	return &arrivalTables{g: image, count: count, rows: rows}, nil
}

// Name implements Method.
func (m *arrivalTables) Name() string { return "table" }

// Grid implements Method.
func (m *arrivalTables) Grid() grid.Grid { return m.g }

// Domain implements Method: positions may lie anywhere.
func (m *arrivalTables) Domain() *grid.Grid { return nil }

// Turned is for Turned: any arrival of a point may have turned, or all.
func (m *arrivalTables) Turned() []bool { return Kept{m.count}.turned() }

// Traced is for Traced.
func (m *arrivalTables) Traced() bool { return true }

// ScratchBytes implements Method.
func (m *arrivalTables) ScratchBytes(p *survey.Positions, places []int, opt Options) int64 {
	w := arrivalWorker{m: m, p: p, opt: opt, points: opt.mostColumns(m.g, places) * m.g.Shape[m.g.Dim()-1]}
	w.counting = true
	w.allocate()
	return w.bytes
}

// Solve implements Method, place by place.
func (m *arrivalTables) Solve(ctx context.Context, p *survey.Positions, places []int, opt Options, sink func(place int, f Field) error) error {
	checkPlaces(m.g, p, places, opt)
	jobs := make([]job, len(places))
	for i := range jobs {
		jobs[i].places = places[i : i+1]
	}
	points := opt.mostColumns(m.g, places) * m.g.Shape[m.g.Dim()-1]
	return distributeJobs(ctx, jobs, opt, func() worker { return &arrivalWorker{m: m, p: p, opt: opt, points: points} }, sink)
}

// arrivalWorker is the worker of arrivalTables.
type arrivalWorker struct {
	scratch
	m      *arrivalTables
	p      *survey.Positions
	opt    Options
	points int // of the largest window
	given  Arrivals
	out    []Branch
	list   []arrival // of one point
}

func (w *arrivalWorker) allocate() {
	n, dim := w.m.count*w.m.g.Len(), w.m.g.Dim()
	w.given = Arrivals{Time: take[float64](&w.scratch, n), Amplitude: take[float64](&w.scratch, n),
		Turns: take[float64](&w.scratch, n), Gradient: take[float64](&w.scratch, n*dim)}
	for range w.m.Turned() {
		w.out = append(w.out, takeBranch(&w.scratch, w.points, dim, w.opt))
	}
}

func (w *arrivalWorker) solve(context.Context, job) error {
	if w.out == nil {
		w.allocate()
	}
	return w.err
}

func (w *arrivalWorker) field(_, place int) (Field, error) {
	m, role, row := w.m, w.p.Role[place], int(w.p.Row[place])
	m.mu.Lock()
	err := m.rows(&w.given, role, row)
	m.mu.Unlock()
	if err != nil {
		return Field{}, fmt.Errorf("traveltime: table of %s %d: %w", role, row, err)
	}
	f := Field{Window: w.opt.Window(m.g, place)}
	nz := m.g.Shape[m.g.Dim()-1]
	for _, b := range w.out {
		b = b.on(f.Window.count() * nz)
		b.clear()
		f.Branches = append(f.Branches, b)
	}
	to := 0
	for first := range f.Window.Columns(m.g) {
		for point := first; point < first+nz; point++ {
			if err := w.deliver(f.Branches, to, point); err != nil {
				return f, fmt.Errorf("traveltime: table of %s %d: %w", role, row, err)
			}
			to++
		}
	}
	return f, nil
}

// deliver sets the branches at number to of a window to the arrivals of a point.
func (w *arrivalWorker) deliver(out []Branch, to, point int) error {
	g, count, n := w.given, w.m.count, w.m.g.Len()
	w.list = w.list[:0]
	var p [3]float64
	dim := w.m.g.Dim()
	for k := range count {
		i := k*n + point
		b, t, turns := g.Amplitude[i], g.Time[i], g.Turns[i]
		if b == 0 {
			continue
		}
		good := b > 0 && t >= 0 && !math.IsInf(b+t, 0) && turns >= 0 && turns < 1<<20 && turns == math.Trunc(turns)
		for a := range dim {
			p[a] = g.Gradient[(k*dim+a)*n+point]
			good = good && !math.IsNaN(p[a]) && !math.IsInf(p[a], 0)
		}
		if !good {
			at := make([]float64, dim)
			w.m.g.Point(at, point)
			return fmt.Errorf("arrival %d at %v m has the time %g s, amplitude %g, %g turns and gradient %v s/m, must be finite and not negative, turns a whole number",
				k, at, t, b, turns, p[:dim])
		}
		w.list = append(w.list, arrival{t: t, b: b, p: p, turns: int(turns) & 3})
	}
	setArrivals(out, to, count, w.list)
	return nil
}
