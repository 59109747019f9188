package migrate

import (
	"context"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// measureSpeed measures the machine of all ranks for an operator, which takes about half a second.
// It returns the speeds of the slowest rank. The speed of a GPU is not known.
func measureSpeed(ctx context.Context, a *cli.App, of pipeline.Kernel) (*pipeline.Speed, error) {
	if of.OnCard {
		return &pipeline.Speed{}, nil
	}
	seats, err := comm.GatherJSON(a.World.Host().AllGather, machine.OwnSeat())
	if err != nil {
		return nil, err
	}
	s := &pipeline.Speed{}
	s.Nodes, s.Cores = machine.Nodes(seats[a.World.Rank()], seats)
	k := bench.KernelSize{Engine: of.Engine, Threads: of.Threads, Exact: of.Exact, Wavelet: of.Taps, Dynamic: of.Dynamic,
		Sources: 32, Receivers: 64, Samples: 750, Runs: 5}
	shapes := [][]int{2: {192, 192}, 3: {32, 32, 32}}
	if k.Engine == "reference" { // which is slow
		k.Sources, k.Receivers, shapes = 1, 16, [][]int{2: {64, 64}, 3: {16, 16, 16}}
	}
	measure := func() (err error) {
		small := k
		small.Shape, small.Samples, small.Dynamic = []int{8, 8}, 1000, false
		if s.Samples, err = bench.SampleSpeed(ctx, small); err != nil {
			return err
		}
		k.Shape, k.Spacing = shapes[of.Dim], 80/float64(kirchhoff.TileSide(of.Dim)) // the same size of tiles
		if s.Points, err = bench.PointSpeed(ctx, k.Shape, k.Threads, k.Runs); err != nil {
			return err
		}
		s.Triples, err = bench.TripleSpeed(ctx, k, s.Samples)
		return err
	}
	if err := comm.Together(a.World, measure()); err != nil {
		return nil, err
	}
	slowest := []float64{-s.Samples, -s.Points, -s.Triples}
	err = a.World.Host().AllReduce(slowest, comm.Max)
	s.Samples, s.Points, s.Triples = -slowest[0], -slowest[1], -slowest[2]
	return s, err
}
