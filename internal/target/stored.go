package target

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist/dense"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Stored is what a file of lsm target holds, for further right sides.
type Stored struct {
	h      *h5.HessianReader
	image  []float32  // on rank 0, as the next
	fields []h5.Field // beside the image
}

// OpenStored opens the file o.Hessian, and sets the window and the frame of o to those of the
// file. It refuses a file that was not made of the job's configuration and survey. It is
// collective.
func OpenStored(j *job.Job, o *Options) (*Stored, error) {
	file := o.Hessian.File
	err := j.AtRoot(func() error {
		return sameAs(j, file, "target", slices.Concat(penaltyKeys, operatorKeys, []string{"image"}), true)
	})
	if err != nil {
		return nil, err
	}
	s := &Stored{}
	if s.h, err = job.OpenHessian(j, o.Hessian); err != nil {
		return nil, err
	}
	err = placed(o, s.h, j.Image)
	if err := j.Together(err); err != nil {
		return nil, err
	}
	return s, j.AtRoot(func() error {
		im, err := h5.ReadImage(file)
		if err != nil {
			return err
		}
		s.image = im.Data
		s.fields, err = h5.ReadFields(file)
		return err
	})
}

// placed finds the window and the frame of a file in the image.
func placed(o *Options, h *h5.HessianReader, image grid.Grid) error {
	var err error
	if o.Window, err = boxOf(h.Window(), image); err != nil {
		return status.Input(fmt.Errorf("%s: /image: %w", h.Path(), err))
	}
	box, err := boxOf(h.Box(), image)
	if err != nil {
		return status.Input(fmt.Errorf("%s: /hessian: %w", h.Path(), err))
	}
	for o.Frame = 0; !reflect.DeepEqual(o.Window.Grow(o.Frame, image), box); o.Frame++ {
		if o.Frame > slices.Max(image.Shape) {
			return status.Input(fmt.Errorf("%s: /hessian, %s, is no frame around /image, %s", h.Path(), box.Text(), o.Window.Text()))
		}
	}
	return nil
}

// boxOf is the box of a grid's points in another grid.
func boxOf(part, whole grid.Grid) (Box, error) {
	b, inside := Box{make([]int, part.Dim()), part.Shape}, part.Dim() == whole.Dim()
	for a := range b.First {
		if inside {
			b.First[a] = int(math.Round((part.Origin[a] - whole.Origin[a]) / whole.Spacing[a]))
			inside = b.First[a] >= 0 && b.First[a]+b.Count[a] <= whole.Shape[a]
		}
	}
	if !inside || !b.Grid(whole).Equal(part) {
		return b, fmt.Errorf("lies on %s, which is no part of the image, %s", inputs.Extent(part), inputs.Extent(whole))
	}
	return b, nil
}

// Load makes the target of a stored Hessian, in host memory: each rank reads the rows of its
// tiles. It is collective.
func Load(j *job.Job, o Options, g *Given, s *Stored) (*Target, error) {
	t := &Target{Job: j, asked: o, given: g, box: o.Window.Grow(o.Frame, j.Image), release: func() {}}
	of := t.rows(t.box.target().Rows(j.Image))
	ranks, err := hostGrid(j)
	if err != nil {
		return nil, err
	}
	defer j.Report.Time("read the Hessian")()
	t.system, err = loadSystem(ranks, of, s.h.Row)
	return t, err
}

// loadSystem is newSystem for an H that is read row by row, by the point of the box in C order.
// It does not know B. It is collective.
func loadSystem(g *dense.Grid, of points, read func(row []float64, point int) error) (*system, error) {
	s := &system{points: of, grid: g}
	var err error
	if s.h, err = dense.New(g, device.F64, s.cuts, s.cuts); err != nil {
		return nil, err
	}
	row := make([]float64, len(s.at))
	for i := g.I; i < s.cuts.Tiles() && err == nil; i += g.Rows {
		for r := s.cuts[i]; r < s.cuts[i+1] && err == nil; r++ {
			if err = read(row, s.at[r]); err == nil {
				s.fill(i, r, row)
			}
		}
	}
	return s, comm.Together(g.World, inputs.FileError(err))
}

// fill sets row r of H, in row i of tiles, from one in the order of the box.
func (s *system) fill(i, r int, row []float64) {
	for j := s.grid.J; j < s.cuts.Tiles(); j += s.grid.Columns {
		n := s.cuts[j+1] - s.cuts[j]
		dst := device.Slice[float64](s.h.Tile(i, j).Buf)[(r-s.cuts[i])*n:][:n]
		for k := range dst {
			dst[k] = row[s.at[s.cuts[j]+k]]
		}
	}
}

// WriteSolutions solves for the given right sides and publishes an image file with the image
// and the fields of the stored Hessian's file and the solutions. It is collective.
func (t *Target) WriteSolutions(ctx context.Context, path string, src job.Source, s *Stored) (*Summary, error) {
	var right [][]float64
	for _, r := range t.given.Rights {
		right = append(right, t.byRow(r.Values))
	}
	if !t.asked.Conjugate {
		end := t.Report.Time("Cholesky")
		err := t.factorize(ctx)
		end()
		if err != nil {
			return nil, err
		}
	}
	solved, err := t.Solve(ctx, right)
	if err != nil {
		return nil, err
	}
	create := func() (*h5.ImageWriter, error) {
		im := &h5.Image{Grid: t.asked.Window.Grid(t.Job.Image), Data: s.image, Config: t.Config.TOML()}
		return h5.CreateImage(path, im, h5.WriteOptions{Force: src.Force, Attrs: t.Attrs(src, "")})
	}
	err = inputs.Publish(&t.Ranks, create, func(w *h5.ImageWriter) error {
		if !t.Root() {
			return nil
		}
		for _, f := range s.fields {
			if err := w.WriteField(f); err != nil {
				return err
			}
		}
		return t.writeSolutions(w, solved)
	})
	if err != nil || !t.Root() {
		return nil, err
	}
	return t.summary(&findings{held: math.NaN(), alone: math.NaN()}), nil
}

// ForecastStored is Forecast for a stored Hessian.
func ForecastStored(j *job.Job, o Options) (text string, bytes int64, err error) {
	n := o.Window.Grow(o.Frame, j.Image).Len()
	m := j.Memory()
	matrix, columns := matrixBytes(j, n)
	total := m.Program + m.Lists + matrix + columns
	text = fmt.Sprintf("target: %s: H of %s has %d² elements, %s; a rank holds %s",
		o.Window.Text(), o.Hessian.Text, n, readable.Bytes(8*int64(n)*int64(n)), readable.Bytes(total))
	return text, total, enough(text, total, m.Limit)
}
