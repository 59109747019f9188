package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/butterfly"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// carpet is a dense survey along x, its traces in no order.
func carpet() *survey.Survey {
	s := &survey.Survey{Dim: 3, NT: 500}
	for i := range 160 {
		x, y := 30*float64(i/4), 30*float64(i%4)
		s.Sources, s.Receivers = append(s.Sources, x, y, 0), append(s.Receivers, x+15, y+15, 0)
	}
	for _, i := range rand.New(rand.NewPCG(4, 3)).Perm(160 * 160) {
		s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, int32(i/160)), append(s.ReceiverIndex, int32(i%160))
	}
	return s
}

// below is a plan for an image below a survey, with a wavelet of 25 Hz.
func below(s *survey.Survey) *Plan {
	p := planned(s)
	p.Image = grid.Grid{Origin: []float64{0, 0, 900}, Spacing: []float64{8, 9, 10}, Shape: []int{140, 32, 24}}
	p.Engine, p.Survey.DT, p.Slowest = "cpu", 0.004, 1500
	p.Wavelet.DT, p.Wavelet.Zero = 0.004, 20
	for k := range 41 {
		x := math.Pi * 25 * 0.004 * float64(k-20)
		p.Wavelet.Samples = append(p.Wavelet.Samples, (1-2*x*x)*math.Exp(-x*x))
	}
	return p
}

// Samples are refined for the operator as it will be: for its filter and its triangles of anti-aliasing.
func TestSamplesAreRefinedForTheOperator(t *testing.T) {
	finer := map[string]int{}
	for _, antialias := range []string{"off", "triangle"} {
		for _, filter := range []bool{false, true} {
			p := below(carpet())
			c := &p.Config.Kirchhoff
			c.Accuracy, c.Antialias, c.AliasSpacing, c.WaveletFilter = 0.03, antialias, []float64{25}, map[bool]string{false: "off", true: "on"}[filter]
			if err := refine(p); err != nil {
				t.Fatal(err)
			}
			k := p.Problem(Among(p, &Share{Last: p.Shots.Traces()}))
			if n, curve, err := kirchhoff.FinerFor(k, c.Accuracy); err != nil || n != p.Finer || curve != p.Curve {
				t.Errorf("anti-aliasing %s, filter %v: refined %d times, curve %g; the operator needs %d, %g, %v", antialias, filter, p.Finer, p.Curve, n, curve, err)
			}
			finer[antialias] = p.Finer
		}
	}
	if finer["triangle"] <= finer["off"] {
		t.Errorf("refined %d times with anti-aliasing, %d without", finer["triangle"], finer["off"])
	}
}

// Clusters leave every trace its positions. Ranks have whole clusters and whole windows, and as many
// ranks as there are clusters find a share.
func TestClustersAreDealtWhole(t *testing.T) {
	for _, aperture := range [][]float64{nil, {400}, {700}} {
		s := carpet()
		p := below(s)
		c := &p.Config.Kirchhoff
		c.Accuracy, c.Antialias, c.Aperture, p.Config.Solver.Reproducible = 0.05, "off", aperture, "ranks"
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
		for ranks := 1; ranks <= n; ranks++ {
			all, err := p.Shares([2]int{ranks, 1})
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
		}
		if _, err := p.Shares([2]int{n + 1, 1}); status.Code(err) != status.BadUsage {
			t.Fatalf("%d ranks share %d clusters: %v", n+1, n, err)
		}
	}
}
