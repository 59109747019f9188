package benchmarks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist/dense"
	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// matmulOptions are the choices of lsm bench matmul.
type matmulOptions struct {
	bench.MatmulSpec
	typ       string
	threads   int
	libraries []string
	engine    string
	backends  []string
}

func newBenchMatmul(a *cli.App) *cobra.Command {
	var o matmulOptions
	cmd := &cobra.Command{
		Use:   "matmul",
		Short: "Products of distributed dense matrices: SUMMA beside block rows",
		Long: `Matmul multiplies square matrices on 1, 2, 4, … and all ranks of the run, on every grid of
them. On N×1 ranks it multiplies by block rows and on 1×N by block columns; every rank then
gets all of one factor. On the others it multiplies by SUMMA; a rank then gets a row of one
factor and a column of the other.

It prints operations a second, and the bytes that broadcasts brought to the rank that got
most, counted and by the formula. Rows spread over the result are compared with gonum's. Each
library is measured with panels sent while others are multiplied, and the first one also
without.

With --engine cuda or hip the matrices lie on GPUs, and cuBLAS or hipBLAS multiplies them.
--backend names what carries them between ranks: nccl or rccl, GPU-aware mpi, or mpi-staged
through the host; several are measured in turn.`,
		Example: `  lsm bench matmul
  mpirun -n 6 lsm bench matmul --size 2400 --threads 1
  mpirun -n 4 lsm bench matmul --library gonum,openblas --type float32
  mpirun -n 4 lsm bench matmul --backend nccl,mpi-staged --size 16384 --type float32`,
		Annotations: cli.Exits("4", "5", "6", "130"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return benchMatmul(cmd.Context(), a, o)
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&o.Size, "size", 1536, "rows and columns of the matrices")
	fl.IntVar(&o.Tile, "tile", 0, fmt.Sprintf("rows and columns of a tile; 0: %d, on GPUs %d", dense.Tile, tileOnCard))
	fl.StringVar(&o.typ, "type", "float64", "float32 or float64")
	fl.IntVar(&o.threads, "threads", 0, "threads of a rank; 0: its share of the processors")
	fl.IntVar(&o.Runs, "runs", 3, "number of runs; the median is printed")
	fl.StringSliceVar(&o.libraries, "library", []string{"auto"}, "auto, gonum, openblas, cublas, hipblas, or several with commas")
	fl.StringVar(&o.engine, "engine", "", "engine whose memory holds the matrices: "+strings.Join(carried(), ", ")+" (default: by the backends)")
	fl.StringSliceVar(&o.backends, "backend", []string{"auto"}, "communicators, as in comm.backend, separated by commas")
	return cmd
}

// tileOnCard is the usual length of a tile on a GPU, which a smaller one does not fill.
const tileOnCard = 512

func (o *matmulOptions) check() error {
	if err := checkBackends(o.backends, &o.engine); err != nil {
		return err
	}
	switch {
	case o.Tile == 0 && o.engine == "cpu":
		o.Tile = dense.Tile
	case o.Tile == 0:
		o.Tile = tileOnCard
	}
	if err := positive(map[string]int{"size": o.Size, "tile": o.Tile, "runs": o.Runs}); err != nil {
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
	return o.checkLibraries()
}

// checkLibraries refuses libraries that are unknown, named twice, or not of the engine.
func (o *matmulOptions) checkLibraries() error {
	engines := map[string]string{}
	for _, name := range blas.Names() {
		engines[name] = "cpu"
	}
	for _, e := range gpu.Engines {
		engines[e.Facts().Matrices.Name] = e.String()
	}
	for i, name := range o.libraries {
		engine, known := engines[name]
		if !known {
			return status.Usage(fmt.Errorf("bench: --library is %q, want auto, gonum, openblas, cublas or hipblas", name))
		}
		if name != "auto" && engine != o.engine {
			return status.Usage(fmt.Errorf("bench: --library %s multiplies in the memory of engine %s, not of %s", name, engine, o.engine))
		}
		if slices.Contains(o.libraries[:i], name) {
			return status.Usage(fmt.Errorf("bench: --library has %q twice", name))
		}
	}
	return nil
}

// place holds the memory of a rank for matrices, and the communicators that carry them.
type place struct {
	threads, onNode int
	memory          int64       // bytes that all ranks on this node may use together; 0: not known
	card            *gpu.Device // nil: host memory
	library         *blas.Card  // of the card
	comms           []comm.Comm // over all ranks
}

func benchMatmul(ctx context.Context, a *cli.App, o matmulOptions) error {
	seat := commOptions{backends: o.backends}
	var at place
	var err error
	if at.threads, at.onNode, err = seat.join(a); err != nil {
		return err
	}
	at.memory = seat.Memory
	if o.threads > 0 {
		at.threads = o.threads
	}
	aware := false
	if o.engine != "cpu" {
		card, claim, err := openCards(a, gpu.EngineOf(o.engine), at.onNode)
		if err != nil {
			return err
		}
		defer card.Close()
		at.card, aware = card, claim.Takes
	}
	comms, done, err := carriers(a, a.World, o.backends, at.card, aware)
	if err != nil {
		return err
	}
	defer done()
	at.comms = comms
	return at.bench(ctx, a, o)
}

// bench prints the table, the grids of all numbers of ranks by all carriers.
func (at *place) bench(ctx context.Context, a *cli.App, o matmulOptions) error {
	where := fmt.Sprintf("%s, %d threads a rank", strings.Join(namesOf(at.comms), ", "), at.threads)
	if at.card != nil {
		var err error
		at.library, err = blas.NewCard(at.card)
		if err := comm.Together(a.World, err); err != nil {
			if at.library != nil {
				at.library.Close() // another rank has none
			}
			return err
		}
		defer at.library.Close()
		where = fmt.Sprintf("%s, %s, %s", strings.Join(namesOf(at.comms), ", "), at.card.Name(), at.library.About())
	}
	n := a.World.Size()
	table := newProducts(a, o, where)
	for _, ranks := range counts(n) {
		for _, grid := range gridsOf(ranks) {
			if need := o.Bytes(grid[0], grid[1]) * int64(min(ranks, at.onNode)); at.card == nil && at.memory > 0 && need > at.memory {
				return comm.Together(a.World, status.Resource(fmt.Errorf("bench: matrices of %d × %d on %d × %d ranks take %s on a node, there is %s",
					o.Size, o.Size, grid[0], grid[1], humanize.IBytes(uint64(need)), humanize.IBytes(uint64(at.memory)))))
			}
			for _, c := range at.comms {
				if err := table.grid(ctx, c, grid, at); err != nil {
					return err
				}
			}
		}
	}
	return table.end(n)
}

// grid measures one grid by a carrier on the first ranks while the others wait.
func (p *products) grid(ctx context.Context, carrier comm.Comm, grid []int, at *place) error {
	world, color := p.app.World, 0
	if world.Rank() >= grid[0]*grid[1] {
		color = 1
	}
	part, err := carrier.Split(color, world.Rank())
	if err != nil {
		return err
	}
	var rows []*bench.MatmulRow
	if color == 0 {
		rows, err = p.measure(ctx, part, grid, at)
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
func (p *products) measure(ctx context.Context, c comm.Comm, grid []int, at *place) (rows []*bench.MatmulRow, err error) {
	for i, name := range p.o.libraries {
		d, l, err := at.by(name)
		if err := comm.Together(c, err); err != nil {
			return nil, err
		}
		for _, overlap := range []bool{true, false} {
			if !overlap && (i > 0 || c.Size() == 1) {
				continue
			}
			r, err := p.o.Matmul(ctx, c, grid[0], grid[1], d, l, overlap)
			if err != nil {
				return nil, err
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// by is the device of the matrices and the library of a name that multiplies there.
func (at *place) by(name string) (device.Device, blas.Library, error) {
	if at.card != nil {
		return at.card, at.library, nil
	}
	l, err := blas.Choose(name, at.threads)
	return device.NewHost(at.threads), l, err
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

// products is the table of lsm bench matmul.
type products struct {
	app   *cli.App
	o     matmulOptions
	first map[string]float64 // s, of one rank, by library and carrier
	wrong int
}

func newProducts(a *cli.App, o matmulOptions, where string) *products {
	a.Report.Printf("# C = A B of %d × %d %v in tiles of %d; median of the slowest rank's times on %s\n", o.Size, o.Size, o.Type, o.Tile, where)
	a.Report.Printf("#%6s  %7s  %-13s  %9s  %9s  %8s  %10s  %10s  %8s  %9s  %-7s  %s\n",
		"ranks", "grid", "way", "seconds", "GFLOP/s", "speed-up", "MB a rank", "formula", "messages", "error", "overlap", "library"+behind(o.engine != "cpu", "carrier"))
	return &products{app: a, o: o, first: map[string]float64{}}
}

func (p *products) row(r *bench.MatmulRow) {
	way, ranks, by := wayOf(r), r.Rows*r.Columns, r.Library+" "+r.Carrier
	if ranks == 1 {
		p.first[by] = r.Seconds
	}
	if r.Wrong() {
		p.wrong++
	}
	overlap := "no"
	if r.Overlap && ranks > 1 {
		overlap = "yes"
	}
	p.app.Report.Printf("%7d  %7s  %-13s  %9.4f  %9.2f  %8.2f  %10.3f  %10.3f  %8d  %9.1e  %-7s  %s\n", ranks, fmt.Sprintf("%d×%d", r.Rows, r.Columns),
		way, r.Seconds, r.Flops/1e9, p.first[by]/r.Seconds, float64(r.Bytes)/1e6, float64(r.Formula)/1e6, r.Messages, r.Error, overlap, r.Library+behind(p.o.engine != "cpu", r.Carrier))
	p.app.Report.Event("matmul", "ranks", ranks, "grid", []int{r.Rows, r.Columns}, "way", way, "size", p.o.Size, "tile", p.o.Tile, "type", p.o.Type.String(),
		"seconds", r.Seconds, "gflops", r.Flops/1e9, "speed_up", p.first[by]/r.Seconds, "bytes_received", r.Bytes, "bytes_formula", r.Formula,
		"messages", r.Messages, "uneven_ranks", r.Uneven, "overlap", r.Overlap, "library", r.Library, "engine", p.o.engine, "carrier", r.Carrier, "verdict", passed(!r.Wrong()),
		"error", r.Error, "tolerance", r.Tolerance)
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

// end closes the table. Products that are wrong, or bytes that are not the formula's, are an error.
func (p *products) end(ranks int) error {
	p.app.Report.Printf("# values and bytes: %s\n", passed(p.wrong == 0))
	p.app.Finish("ranks", ranks, "wrong", p.wrong)
	if p.wrong > 0 {
		return comm.Together(p.app.World, status.Numerical(fmt.Errorf("bench: %d products are wrong", p.wrong)))
	}
	return nil
}
