package gpu

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// streamer is a line of shots over a grid of many boxes, each with some receivers behind,
// with an aperture.
func streamer(t testing.TB, shape []int, shots, channels int, aperture, taper []float64) *kirchhoff.Problem {
	p := spread(t, shape, 12.5, 1, 1, 300, false)
	dim, width := len(shape), p.Grid.End(0)
	s := survey.Survey{Dim: dim}
	for i := range shots {
		for j := range channels {
			x := width * float64(i) / float64(shots)
			at := func(x float64) []float64 {
				if dim == 2 {
					return []float64{x, 5}
				}
				return []float64{x, p.Grid.End(1) * float64(i%4) / 3, 5}
			}
			s.Sources = append(s.Sources, at(x)...)
			s.Receivers = append(s.Receivers, at(x+40+25*float64(j))...)
			s.SourceIndex = append(s.SourceIndex, int32(len(s.SourceIndex)))
			s.ReceiverIndex = append(s.ReceiverIndex, int32(len(s.ReceiverIndex)))
		}
	}
	p.Positions, p.Aperture, p.ApertureTaper = s.Distinct(true), aperture, taper
	return p
}

// apertures are problems with apertures over several columns of boxes.
func apertures(t testing.TB) (list []*kirchhoff.Problem) {
	for _, c := range []struct {
		shape           []int
		aperture, taper []float64
	}{
		{[]int{260, 70}, []float64{400}, []float64{120}},
		{[]int{200, 20}, []float64{250}, []float64{0}},
		{[]int{70, 20, 18}, []float64{150, 0}, []float64{120, 0}},
		{[]int{50, 40, 6}, []float64{150, 150}, []float64{80, 150}},
	} {
		p := streamer(t, c.shape, 12, 10, c.aperture, c.taper)
		p.T0 = []float64{0, 0.03, -0.02, 0}[len(list)]
		list = append(list, p)
	}
	return list
}

// TestAperture: with an aperture the engine is adjoint and agrees with the reference and
// the cpu engine over many boxes, whatever the tables hold, and its tables are as local as
// those of the cpu engine.
func TestAperture(t *testing.T) {
	d, h := open(t, driver.CUDA), device.NewHost(2)
	for i, p := range apertures(t) {
		for k, dynamic := range []bool{false, true} {
			if p.Dynamic = dynamic; (i+k)%2 == 1 && !gputest.Long() { // the other problem of the same dimension
				continue
			}
			t.Run(fmt.Sprintf("%v/dynamic=%v", p.Grid.Shape, dynamic), func(t *testing.T) {
				e := engine(t, d, p)
				if dot, err := dist.DotTest(t.Context(), d, lifted(p, e), 7); err != nil || !(dot <= 1e-6) {
					t.Errorf("dot test %.2e (%v), want at most 1e-6", dot, err)
				}
				m, x := noise(uint64(i), p.Grid.Len()), noise(uint64(i)+1, p.NumTraces()*p.NT)
				data, image := both(t, d, e, m, x)
				cpu, err := kirchhoff.New(t.Context(), p, kirchhoff.Work{})
				must(t, err)
				defer cpu.Close()
				ref, err := kirchhoff.NewReference(t.Context(), p, kirchhoff.Work{})
				must(t, err)
				for _, other := range []kirchhoff.Engine{cpu, ref} {
					wantData, wantImage := both(t, h, other, m, x)
					if a, b := difference(data, wantData), difference(image, wantImage); !(a <= 1e-5 && b <= 1e-5) {
						t.Errorf("differs from %s by %.2e and %.2e", other.Name(), a, b)
					}
				}
				if held := e.TableBytes(); held > cpu.TableBytes() || held != Needs(p, kirchhoff.Work{}, 1).Tables {
					t.Errorf("tables of %d bytes, those of the cpu engine %d, foretold %d", held, cpu.TableBytes(), Needs(p, kirchhoff.Work{}, 1).Tables)
				}
			})
		}
	}
}

// TestApertureExact: with an aperture exact sums have the same bits however shots and
// slabs are shared out.
func TestApertureExact(t *testing.T) {
	d := open(t, driver.CUDA)
	for i, p := range apertures(t) {
		p.Dynamic = i%2 == 0
		exactEverywhere(t, d, p, uint64(i), [2]int{1, 3}, [2]int{4, 2})
	}
}

// TestLists: traces are listed in the columns and boxes where they may count, and in no
// others.
func TestLists(t *testing.T) {
	for _, p := range apertures(t) {
		e := outline(kirchhoff.Outline(p), kirchhoff.Work{}, 1)
		must(t, e.cutUnits(p, kirchhoff.Work{}))
		columns := e.tables.columns
		adjoint := newAdjointLists(e.geometry.plan, columns, 16)
		forward := newForwardLists(p.Positions, e.images[0].TraceCuts)
		blocks := slices.Clone(forward.places)
		forward.makeVisits(e.geometry.plan, columns)
		for c, column := range columns {
			box := e.geometry.plan.Boxes[column.Boxes[0]]
			counts := func(trace int) bool {
				m, tapers := p.Middle(int32(trace)), p.Tapers()
				for a := range 2 {
					if float64(box.Lo[a])-m[a] >= float64(tapers[a].Edge) || m[a]-float64(box.Hi[a]-1) >= float64(tapers[a].Edge) {
						return false
					}
				}
				return true
			}
			var listed, visited []int
			for run := adjoint.firsts[c]; run < adjoint.firsts[c+1]; run++ {
				for j, row := range adjoint.rows[16*run : 16*run+16] {
					if row < 0 {
						continue
					}
					listed = append(listed, int(row))
					cell := adjoint.runs[2*run+1]
					if s, r := column.Places[adjoint.runs[2*run]], column.Places[adjoint.receivers[16*int(cell)+j]]; s != p.Positions.Source[row] || r != p.Positions.Receiver[row] {
						t.Fatalf("trace %d goes from place %d to %d", row, s, r)
					}
				}
			}
			for block := range len(blocks) / blockPlaces {
				for _, v := range forward.visits[forward.firstVisits[block]:forward.firstVisits[block+1]] {
					if int(v.column) != c || int(v.half) != column.Boxes[0] {
						continue
					}
					local := forward.places[int(v.list)*blockPlaces:]
					for lane := range lanes {
						row, at := forward.traces[2*(block*lanes+lane)], forward.traces[2*(block*lanes+lane)+1]
						if row >= 0 && counts(int(row)) {
							visited = append(visited, int(row))
							if s, r := column.Places[local[at%256]], column.Places[local[at/256]]; s != p.Positions.Source[row] || r != p.Positions.Receiver[row] {
								t.Fatalf("the forward's trace %d goes from place %d to %d", row, s, r)
							}
						}
					}
				}
			}
			var want []int
			for trace := range p.NumTraces() {
				if counts(trace) {
					want = append(want, trace)
				}
			}
			slices.Sort(listed)
			slices.Sort(visited)
			if !slices.Equal(listed, want) || !slices.Equal(visited, want) {
				t.Errorf("%v, column %d: %d traces count, %d are listed, %d visited", p.Grid.Shape, c, len(want), len(listed), len(visited))
			}
		}
		if n := len(forward.visits); n > len(blocks)/blockPlaces*len(e.geometry.plan.Boxes)*9/10 {
			t.Errorf("%v: %d visits of %d blocks to %d boxes", p.Grid.Shape, n, len(blocks)/blockPlaces, len(e.geometry.plan.Boxes))
		}
	}
}
