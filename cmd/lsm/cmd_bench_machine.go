package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/forecast"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// benchMachine measures the machine of all ranks together, and rank 0 writes its file.
func benchMachine(ctx context.Context, a *app, file string) error {
	cfg := &config.Config{}
	cfg.Comm.Backend = "auto"
	if err := comm.Together(a.world, a.join(cfg)); err != nil {
		return err
	}
	if err := a.agree(cfg); err != nil {
		return err
	}
	if err := a.once(func() error { return job.CheckOutput(file, a.force) }); err != nil {
		return err
	}
	seats, err := comm.GatherJSON(a.world.Host().AllGather, machine.OwnSeat())
	if err != nil {
		return err
	}
	var m forecast.Machine
	mine, memory := seats[a.world.Rank()], machine.ReadMemory("/proc", "/sys/fs/cgroup")
	m.Cores, m.NodeRanks = machine.Share(mine, seats)
	m.NodeGiB = float64(cmp.Or(memory.Limit, memory.Total)) / (1 << 30)
	if err := comm.Together(a.world, measureCores(ctx, &m, filepath.Dir(file))); err != nil {
		return err
	}
	slowest := []*float64{&m.Speed2D.Triples, &m.Speed2D.Points, &m.Speed3D.Triples, &m.Speed3D.Points, &m.File}
	least := make([]float64, len(slowest))
	for i, v := range slowest {
		least[i] = -*v
	}
	if err := a.world.Host().AllReduce(least, comm.Max); err != nil {
		return err
	}
	for i, v := range slowest {
		*v = -least[i]
	}
	free := memory.Available
	if memory.Limit > 0 {
		free = min(free, memory.Limit)
	}
	node := slices.IndexFunc(seats, func(s machine.Seat) bool { return s.Host == mine.Host })
	within, between, err := measureLinks(ctx, a.world, &m, node, free)
	if err != nil {
		return err
	}
	if err := a.once(func() error { return plainfile.Write(file, m.Text(within, between), a.force) }); err != nil {
		return err
	}
	for _, d := range []struct {
		dim   int
		speed forecast.Speed
	}{{2, m.Speed2D}, {3, m.Speed3D}} {
		a.report.Printf("%d-D: %.3g triples and %.3g points of traveltimes a second and core\n", d.dim, d.speed.Triples, d.speed.Points)
	}
	a.report.Printf("sums within a node: %.3g GB/s, %.3g µs; %s\n", m.Within.Bytes/1e9, 1e6*m.Within.Latency, within)
	a.report.Printf("sums between nodes: %.3g GB/s, %.3g µs; %s\n", m.Between.Bytes/1e9, 1e6*m.Between.Latency, between)
	a.report.Printf("files: %.3g GB/s a rank\n", m.File/1e9)
	a.wrote("machine", file)
	return nil
}

// measureCores measures the cores of this rank, and a file in a folder.
func measureCores(ctx context.Context, m *forecast.Machine, folder string) (err error) {
	for _, d := range []struct {
		shape []int
		speed *forecast.Speed
	}{{[]int{401, 301}, &m.Speed2D}, {[]int{64, 64, 64}, &m.Speed3D}} {
		k := bench.KernelSize{Shape: d.shape, Sources: 16, Receivers: 64, Samples: 1000, Engine: "cpu", Threads: m.Cores, Runs: 3, Exact: true}
		if d.speed.Triples, d.speed.Points, err = bench.Speeds(ctx, k, true); err != nil {
			return err
		}
	}
	m.File, err = bench.FileSpeed(folder)
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
func measureLinks(ctx context.Context, world comm.Comm, m *forecast.Machine, node int, memory int64) (within, between string, err error) {
	local, err := world.Split(node, world.Rank())
	if err != nil {
		return "", "", err
	}
	copied, err := bench.CopySpeed(world)
	if err != nil {
		return "", "", err
	}
	m.Within = forecast.Link{Bytes: copied / copiesOfSum, Latency: withinLatency}
	m.Between = forecast.Link{Bytes: betweenBytes, Latency: betweenLatency}
	within = fmt.Sprintf("not measured: a third of the %.3g GB/s at which a rank copies memory, and a usual latency", copied/1e9)
	between = "not measured: put in the numbers of your network"
	if local.Size() > 1 {
		within = "measured on " + readable.Count(local.Size(), "rank")
		if m.Within.Bytes, m.Within.Latency, err = bench.LinkSpeed(ctx, local, memory); err != nil {
			return "", "", err
		}
	}
	if local.Size() < world.Size() {
		between = "measured on " + readable.Count(world.Size(), "rank")
		m.Between.Bytes, m.Between.Latency, err = bench.LinkSpeed(ctx, world, memory)
	}
	return within, between, err
}
