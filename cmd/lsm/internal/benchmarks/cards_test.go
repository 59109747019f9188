package benchmarks

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Backends side by side: on every size one row of each, none with a wrong element.
func TestBenchCommOnCards(t *testing.T) {
	t.Setenv("GPUEMU_MEMORY", fmt.Sprint(64<<20)) // what is copied to know the card's limits, and the kernel beside, are a part of it
	for _, ranks := range []int{1, 2, 4} {
		gputest.Cards(t, ranks)
		for _, aware := range []bool{true, false} {
			var text, errs bytes.Buffer
			err := commtest.Ranks(ranks, func(c comm.Comm) error {
				a := &cli.App{Report: progress.Discard()}
				if c.Rank() == 0 {
					a.Report = progress.New(progress.Options{Out: &text, Err: &errs})
				}
				card, err := cardOf(c.Rank())
				if err != nil {
					return err
				}
				defer card.Close()
				comms, done, err := carriers(a, c, []string{"nccl", "mpi", "mpi-staged"}, card, aware)
				if err != nil {
					return err
				}
				defer done()
				s := bench.CommSpec{First: 24, Last: 1 << 16, Factor: 50, Iterations: 2, Warmup: 1, Type: device.F64, Card: card}
				if ranks == 2 {
					beside, err := cardOf(c.Rank())
					if err != nil {
						return err
					}
					defer beside.Close()
					s.Beside = beside
				}
				return benchComm(context.Background(), a, commOptions{CommSpec: s, limits: true}, comms...)
			})
			if err != nil {
				t.Fatalf("%d ranks: %v", ranks, err)
			}
			backends := []string{"nccl", "goroutines", "goroutines-staged"}
			if !aware && ranks > 1 {
				backends = []string{"nccl", "goroutines-staged"}
				if !strings.Contains(errs.String()+text.String(), "mpi: its library does not take memory of a GPU") {
					t.Errorf("%d ranks: not said that mpi is left out:\n%s%s", ranks, errs.String(), text.String())
				}
			}
			rows, ways := map[string]int{}, map[string]int{}
			for line := range strings.Lines(text.String()) {
				f := strings.Fields(line)
				if !strings.HasPrefix(line, "#") && len(f) == 12 {
					if f[8] != "0" {
						t.Errorf("%d ranks: %s", ranks, line)
					}
					ways[strings.Join(f[9:], " ")]++
				}
				if !strings.HasPrefix(line, "#") && len(f) == 10 {
					if f[8] != "0" {
						t.Errorf("%d ranks: %s", ranks, line)
					}
					rows[f[9]]++
				}
			}
			want := map[string]int{}
			for _, b := range backends {
				want[b] = 5 * 3 // operations and sizes
			}
			want["nccl"] = 4 * 3 // which has no one-sided sums
			if !maps.Equal(rows, want) || strings.Count(text.String(), "# Out of bounds values : 0 OK") != 6 ||
				!strings.Contains(text.String(), "arrays in cuda 0") {
				t.Errorf("%d ranks: rows %v, want %v, in\n%s", ranks, rows, want, text.String())
			}
			wantWays := map[string]int{}
			for _, way := range []string{"copy local", "copy-to-host local", "copy-to-gpu local"} {
				wantWays[way+" alone"] = 3
			}
			if ranks > 1 {
				oneSided := backends[len(backends)-2] // the first with one-sided access
				if !aware {
					oneSided = backends[len(backends)-1]
				}
				for _, way := range append(backends, oneSided+"-put", oneSided+"-get") {
					wantWays[way+" one-way alone"], wantWays[way+" both-ways alone"] = 3, 3
				}
			}
			for way := range maps.Clone(wantWays) {
				if beside, ok := strings.CutSuffix(way, "alone"); ok && ranks == 2 {
					wantWays[beside+"kernel"] = 3
				}
			}
			if !maps.Equal(ways, wantWays) {
				t.Errorf("%d ranks: ways %v, want %v, in\n%s", ranks, ways, wantWays, text.String())
			}
		}
	}
}

// Products on cards by several carriers: right, with the bytes of the formula.
func TestBenchMatmulOnCards(t *testing.T) {
	gputest.Cards(t, 3)
	var text bytes.Buffer
	err := commtest.Ranks(3, func(c comm.Comm) error {
		a := &cli.App{Report: progress.Discard(), World: c}
		if c.Rank() == 0 {
			a.Report = progress.New(progress.Options{Out: &text, Err: &text})
		}
		o := matmulOptions{MatmulSpec: bench.MatmulSpec{Size: 30, Tile: 8, Runs: 1}, typ: "float32", libraries: []string{"auto"}, backends: []string{"nccl", "mpi-staged"}}
		if err := o.check(); err != nil {
			return err
		}
		at := place{threads: 1, onNode: 3}
		var err error
		if at.card, err = cardOf(c.Rank()); err != nil {
			return err
		}
		defer at.card.Close()
		comms, done, err := carriers(a, c, o.backends, at.card, false)
		if err != nil {
			return err
		}
		defer done()
		at.comms = comms
		return at.bench(context.Background(), a, o)
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, text.String())
	}
	rows := map[string]int{}
	for line := range strings.Lines(text.String()) {
		if f := strings.Fields(line); !strings.HasPrefix(line, "#") && len(f) == 14 {
			rows[strings.Join(f[len(f)-3:], " ")]++
		}
	}
	// Four grids of several ranks, with overlap and without, and one rank.
	want := map[string]int{"yes cublas nccl": 4, "no cublas nccl": 5, "yes cublas goroutines-staged": 4, "no cublas goroutines-staged": 5}
	if !maps.Equal(rows, want) || !strings.Contains(text.String(), "# values and bytes: OK") || !strings.Contains(text.String(), "cuda 0 (emulated GPU), cuBLAS 12.4.5") {
		t.Errorf("rows %v, want %v, in\n%s", rows, want, text.String())
	}
}

// cardOf opens a rank's card.
func cardOf(rank int) (*gpu.Device, error) {
	return gpu.Open(gpu.Options{Card: rank, Cache: accel.UserCache()})
}

// smallSurvey is a configuration of a survey of four shots.
func smallSurvey(t *testing.T) *config.Config {
	t.Helper()
	folder := t.TempDir()
	synth := func(a *cli.App) []cli.Group { return []cli.Group{{Commands: inspect.Commands(a)}} }
	if code := cli.Run([]string{"synth", "points", "-o", folder, "--shots", "4", "--channels", "6", "--quiet"}, &bytes.Buffer{}, os.Stderr,
		synth, func(*cli.App, *cobra.Command) {}); code != status.Done {
		t.Fatalf("synth: status %d", code)
	}
	cfg, err := config.Load(filepath.Join(folder, "config.toml"), []string{"kirchhoff.engine=cuda", "machine.threads=1",
		"image.origin=0,0", "image.spacing=8,50", "image.shape=250,8"}, nil) // four blocks
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// A whole solve by several backends side by side: every grid once by each, all to the
// same residual.
func TestBenchSolveOnCards(t *testing.T) {
	cfg := smallSurvey(t)
	residual := ""
	for _, ranks := range []int{1, 2, 4} {
		gputest.Cards(t, 1)
		t.Setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1") // goroutines share a card
		var text, errs bytes.Buffer
		err := commtest.Ranks(ranks, func(c comm.Comm) error {
			a := &cli.App{Report: progress.Discard(), World: c}
			if c.Rank() == 0 {
				a.Report = progress.New(progress.Options{Out: &text, Err: &errs})
			}
			return benchSolve(context.Background(), a, cfg, solveOptions{backends: []string{"nccl", "mpi", "mpi-staged", "mpi-onesided"}, iterations: 1})
		})
		if err != nil {
			t.Fatalf("%d ranks: %v\n%s", ranks, err, text.String())
		}
		rows := map[string]int{}
		for line := range strings.Lines(text.String()) {
			f := strings.Fields(line)
			if len(f) < 13 || f[0] == "#" || f[0] == "#ranks" {
				continue
			}
			rows[f[len(f)-1]]++
			if r := f[len(f)-2]; residual == "" {
				residual = r
			} else if r != residual {
				t.Errorf("%d ranks: residual %s, want %s: %s", ranks, r, residual, line)
			}
		}
		grids := map[int]int{1: 1, 2: 3, 4: 6}[ranks]
		if want := (map[string]int{"nccl": grids, "goroutines": grids, "goroutines-staged": grids, "goroutines-onesided": grids}); !maps.Equal(rows, want) {
			t.Errorf("%d ranks: rows %v, want %v, in\n%s%s", ranks, rows, want, text.String(), errs.String())
		}
	}
}
