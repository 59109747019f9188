package fielddata

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// ExportGrid writes an image or a model, v on g in C order, as one trace a column
// of depth or time: with inline and crossline numbers, and the column's place as that of
// the ensemble, the source and the receiver. In 3-D inlines are the lines along x,
// one after the other.
//
// SEG-Y measures time. Its fields hold depths in the customary way: the sample interval in
// thousandths of a metre instead of microseconds, the depth of the first sample in metres instead
// of a delay in milliseconds. A grid in the time domain needs no such custom.
func ExportGrid(ctx context.Context, path string, g grid.Grid, v []float32, opt ExportOptions, report *progress.Reporter) (*Exported, error) {
	nz := g.Shape[g.Dim()-1]
	return exportColumns(ctx, path, g, nil, opt, report, func(at int) ([]float32, error) { return v[at*nz : (at+1)*nz], nil })
}

// ExportGathers writes the gathers of an image file, column by column as ExportGrid: an
// ensemble of one trace for each class, whose offset in metres or angle in degrees is
// where a recorded trace has its offset, rounded to whole ones.
func ExportGathers(ctx context.Context, path string, r *h5.GatherReader, opt ExportOptions, report *progress.Reporter) (*Exported, error) {
	return exportColumns(ctx, path, r.Grid(), &r.Gathers, opt, report, r.Panel)
}

// exportColumns writes what read returns of each column: a trace, or one for each class
// of the gathers.
func exportColumns(ctx context.Context, path string, g grid.Grid, gathers *h5.Gathers, opt ExportOptions, report *progress.Reporter, read func(at int) ([]float32, error)) (*Exported, error) {
	last, classes := g.Dim()-1, 1
	nz := g.Shape[last]
	thousand := 1000.0
	if g.Domain == grid.Time {
		thousand = 1
	}
	t, err := newTarget(opt, g.Dim(), nz, g.Spacing[last]/thousand, g.Origin[last]/thousand)
	if err != nil {
		return nil, err
	}
	if g.Dim() == 3 && g.Frame == nil {
		g.Frame = opt.Frame
	} else if g.Dim() == 3 && opt.Frame != nil && !g.Frame.Equal(opt.Frame) {
		return nil, status.Usage(fmt.Errorf("%s: lies in the frame %s, that of --line is %s", path, g.Frame, opt.Frame))
	}
	nx, ny := g.Shape[0], 1
	if g.Dim() == 3 {
		ny = g.Shape[1]
	}
	east, north := columns(g, opt.Line)
	place, err := chooseScalar("coordinates", 1, math.MaxInt32, east, north)
	if err != nil {
		return nil, err
	}
	t.out.lose("coordinates", place.worst, "m")
	t.mark = segy.SUDepths
	if g.Domain == grid.Time {
		t.mark = segy.SUTimes
	}
	if g.Domain == grid.Depth {
		t.out.lose("depths", 1000*t.time.worst, "m")
	} else {
		t.out.lose("times", t.time.worst, "s")
	}
	t.spec.Sorting = 4 // horizontally stacked
	t.spec.Text = append(opt.Text, gridText(g, t, place)...)
	if gathers != nil {
		classes = len(gathers.Centers)
		t.spec.Sorting = 2 // by ensemble
		t.spec.Text = append(t.spec.Text,
			fmt.Sprintf("GATHERS: %d TRACES AN ENSEMBLE, BY %s", classes, strings.ToUpper(gathers.Name())),
			fmt.Sprintf("THE %s IN %s AT BYTE 37", strings.ToUpper(gathers.Name()), strings.ToUpper(h5.GatherUnits(gathers.Kind))))
		worst := 0.0
		for _, c := range gathers.Centers {
			worst = max(worst, math.Abs(c-math.Round(c)))
		}
		t.out.lose(gathers.Name()+"s", worst, h5.GatherUnits(gathers.Kind))
	}
	return t.write(ctx, path, classes, nx*ny*classes, report, func(put putTrace) error {
		for number := range nx * ny {
			i, j := number%nx, number/nx
			at := i*ny + j // of the column in C order
			panel, err := read(at)
			if err != nil {
				return err
			}
			for class := range classes {
				fields := t.column(g, i, j, number, place, east[at], north[at])
				if gathers != nil {
					fields[segy.CDPTrace] = int64(class + 1)
					fields[segy.Offset] = int64(math.Round(gathers.Centers[class]))
				}
				if err := put(panel[class*nz:(class+1)*nz], fields); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// column is the header of one column of depth or time.
func (t *target) column(g grid.Grid, i, j, number int, place scalar, east, north float64) map[segy.Field]int64 {
	e, n := place.store(east), place.store(north)
	fields := map[segy.Field]int64{
		segy.CDP: int64(number + 1), segy.CDPTrace: 1, segy.CoordinateScalar: place.header,
		segy.SourceX: e, segy.ReceiverX: e, segy.SourceY: n, segy.ReceiverY: n,
	}
	if t.opt.Kind == segy.SU {
		// d1, f1, d2, f2 of Seismic Unix: sampling along and across the traces.
		last := g.Dim() - 1
		for k, v := range []float64{g.Spacing[last], g.Origin[last], g.Spacing[0], g.Origin[0]} {
			fields[segy.Field{Byte: 181 + 4*k, Length: 4, Unsigned: true}] = int64(math.Float32bits(float32(v)))
		}
	} else {
		fields[segy.CDPX], fields[segy.CDPY] = e, n
		fields[segy.Inline], fields[segy.Crossline] = t.lines(g, i, j)
	}
	return fields
}

// lines are the inline and the crossline number of a column: the numbers of the frame if all
// columns have whole ones there, otherwise counted from 1.
func (t *target) lines(g grid.Grid, i, j int) (inline, crossline int64) {
	whole := func(i, j int) bool {
		_, _, ok := g.Frame.Numbers(g.Coord(0, i), g.Coord(1, j))
		return ok
	}
	if g.Dim() != 3 || !whole(0, 0) || !whole(min(1, g.Shape[0]-1), min(1, g.Shape[1]-1)) || !whole(g.Shape[0]-1, g.Shape[1]-1) {
		return int64(j + 1), int64(i + 1)
	}
	inline, crossline, _ = g.Frame.Numbers(g.Coord(0, i), g.Coord(1, j))
	return inline, crossline
}

// columns are the places of all columns on the map, in C order.
func columns(g grid.Grid, l Line) (east, north []float64) {
	for i := range g.Shape[0] {
		x := g.Coord(0, i)
		if g.Dim() == 2 {
			e, n := l.At(x)
			east, north = append(east, e), append(north, n)
			continue
		}
		for j := range g.Shape[1] {
			e, n := g.Frame.ToMap(x, g.Coord(1, j))
			east, north = append(east, e), append(north, n)
		}
	}
	return east, north
}

func gridText(g grid.Grid, t *target, place scalar) []string {
	last := g.Dim() - 1
	samples := []string{
		fmt.Sprintf("SAMPLES ARE DEPTHS, Z DOWN: %d FROM %g M ON, INTERVAL %g M", g.Shape[last], g.Origin[last], g.Spacing[last]),
		"SAMPLE INTERVAL (BYTES 3217, 117) IN MM, FIRST DEPTH (BYTE 109) IN M,",
	}
	if g.Domain == grid.Time {
		samples = []string{
			fmt.Sprintf("SAMPLES ARE TWO-WAY VERTICAL TIMES: %d FROM %g S ON, INTERVAL %g S", g.Shape[last], g.Origin[last], g.Spacing[last]),
			"SAMPLE INTERVAL (BYTES 3217, 117) IN US, FIRST TIME (BYTE 109) IN MS,",
		}
	}
	text := append(samples,
		fmt.Sprintf("MULTIPLIED BY THE SCALAR OF BYTE 215, HERE %d", t.time.header),
		fmt.Sprintf("COORDINATES IN M AT BYTES 181, 185 AND 73 TO 85, SCALAR %d AT BYTE 71", place.header),
		"INLINE NUMBER AT BYTE 189, CROSSLINE NUMBER AT BYTE 193")
	of := func(axis int, first, last int64) string {
		return fmt.Sprintf("%d TO %d: %s FROM %g M ON, INTERVAL %g M", first, last, strings.ToUpper(g.AxisName(axis)), g.Origin[axis], g.Spacing[axis])
	}
	if g.Dim() == 3 {
		inline, crossline := t.lines(g, 0, 0)
		lastInline, lastCrossline := t.lines(g, g.Shape[0]-1, g.Shape[1]-1)
		text = append(text, "CROSSLINES "+of(0, crossline, lastCrossline), "INLINES "+of(1, inline, lastInline))
		return append(text, frameText(g.Frame)...)
	}
	text = append(text, "CROSSLINES "+of(0, 1, int64(g.Shape[0])))
	return append(text, t.opt.Line.lineText())
}
