package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/butterfly"
)

// Clusters leave every trace its positions. Ranks have whole clusters and whole windows, and as many
// ranks as there are clusters find a share.
func TestClustersAreDealtWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scattered(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3)), 3, 120, 900)
		p := planned(s)
		p.Image = grid.Grid{Origin: []float64{0, 0, 900}, Spacing: []float64{8, 9, 10}, Shape: []int{rapid.IntRange(1, 200).Draw(t, "points"), 9, 7}}
		p.Engine, p.Survey.DT, p.Slowest = "cpu", 0.004, 1500
		p.Wavelet.DT, p.Wavelet.Zero = 0.004, 20
		for k := range 41 {
			p.Wavelet.Samples = append(p.Wavelet.Samples, math.Exp(-0.02*float64((k-20)*(k-20))))
		}
		c := &p.Config.Kirchhoff
		c.Accuracy, c.Antialias, p.Config.Solver.Reproducible = 0.05, "off", "ranks"
		if rapid.Bool().Draw(t, "with an aperture") {
			c.Aperture = []float64{rapid.Float64Range(20, 900).Draw(t, "aperture")}
		}
		before := p.Places
		cluster(p)
		for trace := range s.SourceIndex {
			for _, of := range [2]func(trace int) [2]int32{
				func(i int) [2]int32 { return [2]int32{before.Source[i], p.Places.Source[i]} },
				func(i int) [2]int32 { return [2]int32{before.Receiver[i], p.Places.Receiver[i]} },
			} {
				if at := of(trace); !slices.Equal(before.At(int(at[0])), p.Places.At(int(at[1]))) || before.Row[at[0]] != p.Places.Row[at[1]] {
					t.Fatalf("trace %d has other places", trace)
				}
			}
		}
		n := len(p.Clusters.Sources())
		if n < 2 || len(p.Shots.clusters) != n+1 {
			t.Fatalf("%d clusters, shots cut at %v", n, p.Shots.clusters)
		}
		of := make([]int, p.Places.Len()) // cluster of each source, from 1
		for i, places := range p.Clusters.Sources() {
			for _, place := range places {
				of[place] = i + 1
			}
		}
		all, err := p.Shares([2]int{rapid.IntRange(1, n).Draw(t, "ranks"), 1})
		if err != nil {
			t.Fatal(err)
		}
		holds := make([]int, n+1) // the rank of each cluster, from 1
		for rank, share := range all {
			for _, trace := range p.Shots.List(share.First, share.Last) {
				at := &holds[of[p.Places.Source[trace]]]
				if *at != 0 && *at != rank+1 {
					t.Fatalf("ranks %d and %d share a cluster", *at-1, rank)
				}
				*at = rank + 1
			}
			for _, x := range append(share.Slab[:], share.Own[:]...) {
				if x%butterfly.WindowPoints != 0 && x != p.Image.Shape[0] {
					t.Fatalf("rank %d maps %v and holds %v, which cuts windows", rank, share.Slab, share.Own)
				}
			}
		}
		if _, err := p.Shares([2]int{n + 1, 1}); status.Code(err) != status.BadUsage {
			t.Fatalf("%d ranks share %d clusters: %v", n+1, n, err)
		}
	})
}
