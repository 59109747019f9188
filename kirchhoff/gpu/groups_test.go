package gpu

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/driver"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
)

// shotCuts are groups of so many shots.
func shotCuts(p *kirchhoff.Problem, shots int) (cuts []int) {
	for n, at := range pieces.Starts(p.Positions.Source, 1) {
		if n%shots == 0 {
			cuts = append(cuts, at)
		}
	}
	return append(cuts, p.NumTraces())
}

// streamed applies streamed groups: A m and Aᵀd, with a quantum for each direction.
func streamed(t *testing.T, d *card.Device, s dist.Grouped, m, x []float32, quantum [2]float64) (data, image []float32) {
	t.Helper()
	carry := func(app dist.Application, err error) {
		t.Helper()
		for i := 0; err == nil && i < app.Pieces(); i++ {
			if _, err = app.Sum(i); err == nil {
				err = app.Finish(i)
			}
		}
		must(t, err)
	}
	from := upload(t, d, m)
	must(t, s.Clear(t.Context()))
	for i := range s.Groups() {
		g, err := s.Open(t.Context(), i)
		must(t, err)
		lo, hi := s.Group(i)
		predicted, src := upload(t, d, make([]float32, hi-lo)), upload(t, d, x[lo:hi])
		carry(g.Begin(t.Context(), dist.Forward, predicted, from, quantum[dist.Forward]))
		data = append(data, download(t, predicted)...)
		if i%2 == 0 { // either way
			_, err := g.Bound(dist.Backward, src)
			must(t, err)
		}
		must(t, g.Add(t.Context(), src, quantum[dist.Backward]))
		g.Close()
	}
	to := upload(t, d, make([]float32, len(m)))
	carry(s.Begin(t.Context(), to, quantum[dist.Backward]), nil)
	return data, download(t, to)
}

// TestGroups: gone through in any groups, with tables kept or made anew, the operator is the
// same: its traces to the bit, its image to rounding, with exact sums to the bit.
func TestGroups(t *testing.T) {
	d := open(t, driver.CUDA)
	for i, p := range gathered(t) {
		if i%2 == 1 || p.Opening != (kirchhoff.Window{}) {
			continue
		}
		m, x := noise(uint64(i), p.Grid.Len()), noise(uint64(i)+1, p.NumTraces()*p.NT)
		one := split(t, d, p, resident, 1, 1, 1)
		var quantum [2]float64
		quantum[dist.Forward], _ = one.quantum(t, dist.Forward, m)
		quantum[dist.Backward], _ = one.quantum(t, dist.Backward, x)
		exactData, exactImage := one.apply(t, dist.Forward, m, quantum[dist.Forward], 1), one.apply(t, dist.Backward, x, quantum[dist.Backward], 1)
		data, image := both(t, d, one.share[0][0].engine, m, x)
		one.close()
		for _, c := range []struct {
			shots  int
			remake bool
		}{{1, false}, {3, false}, {1, true}, {100, true}} {
			name := fmt.Sprintf("problem %d, groups of %d shots, tables made anew %v", i, c.shots, c.remake)
			w := kirchhoff.Work{Cuts: shotCuts(p, c.shots), Remake: c.remake, Exact: true}
			e := working(t, d, p, w)
			gotData, gotImage := both(t, d, e, m, x)
			if !slices.Equal(gotData, data) || !(difference(gotImage, image) <= 1e-6) {
				t.Errorf("%s: differs by %.2e and %.2e", name, difference(gotData, data), difference(gotImage, image))
			}
			if gotData, gotImage = streamed(t, d, e.Groups(), m, x, quantum); !slices.Equal(gotData, exactData) || !slices.Equal(gotImage, exactImage) {
				t.Errorf("%s: exact sums have other bits, differences %.2e and %.2e", name, difference(gotData, exactData), difference(gotImage, exactImage))
			}
			most := int64(0)
			for n := range e.Groups().Groups() {
				g, err := e.Groups().Open(t.Context(), n)
				must(t, err)
				most = max(most, g.(group).kept.memory.bytes)
				g.Close()
			}
			need := Needs(p, w, d.Card().Multiprocessors)
			if took := taken(t, e) + most; took > need.Tables+need.Scratch || took < (need.Tables+need.Scratch)/2 || e.TableBytes() != need.Tables {
				t.Errorf("%s: takes %d bytes, foretold %d", name, took, need.Tables+need.Scratch)
			}
			if gotData, gotImage = streamed(t, d, e.Groups(), m, x, [2]float64{}); !(difference(gotData, data) <= 1e-6) || !(difference(gotImage, image) <= 1e-6) {
				t.Errorf("%s: without a quantum differs by %.2e and %.2e", name, difference(gotData, data), difference(gotImage, image))
			}
			e.Close()
		}
	}
}
