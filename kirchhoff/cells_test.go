package kirchhoff

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

func setLeastLanes(t testing.TB, n int) {
	before := leastLanes
	t.Cleanup(func() { leastLanes = before })
	leastLanes = n
}

// withLanes makes the cpu engine of runs of that many traces and more in the lanes.
func withLanes(t testing.TB, p *Problem, least int) *cpu {
	before := leastLanes
	defer func() { leastLanes = before }()
	leastLanes = least
	return newCPUEngine(t, p, Work{})
}

// scattered has receivers anywhere over the image, so that those of a cell see a tile
// from all sides, and traces of most pairs, of which some come twice.
func scattered(t testing.TB, dim int, spacing float64, nt int, dynamic, twice bool) *Problem {
	r := rand.New(rand.NewPCG(uint64(nt), 9))
	g := grid.Grid{}
	for range dim {
		g.Origin, g.Spacing, g.Shape = append(g.Origin, 0), append(g.Spacing, spacing), append(g.Shape, 13)
	}
	times, err := traveltime.NewAnalytic(2000, g)
	if err != nil {
		t.Fatal(err)
	}
	s := survey.Survey{Dim: dim}
	place := func() (xyz []float64) {
		for a := range dim {
			xyz = append(xyz, r.Float64()*g.End(a))
		}
		return xyz
	}
	for range 5 {
		s.Sources = append(s.Sources, place()...)
	}
	for range 45 {
		s.Receivers = append(s.Receivers, place()...)
	}
	for i := range 5 {
		for j := range 45 {
			if r.IntN(4) == 0 {
				continue
			}
			s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, int32(i)), append(s.ReceiverIndex, int32(j))
			if twice && i == 1 && j == 7 {
				s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, 1, 1), append(s.ReceiverIndex, 7, 8)
			}
		}
	}
	v := make([]float64, g.Len())
	for i := range v {
		v[i] = 1500 + 1000*r.Float64()
	}
	return &Problem{Grid: g, Positions: s.Distinct(true), NT: nt, DT: 0.004, Dynamic: dynamic, Velocity: v, Threads: 1,
		Wavelet: survey.Wavelet{Samples: []float64{1}, DT: 0.004}, Times: times}
}

// TestCells: the forward with receivers in the lanes is taken where it can be, agrees
// with the reference and with the forward of pairs, is adjoint, and gives every trace the
// same bits whatever others are there; whether lanes arrive close together or, with
// receivers on all sides and points far apart, not.
func TestCells(t *testing.T) {
	if !simd.Best().HasCells(simd.Static) {
		t.Skip("this processor has no kernels for cells")
	}
	for i := range 32 {
		bit := func(n int) bool { return i>>n&1 == 1 }
		dim, spacing, nt := 2, 8.0, 300
		if bit(0) {
			dim = 3
		}
		if bit(1) {
			spacing = 55
		}
		if bit(2) {
			nt = 40 // records end within the image
		}
		p := scattered(t, dim, spacing, nt, bit(3), bit(4))
		ref, err := NewReference(t.Context(), p, Work{})
		if err != nil {
			t.Fatal(err)
		}
		lanes, pairs := withLanes(t, p, 1), withLanes(t, p, simd.Lanes+1)
		if len(kept(pairs).fwd) != 1 || kept(pairs).fwd[0].cells || !kept(lanes).fwd[0].cells || (len(kept(lanes).fwd) == 2) != bit(4) {
			t.Fatalf("case %d: %d and %d kinds of blocks", i, len(kept(lanes).fwd), len(kept(pairs).fwd))
		}
		near := 5e-6
		if spacing > 40 {
			near = 2e-5
		}
		want, _ := both(t, p, ref, uint64(i))
		got, _ := both(t, p, lanes, uint64(i))
		other, _ := both(t, p, pairs, uint64(i))
		if d := difference(got, other); !(d <= near) {
			t.Errorf("case %d: lanes and pairs differ by %.2e", i, d)
		}
		if d := difference(got, want); !(d <= near) {
			t.Errorf("case %d: lanes differ from the reference by %.2e", i, d)
		}
		if d, err := dist.DotTest(t.Context(), device.NewHost(1), operator(p, lanes), 7); err != nil || !(d <= 1e-6) {
			t.Errorf("case %d: dot test %.2e, %v", i, d, err)
		}
		if bit(4) { // what comes twice in the whole need not in the part
			continue
		}
		some := slices.DeleteFunc(count(p.NumTraces()), func(i int32) bool { return i%3 == 1 })
		part := *p
		part.MaxDistance[0], part.MaxDistance[1] = MaxDistance(p.Grid, p.Positions)
		part.Positions, _ = p.Positions.Subset(some)
		sub, _ := both(t, &part, withLanes(t, &part, 1), uint64(i))
		for j, trace := range some {
			if !slices.Equal(sub[j*nt:(j+1)*nt], got[int(trace)*nt:(int(trace)+1)*nt]) {
				t.Fatalf("case %d: trace %d has other bits without some of its neighbours", i, trace)
			}
		}
	}
}

// TestCellsOfThreads: blocks have as many sources as they may, unless threads would then be idle.
func TestCellsOfThreads(t *testing.T) {
	if !simd.Best().HasCells(simd.Static) {
		t.Skip("this processor has no kernels for cells")
	}
	for threads, want := range map[int]int{1: 16, 2: 16, 8: 64} {
		p := fixedSpread(t, []int{9, 9}, 10, [2]int{32, 1}, [2]int{64, 1}, 40, false)
		p.Threads = threads
		o := kept(newCPUEngine(t, p, Work{}))
		if got := o.fwd[0].len(); got != want || len(o.kernel.image.TraceCuts) != 4 {
			t.Errorf("%d threads: %d blocks in %d pieces, want %d in 3", threads, got, len(o.kernel.image.TraceCuts)-1, want)
		}
	}
}
