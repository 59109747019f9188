package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/forecast"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/plan"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// checkPlay refuses options of a play that mean nothing.
func (o *solveOptions) checkPlay() error {
	for _, n := range o.ranks {
		if err := positive(map[string]int{"ranks": n}); err != nil {
			return err
		}
	}
	if o.plot != "" && o.machine == "" {
		return status.Usage(errors.New("bench: --plot draws what was played, it needs --machine and --ranks"))
	}
	return nil
}

// allGrids is the largest number of ranks of which all process grids are played.
const allGrids = 8

// playedGrids are the process grids of n ranks that are played: all, or the ranks in a row
// over shots, and the grid nearest to a square.
func playedGrids(n int) (grids [][]int) {
	all := gridsOf(n)
	if n <= allGrids {
		return all
	}
	square := all[0]
	for _, g := range all {
		if g[1] <= g[0] {
			square = g
		}
	}
	return slices.CompactFunc([][]int{all[0], square}, slices.Equal)
}

// playSolve plays the solve on other numbers of ranks, of another machine.
func playSolve(ctx context.Context, a *cli.App, cfg *config.Config, o solveOptions) error {
	if n := a.World.Size(); n > 1 {
		return status.Usage(fmt.Errorf("bench: --machine plays all ranks in one process, %d were started", n))
	}
	m, err := forecast.ReadMachine(o.machine)
	if err != nil {
		return err
	}
	read := append(cli.Named("the configuration file", cfg.Path(), "--machine", o.machine), cli.Uses(cfg.Reads())...)
	if err := a.CheckOutputs(read, cli.Named("--plot", o.plot), a.Force); err != nil {
		return err
	}
	one := *cfg
	one.Comm.Grid = []int{0, 1}
	j, err := job.Open(a.World, &one, plan.Planning, a.Report)
	if err != nil {
		return err
	}
	defer j.Close()
	ranks := append([]int{1}, o.ranks...)
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	table := newScaling(a, o, "predicted for the machine of "+o.machine)
	var lines played
	shots, most := j.Shots.Len(), ranks[len(ranks)-1]
	for _, n := range ranks {
		p := j.Plan
		if o.weak {
			p = p.First(max(1, shots*n/most))
		}
		for _, grid := range playedGrids(n) {
			t, err := job.Play(ctx, p, m, [2]int(grid), o.iterations)
			if n > 1 && status.Code(err) == status.BadUsage { // the survey or the image cannot be laid out so
				a.Report.Infof("# %d×%d: %v", grid[0], grid[1], err)
				continue
			}
			if err != nil {
				return err
			}
			table.row(n, grid, "sim", t)
			lines.add(n, grid, t)
		}
	}
	if o.plot != "" {
		if err := lines.draw(o.plot, a.Force); err != nil {
			return err
		}
		a.Wrote("plot", o.plot)
	}
	a.Finish("ranks", most)
	return nil
}

// played are the lines of a plot, for ranks in a row and in the grid nearest to a square: the
// time of an iteration, and the part of it that is spent waiting for sums over ranks.
type played [4]picture.Line

func (l *played) add(ranks int, grid []int, t *job.Trial) {
	if ranks > allGrids || grid[1] == 1 {
		l.point(min(1, grid[1]-1), ranks, t)
	}
}

// point adds a point to the lines of one kind of grids: 0 in a row, 1 otherwise.
func (l *played) point(kind, ranks int, t *job.Trial) {
	for i, y := range []float64{t.Iteration, t.Waiting * t.Iteration} {
		if y > 0 {
			to := &l[2*kind+i]
			to.X, to.Y = append(to.X, math.Log2(float64(ranks))), append(to.Y, y)
		}
	}
}

// draw writes the plot.
func (l *played) draw(file string, force bool) error {
	var lines []picture.Line
	for i, name := range []string{"iteration, 1-D", "waiting for sums, 1-D", "iteration, 2-D", "waiting for sums, 2-D"} {
		if l[i].Name = name; len(l[i].X) > 0 {
			lines = append(lines, l[i])
		}
	}
	f, err := picture.Lines("log₂ of the number of ranks", "seconds, predicted", picture.Options{}, lines...)
	if err != nil {
		return err
	}
	return picture.WriteFile(file, f, force)
}
