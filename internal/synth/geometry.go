package synth

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// spread lays out a survey over a grid. Coordinates are rounded to a
// millimetre, so that stations which coincide on paper do so bit for bit and
// share their traveltime tables.
type spread struct {
	g       grid.Grid
	surface []float64 // z at the columns of a 2-D grid; nil: its top
	opt     Options

	s    *survey.Survey
	rows map[[3]float64]int32 // receiver rows by position
}

// lay returns the survey's geometry: positions and traces, no samples.
func lay(g grid.Grid, surface []float64, opt Options) (*survey.Survey, error) {
	l := &spread{g: g, surface: surface, opt: opt, s: &survey.Survey{Dim: g.Dim()}, rows: map[[3]float64]int32{}}
	if g.Dim() == 3 {
		l.s.Frame = g.Frame
	}
	if err := l.sources(); err != nil {
		return nil, err
	}
	if opt.Geometry == Streamer {
		l.streamer()
	} else if err := l.stations(); err != nil {
		return nil, err
	}
	if opt.Geometry == Land {
		l.patches()
	}
	l.s.Fixed = opt.Geometry == Fixed
	for i := range l.s.NumSources() {
		if _, live := slices.BinarySearch(l.s.SourceIndex, int32(i)); !l.s.Fixed && !live { // they ascend
			return nil, fmt.Errorf("synth: shot %d at x = %g m has no receiver inside the model [%g, %g] m",
				i, l.s.Source(i)[0], g.Origin[0], g.End(0))
		}
	}
	return l.s, nil
}

func millimetres(v float64) float64 { return math.Round(v*1e3) / 1e3 }

// point builds a position; y is ignored in 2-D.
func (l *spread) point(x, y, depth float64) []float64 {
	z := millimetres(l.top(x) + depth)
	if l.g.Dim() == 2 {
		return []float64{millimetres(x), z}
	}
	return []float64{millimetres(x), millimetres(y), z}
}

// top is z of the surface at x, linear between the columns of the grid.
func (l *spread) top(x float64) float64 {
	if l.surface == nil {
		return l.g.Origin[l.g.Dim()-1]
	}
	line := grid.Grid{Origin: l.g.Origin[:1], Spacing: l.g.Spacing[:1], Shape: l.g.Shape[:1]}
	return line.At([]float64{x}, func(n int) float64 { return l.surface[n] })
}

// lineY is the y of line k of n, in the middle of n equal strips.
func (l *spread) lineY(k, n int) float64 {
	if l.g.Dim() == 2 {
		return 0
	}
	return l.g.Origin[1] + (l.g.End(1)-l.g.Origin[1])*(float64(k)+0.5)/float64(n)
}

func (l *spread) inside(what string, i int, p []float64) error {
	if l.g.Contains(p) {
		return nil
	}
	end := make([]float64, l.g.Dim())
	l.g.Point(end, l.g.Len()-1)
	return fmt.Errorf("synth: %s %d at %v m lies outside the model, %v to %v m", what, i, p, l.g.Origin, end)
}

func (l *spread) sources() error {
	for k := range l.opt.Lines {
		for i := range l.opt.Shots {
			p := l.point(l.opt.FirstShot+float64(i)*l.opt.ShotSpacing, l.lineY(k, l.opt.Lines), l.opt.SourceDepth)
			if err := l.inside("source", l.s.NumSources(), p); err != nil {
				return err
			}
			l.s.Sources = append(l.s.Sources, p...)
		}
	}
	return nil
}

func (l *spread) receiver(p []float64) int32 {
	var key [3]float64
	copy(key[:], p)
	if row, ok := l.rows[key]; ok {
		return row
	}
	row := int32(len(l.rows))
	l.rows[key] = row
	l.s.Receivers = append(l.s.Receivers, p...)
	return row
}

func (l *spread) trace(source int, receiver int32) {
	l.s.SourceIndex = append(l.s.SourceIndex, int32(source))
	l.s.ReceiverIndex = append(l.s.ReceiverIndex, receiver)
}

// streamer adds, shot by shot, cable by cable, the channels from the nearest.
func (l *spread) streamer() {
	for i := range l.s.NumSources() {
		src := l.s.Source(i)
		for c := range l.opt.ReceiverLines {
			y := 0.0
			if l.g.Dim() == 3 {
				y = src[1] + (float64(c)-float64(l.opt.ReceiverLines-1)/2)*l.opt.CableSpacing
			}
			for j := range l.opt.Channels {
				p := l.point(src[0]-l.opt.NearOffset-float64(j)*l.opt.ReceiverSpacing, y, l.opt.ReceiverDepth)
				if l.g.Contains(p) {
					l.trace(i, l.receiver(p))
				}
			}
		}
	}
}

// stations lays receivers that stay in place: for Fixed as many as Channels,
// centred on the model, for Land from one end of the model to the other.
func (l *spread) stations() error {
	lo, hi, step := l.g.Origin[0], l.g.End(0), l.opt.ReceiverSpacing
	n := l.opt.Channels
	first := lo
	if l.opt.Geometry == Land {
		// On the shots' own lattice, so that sources and receivers share places.
		first = l.opt.FirstShot - math.Floor((l.opt.FirstShot-lo)/step+1e-9)*step
		n = int((hi-first)/step+1e-9) + 1
	} else {
		first = millimetres(lo + (hi-lo-float64(n-1)*step)/2)
	}
	for k := range l.opt.ReceiverLines {
		for j := range n {
			p := l.point(first+float64(j)*step, l.lineY(k, l.opt.ReceiverLines), l.opt.ReceiverDepth)
			if err := l.inside("receiver", l.s.NumReceivers(), p); err != nil {
				return err
			}
			l.receiver(p)
		}
	}
	return nil
}

// patches records each shot on the stations of every line whose offset along x
// is at least the near offset and no more than half the channels away.
func (l *spread) patches() {
	far := float64(l.opt.Channels) / 2 * l.opt.ReceiverSpacing
	for i := range l.s.NumSources() {
		for r := range l.s.NumReceivers() {
			off := math.Abs(l.s.Receiver(r)[0] - l.s.Source(i)[0])
			if off >= l.opt.NearOffset-1e-3 && off <= far+1e-3 {
				l.trace(i, int32(r))
			}
		}
	}
}
