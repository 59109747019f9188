package benchmarks

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/dist/dense"
	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/forecast"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// matmulOptions are the choices of lsm bench matmul.
type matmulOptions struct {
	bench.MatmulSpec
	typ       string
	threads   int
	libraries []string

	machine string  // the file of one that is played; "": this one is measured
	ranks   []int   // that are played
	gflops  float64 // of a core of it
}

func newBenchMatmul(a *cli.App) *cobra.Command {
	var o matmulOptions
	cmd := &cobra.Command{
		Use:   "matmul",
		Short: "Products of distributed dense matrices: SUMMA beside block rows",
		Long: `Matmul multiplies square matrices on 1, 2, 4, … and all ranks of the run, on every
grid of them: by block rows on N×1 ranks and block columns on 1×N, where all of one factor
comes to every rank, and by SUMMA on the others, where a rank gets a row of one and a column
of the other. It prints
operations a second, and what broadcasts brought to the rank that got most, as counted and by
the formula. Rows spread over the whole result are compared with gonum's. Each library is
measured with panels sent while others are multiplied, and the first without as well.

With --machine, --ranks and --gflops one process plays the same products on the ranks of the
machine that a file describes, one core a rank, in virtual time: in block rows and on the grid
that is nearest to a square. Messages and products then take turns.`,
		Example: `  lsm bench matmul
  mpirun -n 6 lsm bench matmul --size 2400 --threads 1
  mpirun -n 4 lsm bench matmul --library gonum,openblas --type float32
  lsm bench matmul --size 16384 --machine cluster.toml --ranks 16,64,256,1024 --gflops 30`,
		Annotations: cli.Exits("4", "5", "6", "130"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if o.machine != "" {
				return playMatmul(cmd.Context(), a, o)
			}
			return benchMatmul(cmd.Context(), a, o)
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&o.Size, "size", 1536, "rows and columns of the matrices")
	fl.IntVar(&o.Tile, "tile", dense.Tile, "rows and columns of a tile")
	fl.StringVar(&o.typ, "type", "float64", "float32 or float64")
	fl.IntVar(&o.threads, "threads", 0, "threads of a rank; 0: its share of the processors")
	fl.IntVar(&o.Runs, "runs", 3, "number of runs; the median is printed")
	fl.StringSliceVar(&o.libraries, "library", []string{"auto"}, "auto, gonum or openblas, or several separated by commas")
	fl.StringVar(&o.machine, "machine", "", "play ranks on the machine that `FILE` describes")
	fl.IntSliceVar(&o.ranks, "ranks", nil, "numbers of `RANKS` to play, separated by commas")
	fl.Float64Var(&o.gflops, "gflops", 0, "10⁹ operations a second of one core of that machine in products of tiles")
	cli.NotEmpty(cmd, "machine", "a file")
	cmd.MarkFlagsRequiredTogether("machine", "ranks", "gflops")
	cmd.MarkFlagsMutuallyExclusive("machine", "library")
	cmd.MarkFlagsMutuallyExclusive("machine", "threads")
	return cmd
}

func (o *matmulOptions) check() error {
	values := map[string]int{"size": o.Size, "tile": o.Tile, "runs": o.Runs}
	if len(o.ranks) > 0 {
		values["ranks"] = slices.Min(o.ranks)
	}
	if err := positive(values); err != nil {
		return err
	}
	switch o.typ {
	case "float32":
		o.Type = device.F32
	case "float64":
		o.Type = device.F64
	default:
		return status.Usage(fmt.Errorf("bench: --type is %q, want float32 or float64", o.typ))
	}
	for i, name := range o.libraries {
		if !slices.Contains(blas.Names(), name) {
			return status.Usage(fmt.Errorf("bench: --library is %q, want auto, gonum or openblas", name))
		}
		if slices.Contains(o.libraries[:i], name) {
			return status.Usage(fmt.Errorf("bench: --library has %q twice", name))
		}
	}
	if o.machine != "" && !(o.gflops > 0 && !math.IsInf(o.gflops, 1)) {
		return status.Usage(fmt.Errorf("bench: --gflops is %g, must be more than 0", o.gflops))
	}
	return nil
}

func benchMatmul(ctx context.Context, a *cli.App, o matmulOptions) error {
	cfg := &config.Config{}
	cfg.Comm.Backend = "auto"
	if err := comm.Together(a.World, a.Join(cfg)); err != nil {
		return err
	}
	if err := a.Agree(cfg); err != nil {
		return err
	}
	var seat commOptions
	threads, onNode, err := seat.joinMachine(a.World)
	if err != nil {
		return err
	}
	if o.threads > 0 {
		threads = o.threads
	}
	n := a.World.Size()
	table := newProducts(a, o, fmt.Sprintf("median of the slowest rank's times on %s, %d threads a rank", a.World.Name(), threads))
	for _, ranks := range counts(n) {
		for _, grid := range gridsOf(ranks) {
			if need := o.Bytes(grid[0], grid[1]) * int64(min(ranks, onNode)); seat.Memory > 0 && need > seat.Memory {
				return comm.Together(a.World, status.Resource(fmt.Errorf("bench: matrices of %d × %d on %d × %d ranks take %s on a node, there is %s",
					o.Size, o.Size, grid[0], grid[1], humanize.IBytes(uint64(need)), humanize.IBytes(uint64(seat.Memory)))))
			}
			if err := table.grid(ctx, a.World, grid, threads); err != nil {
				return err
			}
		}
	}
	return table.end(n)
}

// grid measures one grid on the first ranks while the others wait.
func (p *products) grid(ctx context.Context, world comm.Comm, grid []int, threads int) error {
	color := 0
	if world.Rank() >= grid[0]*grid[1] {
		color = 1
	}
	part, err := world.Split(color, world.Rank())
	if err != nil {
		return err
	}
	var rows []*bench.MatmulRow
	if color == 0 {
		rows, err = p.measure(ctx, part, grid, threads)
	}
	if err := wait(world, err); err != nil {
		return err
	}
	for _, r := range rows {
		p.row(r)
	}
	return nil
}

// measure times one grid with all libraries.
func (p *products) measure(ctx context.Context, c comm.Comm, grid []int, threads int) (rows []*bench.MatmulRow, err error) {
	for i, name := range p.o.libraries {
		l, err := blas.Choose(name, threads)
		if err := comm.Together(c, err); err != nil {
			return nil, err
		}
		for _, overlap := range []bool{true, false} {
			if !overlap && (i > 0 || c.Size() == 1) {
				continue
			}
			r, err := p.o.Matmul(ctx, c, grid[0], grid[1], device.NewHost(threads), l, overlap)
			if err != nil {
				return nil, err
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// wait waits for all ranks without keeping a processor busy, so that ranks without work do not
// slow the others down, and returns an error of any.
func wait(world comm.Comm, err error) error {
	r, wrong := world.StartAllReduce(device.Wrap(device.NewHost(1), []int64{0}))
	if wrong == nil {
		wrong = r.Wait()
	}
	if err == nil {
		err = wrong
	}
	return comm.Together(world, err)
}

// playMatmul plays products on other numbers of ranks, of another machine.
func playMatmul(ctx context.Context, a *cli.App, o matmulOptions) error {
	if n := a.World.Size(); n > 1 {
		return status.Usage(fmt.Errorf("bench: --machine plays all ranks in one process, %d were started", n))
	}
	m, err := forecast.ReadMachine(o.machine)
	if err != nil {
		return err
	}
	table := newProducts(a, o, "predicted for the machine of "+o.machine)
	ranks := append([]int{1}, o.ranks...)
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	for _, n := range ranks {
		rows, columns := dense.Shape(n)
		for _, grid := range slices.CompactFunc([][]int{{n, 1}, {rows, columns}}, slices.Equal) {
			r, err := o.Play(ctx, m.Model(n, 1), grid[0], grid[1], 1e9*o.gflops, m.Vectors)
			if err != nil {
				return err
			}
			table.row(r)
		}
	}
	return table.end(ranks[len(ranks)-1])
}

// products is the table of lsm bench matmul.
type products struct {
	*cli.App
	o     matmulOptions
	first map[string]float64 // s, of one rank, by library
	wrong int
}

func newProducts(a *cli.App, o matmulOptions, times string) *products {
	a.Report.Printf("# C = A B of %d × %d %v in tiles of %d; %s\n", o.Size, o.Size, o.Type, o.Tile, times)
	a.Report.Printf("#%6s  %7s  %-13s  %9s  %9s  %8s  %10s  %10s  %8s  %9s  %-7s  %s\n",
		"ranks", "grid", "way", "seconds", "GFLOP/s", "speed-up", "MB a rank", "formula", "messages", "error", "overlap", "library")
	return &products{App: a, o: o, first: map[string]float64{}}
}

func (p *products) row(r *bench.MatmulRow) {
	way, ranks := wayOf(r), r.Rows*r.Columns
	if ranks == 1 {
		p.first[r.Library] = r.Seconds
	}
	if r.Wrong() {
		p.wrong++
	}
	wrong, overlap := "-", "no"
	event := []any{"ranks", ranks, "grid", []int{r.Rows, r.Columns}, "way", way, "size", p.o.Size, "tile", p.o.Tile, "type", p.o.Type.String(),
		"seconds", r.Seconds, "gflops", r.Flops / 1e9, "speed_up", p.first[r.Library] / r.Seconds, "bytes_received", r.Bytes, "bytes_formula", r.Formula,
		"messages", r.Messages, "uneven_ranks", r.Uneven, "overlap", r.Overlap, "library", r.Library, "verdict", verdictOf(r)}
	if !math.IsNaN(r.Error) {
		wrong = fmt.Sprintf("%.1e", r.Error)
		event = append(event, "error", r.Error, "tolerance", r.Tolerance)
	}
	if r.Overlap && ranks > 1 {
		overlap = "yes"
	}
	p.Report.Printf("%7d  %7s  %-13s  %9.4f  %9.2f  %8.2f  %10.3f  %10.3f  %8d  %9s  %-7s  %s\n", ranks, fmt.Sprintf("%d×%d", r.Rows, r.Columns),
		way, r.Seconds, r.Flops/1e9, p.first[r.Library]/r.Seconds, float64(r.Bytes)/1e6, float64(r.Formula)/1e6, r.Messages, wrong, overlap, r.Library)
	p.Report.Event("matmul", event...)
}

// wayOf names what the product is on a grid.
func wayOf(r *bench.MatmulRow) string {
	switch {
	case r.Rows == 1 && r.Columns == 1:
		return "one rank"
	case r.Columns == 1:
		return "block rows"
	case r.Rows == 1:
		return "block columns"
	}
	return "SUMMA"
}

func verdictOf(r *bench.MatmulRow) string {
	if r.Wrong() {
		return "FAILED"
	}
	return "OK"
}

// end closes the table. Products that are wrong, or bytes that are not the formula's, are an error.
func (p *products) end(ranks int) error {
	verdict := "OK"
	if p.wrong > 0 {
		verdict = "FAILED"
	}
	p.Report.Printf("# values and bytes: %s\n", verdict)
	p.Finish("ranks", ranks, "wrong", p.wrong)
	if p.wrong > 0 {
		return comm.Together(p.World, status.Numerical(fmt.Errorf("bench: %d products are wrong", p.wrong)))
	}
	return nil
}
