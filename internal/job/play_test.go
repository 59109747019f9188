package job

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/forecast"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// slow is a machine whose kernels take nearly all the time.
func slow() *forecast.Machine {
	return &forecast.Machine{Nodes: 2, Cores: 4, NodeGiB: 64, File: 1e8, Samples: 1e6, Forward: 0.7, Speed2D: forecast.Speed{Triples: 1e5, Dynamic: 5e4, Points: 1e5},
		Within: forecast.Link{Bytes: 1e12, Latency: 1e-9}, Between: forecast.Link{Bytes: 1e11, Latency: 1e-8}}
}

// play plays three iterations on a process grid.
func (p *problem) play(t *testing.T, m *forecast.Machine, grid [2]int, set ...string) *Trial {
	t.Helper()
	j := p.open(t, plan.Planning, progress.Discard(), "cpu", append(set, "machine.threads=1")...)
	r, err := Play(context.Background(), j.Plan, m, grid, 3)
	must(t, err)
	return r
}

// recorder notes the lengths of what a rank sums over ranks.
type recorder struct {
	comm.Comm
	lengths *[]int
}

func (r recorder) Split(color, key int) (comm.Comm, error) {
	c, err := r.Comm.Split(color, key)
	return recorder{c, r.lengths}, err
}

func (r recorder) AllReduce(x device.Buf) error {
	*r.lengths = append(*r.lengths, x.Len())
	return r.Comm.AllReduce(x)
}

func (r recorder) StartAllReduce(x device.Buf) (comm.Request, error) {
	*r.lengths = append(*r.lengths, x.Len())
	return r.Comm.StartAllReduce(x)
}

// What is played is the solve that is measured: each rank sums the same pieces, on all kinds of
// grids.
func TestPlayIsTheSameSolve(t *testing.T) {
	for _, c := range []struct {
		grid [2]int
		p    *problem
		set  []string
	}{
		{[2]int{1, 1}, wide(t), nil}, {[2]int{3, 1}, wide(t), nil}, {[2]int{1, 2}, wide(t), nil}, {[2]int{2, 2}, wideOf(t, 1300, 24, 60), nil},
		{[2]int{2, 2}, wide(t), []string{"solver.reproducible=off", "comm.overlap=off"}},
		{[2]int{2, 2}, wide(t), []string{"image.gathers=offset", "image.gather_bins=0,30,100"}},
		{[2]int{3, 1}, streamer(t), []string{"kirchhoff.aperture=100"}}, {[2]int{2, 2}, streamer(t), []string{"kirchhoff.aperture=100"}},
		{[2]int{4, 5}, streamer(t), []string{"kirchhoff.aperture=20"}}, // some ranks have no part of the image
	} {
		played := c.p.play(t, slow(), c.grid, c.set...)
		ranks := c.grid[0] * c.grid[1]
		want, got := make([][]int, ranks), make([][]int, ranks) // lengths of pieces, measured and played
		j := c.p.open(t, plan.Planning, progress.Discard(), "cpu", append(c.set, "machine.threads=1")...)
		must(t, slow().Play(j.Plan, c.grid, func(r *forecast.Role) error {
			r.World = recorder{r.World, &got[r.World.Rank()]}
			_, err := playRole(context.Background(), r, 3)
			return err
		}))
		grid := fmt.Sprintf("comm.grid=%d,%d", c.grid[0], c.grid[1])
		err := commtest.Ranks(ranks, func(world comm.Comm) error {
			cfg, err := config.Parse(c.p.path("config.toml"), []byte(baseConfig), append(c.set, grid, "kirchhoff.engine=cpu"), nil)
			if err != nil {
				return err
			}
			measured, err := Try(context.Background(), recorder{world, &want[world.Rank()]}, cfg, 0, 3)
			if err != nil || world.Rank() > 0 {
				return err
			}
			if played.Bytes != measured.Bytes || played.Collective != measured.Collective || played.Traces != measured.Traces || played.Shots != measured.Shots {
				t.Errorf("%v %v: played %+v, measured %+v", c.grid, c.set, played, measured)
			}
			return nil
		})
		must(t, err)
		for r := range want {
			if !slices.Equal(got[r], want[r]) {
				t.Errorf("%v %v: rank %d sums pieces of %v elements, played %v", c.grid, c.set, r, want[r], got[r])
			}
		}
	}
}

// On one rank an iteration takes what the forecast says, and so it does on ranks whose messages
// take no time, but for what they wait for each other.
func TestPlayedTime(t *testing.T) {
	p, m := wide(t), slow()
	j := p.open(t, plan.Planning, progress.Discard(), "cpu", "machine.threads=1")
	f, err := forecast.New(j.Plan, []int{0, 1}, 1)
	must(t, err)
	want := f.On(m).Iteration.Seconds()
	one := p.play(t, m, [2]int{1, 1})
	if math.Abs(one.Iteration/want-1) > 1e-2 || one.Waiting != 0 {
		t.Errorf("an iteration takes %g s, the forecast says %g", one.Iteration, want)
	}
	three := p.play(t, m, [2]int{3, 1})
	if least := one.Iteration / 3; three.Iteration < least || three.Iteration > 1.5*least {
		t.Errorf("on 3 ranks an iteration takes %g s, on one %g", three.Iteration, one.Iteration)
	}
	again := p.play(t, m, [2]int{3, 1})
	if !reflect.DeepEqual(again, three) {
		t.Errorf("played again: %+v and %+v", *again, *three)
	}
	m.Within.Bytes, m.Between.Bytes = 100, 100
	sums := 2. / 3 * 2 * float64(three.Bytes) / 100 // s
	if slow := p.play(t, m, [2]int{3, 1}); math.Abs(slow.Sequential*slow.Iteration/sums-1) > 0.2 {
		t.Errorf("sums of %d bytes take %g s of an iteration, want about %g", three.Bytes, slow.Sequential*slow.Iteration, sums)
	}
}

// Where the survey or the machine's file does not allow it, nothing is played.
func TestPlayRefuses(t *testing.T) {
	p := wide(t)
	j := p.open(t, plan.Planning, progress.Discard(), "cpu")
	unknown := slow()
	unknown.Speed2D.Triples = 0
	for _, c := range []struct {
		m    *forecast.Machine
		grid [2]int
	}{{slow(), [2]int{1000, 1}}, {unknown, [2]int{1, 1}}} {
		if _, err := Play(context.Background(), j.Plan, c.m, c.grid, 1); status.Code(err) != status.BadUsage {
			t.Errorf("%v: %v", c.grid, err)
		}
	}
}
