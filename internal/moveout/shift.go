package moveout

import (
	"errors"
	"math"
	"sync"

	"github.com/kirchhoff-lsm/lsm/internal/counts"
)

// fine is the number of lags between two points of the last axis.
const fine = 4

// Shift sets the shifts of picks that a scan of g with the same options found: how far a reflector lies off its curve in each
// class, m or s; 0 where that is not measured.
func Shift(g *Gathers, o Options, picks []Pick) error {
	return g.eachPlace(o, picks, func(picks []Pick, column int, around []int, panels [][]float32) error {
		for i := range picks {
			classes, shifts := g.measure(picks[i], column, around, panels, o)
			picks[i].Shifts = make([]float64, len(g.Offsets))
			for k, class := range classes {
				picks[i].Shifts[class] = shifts[k]
			}
		}
		return nil
	})
}

// eachPlace calls do for the picks of each column that has some, on several threads. panels are the
// panels of the columns around.
func (g *Gathers) eachPlace(o Options, picks []Pick, do func(picks []Pick, column int, around []int, panels [][]float32) error) error {
	var places [][]Pick // of one column each
	for i, p := range picks {
		if i == 0 || p.X != picks[i-1].X || p.Y != picks[i-1].Y {
			places = append(places, nil)
		}
		n := len(places) - 1
		places[n] = picks[i-len(places[n]) : i+1]
	}
	threads := max(1, min(o.Threads, len(places)))
	errs := make([]error, threads)
	var wg sync.WaitGroup
	for w := range threads {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := w; i < len(places) && errs[w] == nil; i += threads {
				errs[w] = g.withPanels(places[i], o, do)
			}
		}()
	}
	wg.Wait()
	return errors.Join(errs...)
}

// withPanels calls do for the picks of one column.
func (g *Gathers) withPanels(picks []Pick, o Options, do func(picks []Pick, column int, around []int, panels [][]float32) error) error {
	at, n, x := [2]int{}, g.shape(), [2]float64{picks[0].X, picks[0].Y}
	for a := range g.slopes {
		at[a] = counts.Near((x[a]-g.Grid.Origin[a])/g.Grid.Spacing[a], 0, n[a]-1)
	}
	column := at[0]*n[1] + at[1]
	around := g.near(column, o.Around)
	var panels [][]float32
	for _, c := range around {
		panel, err := g.Panel(c)
		if err != nil {
			return err
		}
		panels = append(panels, panel)
	}
	return do(picks, column, around, panels)
}

// measure measures how far the reflector of a pick lies off its curve, m or s, and in which classes. Each class is
// correlated with the sum of the others, all aligned, over a window on either side, three times; lags
// go up to half a window. Classes that do not count, and those whose correlation is largest at the
// largest lag, are left out.
func (g *Gathers) measure(p Pick, column int, around []int, panels [][]float32, o Options) (found []int, shifts []float64) {
	half := o.half(g)
	w, most := 2*half*fine, half*fine
	var classes []int
	var traces [][]float64
	iz := int(math.Round(g.points(p.Z)))
	for class, x := range g.Offsets {
		if x > p.Far || !g.lit(column, iz, class) {
			continue
		}
		if t := g.aligned(p, class, around, panels, w+most); t != nil {
			classes, traces = append(classes, class), append(traces, t)
		}
	}
	if len(classes) < LeastTraces {
		return nil, nil
	}
	lags := make([]int, len(classes))
	for range 3 {
		lags = align(traces, lags, w, most)
	}
	for i, class := range classes {
		if lag := lags[i]; lag > -most && lag < most {
			found, shifts = append(found, class), append(shifts, float64(lag)*g.Grid.Spacing[g.Grid.Dim()-1]/fine)
		}
	}
	return found, shifts
}

// aligned is the sum along the layer of the traces of a class near a pick, centred on its curve, with norm
// one; nil for nothing.
func (g *Gathers) aligned(p Pick, class int, around []int, panels [][]float32, reach int) []float64 {
	nz := g.nz()
	out := make([]float64, 2*reach+1)
	for i, panel := range panels {
		trace := panel[class*nz : (class+1)*nz]
		x := g.place(around[i])
		at := g.points(p.Z + p.Moveout(g.Offsets[class]) + p.Slope*(x[0]-p.X) + p.SlopeY*(x[1]-p.Y))
		for k := range out {
			u := max(0, min(at+float64(k-reach)/fine, float64(nz-1)))
			j := min(int(u), nz-2)
			out[k] += float64(trace[j]) + (u-float64(j))*float64(trace[j+1]-trace[j])
		}
	}
	sum := 0.0
	for _, v := range out {
		sum += v * v
	}
	if sum == 0 {
		return nil
	}
	for k := range out {
		out[k] /= math.Sqrt(sum)
	}
	return out
}

// align finds for each trace the lag at which it is most like the sum of the others at theirs, within a
// cosine window from −w to w.
func align(traces [][]float64, lags []int, w, most int) []int {
	taper, pilot := make([]float64, 2*w+1), make([]float64, 2*w+1)
	for k := range taper {
		taper[k] = math.Pow(math.Cos(math.Pi/2*float64(k-w)/float64(w+1)), 2)
		for i, t := range traces {
			pilot[k] += taper[k] * t[k+most+lags[i]]
		}
	}
	next := make([]int, len(lags))
	for i, t := range traces {
		best := math.Inf(-1)
		for lag := -most; lag <= most; lag++ {
			product, square := 0.0, 0.0
			for k := range pilot {
				a := taper[k] * t[k+most+lag]
				product += a * (pilot[k] - taper[k]*t[k+most+lags[i]])
				square += a * a
			}
			if c := product / math.Sqrt(square+1e-30); c > best {
				best, next[i] = c, lag
			}
		}
	}
	return next
}
