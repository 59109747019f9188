package target

import (
	"context"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/dist/dense"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/formulation"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// Options select the results of a target.
type Options struct {
	Window Box
	Frame  int // points around the window that H has as well

	Image config.Path // of a solve of the configuration, for the noise level
	Noise float64     // standard deviation of the noise in a weighted sample; 0: from Image
}

// Target is the Hessian of a window of the image of a job.
type Target struct {
	job *pipeline.Job
	op  *pipeline.Operator
	*system

	asked  Options
	given  *Given
	q      *formulation.Quadratic
	box    Box
	window []int // rows of H of the window's points, in C order
	hess   *kirchhoff.Hessian
	w2     []float32 // squared weights of the data
}

// Refuse returns an error that names the setting for which there is no H.
func Refuse(c *config.Config) error {
	refused := func(key, want, why string) error {
		return status.Hint(status.Usage(fmt.Errorf("lsm target: %s = %s: %s", key, c.Value(key), why)), "--set "+key+"="+want)
	}
	s := c.Solver
	switch {
	case c.Image.Gathers != "none":
		return refused("image.gathers", "none", "each class of gathers has a Hessian of its own")
	case c.Image.Halves:
		return refused("image.halves", "false", "each half of the shots has a Hessian of its own")
	case s.Method == "matching":
		return refused("solver.method", "cgls", "matching filters solve no least-squares problem")
	case s.Band:
		return refused("solver.band", "false", "the Hessian is that of the image itself")
	case c.Data.Weights == "coherence":
		return refused("data.weights", "none", "the Hessian is that of weights that are known")
	case s.Regularization != "none":
		return refused("solver.regularization", "none", "the Hessian is that of data and damping")
	case s.Start.IsSet():
		return refused("solver.start", "", "a solution has no start")
	case c.Data.Read == "stream":
		return refused("data.read", "memory", "traces are weighed in memory")
	}
	return nil
}

// unbounded is said where only the data count.
const unbounded = "solver.damping is 0: nothing bounds what the data hardly see, " +
	`so the resolution is 1 and noise is magnified; solver.damping = 0.01 with solver.penalty_scale = "relative" is mild`

// New makes the Hessian of a target of a job whose operator is built, with what a solve has
// besides. It is collective.
func New(ctx context.Context, j *pipeline.Job, op *pipeline.Operator, o Options, g *Given, q *formulation.Quadratic) (*Target, error) {
	t := &Target{job: j, op: op, asked: o, given: g, q: q, box: o.Window.Grow(o.Frame, j.Geometry().Image)}
	if q.Damping == 0 {
		j.Ranks.Report.Warn(unbounded)
	}
	var err error
	if t.hess, t.w2, err = op.Hessian(ctx, t.box.target()); err != nil {
		return nil, err
	}
	of := t.rows(t.hess.Points(), t.hess.Cuts())
	ranks, err := newGrid(j)
	if err != nil {
		return nil, err
	}
	defer j.Ranks.Report.Time("Hessian")()
	done, end := t.stage("Hessian", share(of.cuts, ranks), "elements")
	defer end()
	t.system, err = newSystem(ctx, ranks, of, q.Damping*q.Damping, t.add, done)
	return t, err
}

// newGrid shares a matrix in host memory out to the ranks of a job. It is collective.
func newGrid(j *pipeline.Job) (*dense.Grid, error) {
	rows, columns := dense.Shape(j.Ranks.World.Size())
	l, err := blas.Choose("auto", j.Host().Threads())
	if err := j.Ranks.Together(err); err != nil {
		return nil, err
	}
	return dense.NewGrid(j.Ranks.World, rows, columns, j.Host(), l)
}

// rows are the points of the box as the Hessian has them: given are its grid points and cuts.
func (t *Target) rows(numbered []int32, cuts []int) points {
	grid := t.box.Grid(t.job.Geometry().Image)
	of := points{box: grid}
	numbers := map[int]int{} // of the box, by point of the image
	for i, p := range t.box.Points(t.job.Geometry().Image.Shape) {
		numbers[p] = i
	}
	row := make([]int, grid.Len())
	for i, p := range numbered {
		of.at = append(of.at, numbers[int(p)])
		row[numbers[int(p)]] = i
		s := 1.0
		if t.job.Geometry().Surface != nil {
			s = float64(float32(t.job.Geometry().Surface.Weight(int(p))))
		}
		of.scale = append(of.scale, s)
	}
	of.cuts = tiled(cuts)
	for _, i := range t.asked.Window.In(t.box).Points(t.box.Count) {
		t.window = append(t.window, row[i])
	}
	return of
}

// tiled cuts rows into tiles of a dense matrix, at the cuts of a Hessian.
func tiled(cuts []int) dense.Cuts {
	tiles, n := dense.Cuts{0}, cuts[len(cuts)-1]
	for _, cut := range cuts {
		if cut-tiles.Len() >= dense.Tile || cut == n && cut > tiles.Len() {
			tiles = append(tiles, cut)
		}
	}
	return tiles
}

// add adds elements of AᵀW²A.
func (t *Target) add(ctx context.Context, dst []float64, rows, columns [2]int) error {
	return t.hess.Add(ctx, dst, rows, columns, t.w2)
}

// target is the box in the words of package kirchhoff.
func (b Box) target() kirchhoff.Target {
	hi := slices.Clone(b.First)
	for a, n := range b.Count {
		hi[a] += n
	}
	return kirchhoff.Target{Lo: b.First, Hi: hi}
}

// share is the number of elements on and below the diagonal that this rank computes.
func share(cuts dense.Cuts, g *dense.Grid) (elements int) {
	for i := range cuts.Tiles() {
		for j := range i + 1 {
			if i%g.Rows == g.I && j%g.Columns == g.J {
				elements += (cuts[i+1] - cuts[i]) * (cuts[j+1] - cuts[j])
			}
		}
	}
	return elements
}

// stage shows the progress of a part of the work.
func (t *Target) stage(name string, total int, unit string) (done func(n int), end func()) {
	var s *progress.Stage
	if total > 0 {
		s = t.job.Ranks.Report.Stage(name)
		s.Total(total, unit)
	}
	return func(n int) { s.Add(n) }, func() {
		if s != nil {
			s.End()
		}
	}
}

// Close gives memory back.
func (t *Target) Close() {
	if t.system != nil {
		t.h.Free()
	}
	t.hess.Close()
}

// inBox is the part of a vector like an image in the box, by row, on all ranks. It is collective.
func (t *Target) inBox(v *dist.Vector) ([]float64, error) {
	image, err := t.job.Whole(v)
	if err != nil {
		return nil, err
	}
	var b []float64
	if image != nil {
		for _, p := range t.hess.Points() {
			b = append(b, float64(image[p]))
		}
	}
	return broadcast(t.job.Ranks.World, b)
}

// byRow puts values of the box in the order of the rows of H.
func (t *Target) byRow(values []float64) []float64 {
	column := make([]float64, len(values))
	for row, at := range t.at {
		column[row] = values[at]
	}
	return column
}

// inWindow picks the points of the window of a column of the box, times S.
func (t *Target) inWindow(column []float64) []float32 {
	out := make([]float32, len(t.window))
	for i, row := range t.window {
		out[i] = float32(t.scale[row] * column[row])
	}
	return out
}

// Solve finds H⁻¹ of right sides, by row and the same on all ranks, as images of the window on
// rank 0. It is collective.
func (t *Target) Solve(ctx context.Context, right [][]float64) (images [][]float32, err error) {
	defer t.job.Ranks.Report.Time("solve")()
	columns, err := t.solve(ctx, len(right), func(i, j int) float64 { return right[j][i] })
	if err != nil || !t.job.Ranks.Root() {
		return nil, err
	}
	for _, c := range columns {
		images = append(images, t.inWindow(c))
	}
	return images, nil
}

// hessianRows writes H row by row, in C order of the box's points, on rank 0.
func (t *Target) hessianRows(write func(row []float64, first int) error) error {
	n := len(t.at)
	var rows [][]float64
	return t.h.GatherEach(func(r0, r1, c0, c1 int, part device.Buf) error {
		if c0 == 0 {
			rows = rows[:0]
			for range r1 - r0 {
				rows = append(rows, make([]float64, n))
			}
		}
		src := device.Slice[float64](part)
		for i := range rows {
			for j := c0; j < c1; j++ {
				rows[i][t.at[j]] = src[i*(c1-c0)+j-c0]
			}
		}
		if c1 < n {
			return nil
		}
		for i, row := range rows {
			if err := write(row, t.at[r0+i]*n); err != nil {
				return err
			}
		}
		return nil
	})
}
