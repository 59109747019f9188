package benchmarks

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"

	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// benchMachine measures the machine of all ranks together, and rank 0 writes its file.
func benchMachine(ctx context.Context, a *cli.App, file string) error {
	cfg := &config.Config{}
	cfg.Comm.Backend = "auto"
	if err := comm.Together(a.World, a.Join(cfg)); err != nil {
		return err
	}
	if err := a.Agree(cfg); err != nil {
		return err
	}
	if err := a.Once(func() error { return pipeline.CheckOutput(file, a.Force) }); err != nil {
		return err
	}
	seats, err := comm.GatherJSON(a.World.Host().AllGather, machine.OwnSeat())
	if err != nil {
		return err
	}
	mine, memory := seats[a.World.Rank()], machine.ReadMemory("/proc", "/sys/fs/cgroup")
	threads, _ := machine.Share(mine, seats)
	k := bench.KernelSize{Engine: "cpu", Threads: threads, Exact: true}
	m, err := MeasureCores(ctx, a, k, []int{2, 3}, []bool{false, true})
	if err != nil {
		return err
	}
	k.Sources, k.Receivers, k.Samples, k.Wavelet, k.Runs, k.Shape = 32, 64, 750, 1, 5, []int{192, 192}
	m.Forward, err = bench.ForwardShare(ctx, k)
	if err := comm.Together(a.World, err); err != nil {
		return err
	}
	m.NodeGiB = float64(cmp.Or(memory.Limit, memory.Total)) / (1 << 30)
	m.File, err = bench.FileSpeed(filepath.Dir(file))
	if err := comm.Together(a.World, err); err != nil {
		return err
	}
	if err := slowest(a.World, &m.File); err != nil {
		return err
	}
	free := memory.Available
	if memory.Limit > 0 {
		free = min(free, memory.Limit)
	}
	node := slices.IndexFunc(seats, func(s machine.Seat) bool { return s.Host == mine.Host })
	within, between, err := measureLinks(ctx, a.World, m, node, free)
	if err != nil {
		return err
	}
	if err := a.Once(func() error { return plainfile.Write(file, m.Text(within, between), a.Force) }); err != nil {
		return err
	}
	for _, d := range []struct {
		dim   int
		speed pipeline.Speed
	}{{2, m.Speed2D}, {3, m.Speed3D}} {
		a.Report.Printf("%d-D: %.3g triples, %.3g with amplitude weights, and %.3g points of traveltimes a second and core\n",
			d.dim, d.speed.Triples, d.speed.Dynamic, d.speed.Points)
	}
	a.Report.Printf("%.3g samples of traces a second and core; the forward takes %.0f %% of the kernels' time\n", m.Samples, 100*m.Forward)
	for _, l := range []struct {
		where, source string
		pipeline.Link
	}{{"within a node", within, m.Within}, {"between nodes", between, m.Between}} {
		a.Report.Printf("sums %s: %.3g GB/s, %.3g µs; %s\n", l.where, l.Bytes/1e9, 1e6*l.Latency, l.source)
	}
	a.Report.Printf("files: %.3g GB/s a rank\n", m.File/1e9)
	a.Wrote("machine", file)
	return nil
}

// MeasureCores measures the cores of the machine of all ranks, for images of some dimensions,
// with amplitude weights or without. k says what engine, how many threads of this rank and what
// sums. The speeds are those of the slowest rank.
func MeasureCores(ctx context.Context, a *cli.App, k bench.KernelSize, dims []int, dynamic []bool) (*pipeline.Machine, error) {
	seats, err := comm.GatherJSON(a.World.Host().AllGather, machine.OwnSeat())
	if err != nil {
		return nil, err
	}
	m := &pipeline.Machine{}
	m.Nodes, m.Cores = machine.Nodes(seats[a.World.Rank()], seats)
	k.Sources, k.Receivers, k.Samples, k.Runs = 32, 64, 750, 5
	shapes := [][]int{2: {192, 192}, 3: {32, 32, 32}}
	if k.Engine == "reference" { // which is slow
		k.Sources, k.Receivers, shapes = 1, 16, [][]int{2: {64, 64}, 3: {16, 16, 16}}
	}
	speeds := []*float64{&m.Samples}
	measure := func() (err error) {
		small := k
		small.Shape, small.Samples = []int{8, 8}, 1000
		if m.Samples, err = bench.SampleSpeed(ctx, small); err != nil {
			return err
		}
		for _, dim := range dims {
			speed := m.Speed(dim)
			k.Shape, k.Spacing = shapes[dim], 80/float64(kirchhoff.TileSide(dim)) // the same size of tiles
			if speed.Points, err = bench.PointSpeed(ctx, k.Shape, k.Threads, k.Runs); err != nil {
				return err
			}
			for _, k.Dynamic = range dynamic {
				if *speed.Kind(k.Dynamic), err = bench.TripleSpeed(ctx, k, m.Samples); err != nil {
					return err
				}
			}
			speeds = append(speeds, &speed.Triples, &speed.Dynamic, &speed.Points)
		}
		return nil
	}
	if err := comm.Together(a.World, measure()); err != nil {
		return nil, err
	}
	return m, slowest(a.World, speeds...)
}

// slowest sets speeds to those of the rank where they are lowest.
func slowest(world comm.Comm, speeds ...*float64) error {
	least := make([]float64, len(speeds))
	for i, v := range speeds {
		least[i] = -*v
	}
	err := world.Host().AllReduce(least, comm.Max)
	for i, v := range speeds {
		*v = -least[i]
	}
	return err
}

// Links that a run of one rank or on one node does not measure. A sum through shared memory
// copies each byte twice and reads another array, see docs/collectives.md.
const (
	copiesOfSum    = 3
	withinLatency  = 1e-6
	betweenBytes   = 1e9
	betweenLatency = 2e-6
)

// measureLinks measures the links of m that the ranks have, and says where its numbers are from.
// node is a number of this rank's node.
func measureLinks(ctx context.Context, world comm.Comm, m *pipeline.Machine, node int, memory int64) (within, between string, err error) {
	local, err := world.Split(node, world.Rank())
	if err != nil {
		return "", "", err
	}
	copied, err := bench.CopySpeed(world)
	if err != nil {
		return "", "", err
	}
	m.Within = pipeline.Link{Bytes: copied / copiesOfSum, Latency: withinLatency}
	m.Between = pipeline.Link{Bytes: betweenBytes, Latency: betweenLatency}
	within = fmt.Sprintf("not measured: a third of the %.3g GB/s at which a rank copies memory, and a usual latency", copied/1e9)
	between = "not measured: put in the numbers of your network"
	if local.Size() > 1 {
		within = "measured on " + readable.Count(local.Size(), "rank")
		if m.Within, err = measureLink(ctx, local, memory); err != nil {
			return "", "", err
		}
	}
	if local.Size() < world.Size() {
		between = "measured on " + readable.Count(world.Size(), "rank")
		m.OnNode = local.Size()
		m.Between, err = measureLink(ctx, world, memory)
	}
	return within, between, err
}

// measureLink is the link of sums over the ranks of c.
func measureLink(ctx context.Context, c comm.Comm, memory int64) (pipeline.Link, error) {
	bytes, seconds, err := bench.LinkSpeed(ctx, c, memory)
	return pipeline.Link{Bytes: bytes, Latency: seconds / float64(pipeline.AllReduceRounds(c.Size()))}, err
}
