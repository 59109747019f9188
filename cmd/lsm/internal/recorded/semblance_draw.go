package recorded

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// drawn is how many places the panels show.
const drawn = 3

// draw makes the panels: of each place the gather, its spectrum with picks and velocities, and the gather without moveout.
func (w *firstLook) draw(ctx context.Context) (*picture.Figure, error) {
	var rows []*picture.Figure
	n := min(drawn, len(w.places))
	for k := range n {
		row, err := w.drawPlace(ctx, (2*k+1)*len(w.places)/(2*n))
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return picture.Stack(rows...), nil
}

func (w *firstLook) drawPlace(ctx context.Context, i int) (*picture.Figure, error) {
	l, p, s := w.line, w.places[i], w.spectra[i]
	raw, rms, flat, err := w.corrected(ctx, p)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(raw.Offset)) // by offset
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(raw.Offset[i], raw.Offset[k]) })
	gather := func(title string, data []float32, times picture.Times) (*picture.Figure, error) {
		sorted := make([]float32, 0, len(data))
		for _, i := range order {
			sorted = append(sorted, data[i*times.NT:(i+1)*times.NT]...)
		}
		window := []float64{-0.5, float64(len(order)) - 0.5, 0, float64(l.Times()-1) * l.DT}
		return picture.Gather(sorted, times, nil, picture.Options{Title: title, Size: [2]float64{2.6, 4}, Window: window, Gain: 1})
	}
	before, err := gather(fmt.Sprintf("x = %.0f m, offsets %.0f–%.0f m", p.X, slices.Min(raw.Offset), slices.Max(raw.Offset)), raw.Data, picture.Times{NT: l.NT, DT: l.DT, T0: l.T0})
	if err != nil {
		return nil, err
	}
	after, err := gather("without moveout", flat, picture.Times{NT: l.Times(), DT: l.DT})
	if err != nil {
		return nil, err
	}
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{1, s.Step}, Shape: []int{1, len(s.Energy)}, Domain: grid.Time}
	panel := picture.Panel{}
	for _, v := range s.Semblance {
		panel.Values = append(panel.Values, float64(v))
	}
	for k := range s.Energy {
		panel.Line = append(panel.Line, rms[k*s.Every])
	}
	for _, pick := range w.picks {
		if math.Abs(pick.X-p.X) <= w.o.every/2 {
			panel.At, panel.Depth = append(panel.At, pick.Velocity), append(panel.Depth, pick.Time)
		}
	}
	spectrum, err := picture.Semblances(g, w.o.Velocities(), []picture.Panel{panel}, picture.Options{Title: "semblance", Across: "velocity (m/s)", Size: [2]float64{2.6, 4}})
	if err != nil {
		return nil, err
	}
	return picture.Beside(before, spectrum, after), nil
}
