package pipeline

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"

	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/gputest/ptxtest"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	feature "github.com/kirchhoff-lsm/lsm/kirchhoff/engines"
	"github.com/kirchhoff-lsm/lsm/survey"
)

var update = flag.Bool("update", false, "rewrite the table of docs/gpu-tests.md")

// option is a row of the table: a run with some options.
type option struct {
	most     int // iterations; 0: no limit. Halves of noise grow apart after a few, which ends a run
	name     string
	features feature.Features // of the engine that it shows
	make     func(*testing.T) *problem
	set      []string
	anyOrder bool   // of sums: other numbers of cards have other bits
	tight    bool   // an emulated card has room for some of the tables, or of streamed traces, at a time
	says     string // what the operator says of itself
	opens    int    // units in an iteration: lists of their traces go to the card, and counts come back
	times    bool   // which the processor solves for, too, since the card has too few places
	within   bool   // a row of all options has it too: it runs by itself with LSM_TEST_LONG
	ptx      bool   // it runs as PTX without LSM_TEST_LONG too
}

// Keys of some rows, and those of everything that any run can have together.
var (
	dynamic       = "kirchhoff.dynamic=true"
	antialias     = "kirchhoff.antialias=triangle kirchhoff.antialias_spacing=60"
	opening       = "kirchhoff.opening_limit=[40,110]"
	damped        = "solver.damping=0.1 solver.penalty_scale=relative"
	banded        = "solver.band=true " + damped
	illumined     = "image.gather_normalize=illumination"
	stream        = "data.read=stream"
	local         = "kirchhoff.aperture=150 kirchhoff.aperture_taper=60 traveltime.margin=20"
	local3        = "kirchhoff.aperture=[90,25] kirchhoff.aperture_taper=30 traveltime.margin=20"
	recompute     = "kirchhoff.tables=recompute data.read=memory"
	interpolate   = "kirchhoff.tables=coarse data.read=memory"
	straightTimes = `velocity.file="" velocity.constant=2000 traveltime.method=analytic image.origin=[-20,0] image.spacing=[4,5] image.shape=[130,13]`
	allUnequal    = "velocity.receiver_constant=1100 " + local + " " + together + " " + opening + " " + antialias
	together      = "kirchhoff.dip_limit=[30,60] " + dynamic
)

func slice(t *testing.T) *problem         { return wideOf(t, 130, 3, 6) }
func shuffledSlice(t *testing.T) *problem { return shuffle(t, slice(t)) }
func shots(t *testing.T) *problem         { return wideOf(t, 130, 4, 40) }
func block(t *testing.T) *problem         { return longOf(t, 36, 3, 6) }

// leaningSlice is an anisotropic slice.
func leaningSlice(t *testing.T) *problem {
	p := slice(t)
	p.lean(t)
	return p
}

// apart is a problem whose times lie thousands of samples apart in a box of tiles.
func apart(t *testing.T) *problem {
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{60, 60}, Shape: []int{130, 5}}
	s := &survey.Survey{
		Dim: 2, Fixed: true, NT: 1500, DT: 8e-4, Wavelet: ricker(30, 8e-4),
		Sources: []float64{300, 0, 1900, 0, 3900, 0}, Receivers: []float64{1000, 0, 3000, 0},
	}
	return newProblem(t, g, s)
}

// options are the rows of the table.
func options() (list []option) {
	add := func(o option, keys ...string) {
		o.set = strings.Fields(strings.Join(keys, " "))
		list = append(list, o)
	}
	add(option{name: "none", ptx: true, features: feature.Exact, make: slice})
	add(option{name: "none, 3-D", ptx: true, features: feature.Exact, make: block})
	add(option{name: "sums in any order", make: slice, anyOrder: true}, "solver.reproducible=off")
	add(option{name: "dynamic weights", within: true, features: feature.Dynamic, make: slice}, dynamic)
	add(option{name: "dynamic weights, 3-D", within: true, features: feature.Dynamic, make: block}, dynamic)
	add(option{name: "spreading of rays", features: feature.Dynamic, make: slice}, dynamic, "kirchhoff.spreading=ray-2.5d kirchhoff.takeoff_limit=[40,80]")
	add(option{name: "spreading of rays, 3-D", within: true, features: feature.Dynamic, make: block}, dynamic, "kirchhoff.spreading=ray")
	add(option{name: "aperture, local tables", within: true, features: feature.Aperture, make: slice}, local)
	add(option{name: "aperture, local tables, 3-D", within: true, features: feature.Aperture, make: block}, local3)
	add(option{name: "dip limit", within: true, features: feature.DipLimit, make: slice}, "kirchhoff.dip_limit=[30,60]")
	add(option{name: "opening limit", within: true, features: feature.OpeningLimit, make: slice}, opening)
	add(option{name: "anti-aliasing", within: true, features: feature.Antialias, make: slice}, antialias)
	add(option{name: "gathers by offset", within: true, features: feature.Gathers, make: slice, says: "3 images by offset"}, byOffset...)
	add(option{name: "gathers by angle", within: true, features: feature.Gathers, make: slice, says: "3 images by opening angle"}, byAngle...)
	add(option{name: "halves", most: 4, features: feature.Gathers, make: slice, says: "2 images by half of the shots"}, "image.halves=true output.filter=agreement")
	add(option{name: "gathers by illumination", within: true, features: feature.Diagonal, make: slice}, append(byOffset, illumined)...)
	add(option{name: "band", ptx: true, make: slice}, banded)
	add(option{name: "band, 3-D", make: block}, banded, dynamic)
	add(option{name: "coherence weights", make: slice}, "data.weights=coherence solver.iterations=5")
	add(option{name: "coherence weights, streamed traces", make: slice, opens: 1}, stream, "data.weights=coherence solver.iterations=5")
	add(option{name: "times far apart", make: apart})
	add(option{name: "image in time", make: timedSlice, times: true}, append(inTime, antialias, local)...)
	add(option{name: "recomputed tables", features: feature.Recomputed, make: shots, tight: true, says: "in 12 stretches", opens: 36}, recompute, straightTimes)
	add(option{name: "recomputed tables, solved by the processor", within: true, make: slice, opens: 3, times: true}, recompute)
	add(option{name: "coarse tables", within: true, features: feature.Coarse, make: slice, says: "interpolated in 1 stretch", opens: 3}, interpolate)
	add(option{name: "converted waves, recomputed", within: true, make: slice, opens: 3, times: true}, recompute, "velocity.receiver_constant=1100")
	add(option{name: "streamed traces", features: feature.Streamed, make: shots, tight: true, says: "in 4 groups", opens: 4}, stream, "kirchhoff.tables=full")
	add(option{name: "streamed, weighted traces", ptx: true, make: slice, opens: 1}, append(weighing, stream)...)
	add(option{name: "weighted traces, regularized", make: slice}, append(everything,
		"solver.regularization=dip solver.regularization_weight=0.1 solver.damping=0.1")...)
	add(option{name: "cg, traces in no order", make: shuffledSlice}, "solver.method=cg", damped)
	for i, at := range []string{"", ", 3-D"} {
		o := option{make: []func(*testing.T) *problem{slice, block}[i]}
		all := []string{local, local3}[i] + " " + together
		plane := i == 0
		o.name, o.ptx = "all"+at, !plane
		add(o, all, opening, antialias)
		o.name, o.ptx = "all, gathers by illumination"+at, plane
		add(o, append(byOffset, all, opening, illumined)...)
		o.name, o.ptx, o.opens = "all, gathers, coarse"+at, false, 9
		add(o, append(byAngle, all, antialias, interpolate)...)
		o.name, o.ptx, o.opens, o.times = "all, streamed, recomputed"+at, plane, 2, true
		add(o, all, opening, antialias, stream, "kirchhoff.tables=recompute")
		o.name, o.ptx, o.times = "all, streamed, coarse"+at, !plane, false
		add(o, all, opening, antialias, stream, "kirchhoff.tables=coarse")
	}
	add(option{name: "all, anisotropic, converted", ptx: true, features: feature.Dynamic, make: leaningSlice, times: true}, allUnequal)
	return list
}

// may says how many bytes at most go to a card and come from it in an iteration: lists of
// opened units and streamed traces; numbers, images of halves, and counts of the times in tables that are made.
func (o *option) may(j *Job, image int) (up, down int64) {
	if j.process.Card == nil {
		return 0, 0
	}
	up, down = int64(o.opens)*(16<<10), int64(4*image)+int64(o.opens)*(8<<10)
	if j.plan.Classes.Halves() {
		down += int64(8 * j.plan.Geometry.Image.Len())
	}
	if j.plan.Held.Stream {
		up += j.Memory().AllData
	}
	if o.times || !j.process.Card.Compiles() { // the program that solves is not carried
		up += int64(o.opens * 8 * j.plan.Geometry.Image.Len() * (j.plan.Geometry.Survey.NumSources() + j.plan.Geometry.Survey.NumReceivers()))
	}
	return up, down
}

// outcome is what a run of a row gives.
type outcome struct {
	adjoint, image []float32 // the images by class one after the other
	dot            float64
	bits           string // of the images and of the history
	crossed        error  // what too much did in an iteration
	up, down       int64  // bytes to the card and from it, in the iteration with most
	info           string
}

// run runs a row with an engine on some ranks.
func (o *option) run(p *problem, ranks int, engine string, iterations int, set ...string) (out outcome, err error) {
	if o.most > 0 {
		iterations = min(iterations, o.most)
	}
	set = append(slices.Concat(o.set, set), fmt.Sprint("solver.iterations=", iterations))
	err = p.onEngine(ranks, engine, set, withData(func(j *Job, op *Operator, d *dist.Vector) error {
		whole := func(r *Result, err error) (all []float32, _ error) {
			if err != nil {
				return nil, err
			}
			for _, v := range r.Classes.Rows() {
				image, err := j.process.Whole(v)
				if err != nil {
					return nil, err
				}
				all = append(all, image...)
			}
			return all, nil
		}
		mine := outcome{info: op.Info}
		var err error
		if mine.adjoint, err = whole(j.op.Migrate(context.Background(), d)); err != nil {
			return err
		}
		if ranks == 1 { // several have its bits
			if mine.dot, err = j.op.DotTest(context.Background()); err != nil {
				return err
			}
		}
		var at [2]int64 // when the last iteration ended
		ended := 0      // iterations
		j.Ranks.Report = progress.New(progress.Options{JSON: true, Err: io.Discard, Out: writer(func(line []byte) {
			if !strings.Contains(string(line), `"iteration":`) {
				return
			}
			up, down := j.process.Device.Traffic()
			ended++
			if found := Coherent(j.plan.Config.Data, j.plan.Need) && ended == FirstIterations+1; at != [2]int64{} && !found {
				mine.up, mine.down = max(mine.up, up-at[0]), max(mine.down, down-at[1])
			}
			at = [2]int64{up, down}
		})})
		r, err := j.Solve(context.Background(), d, false)
		if mine.image, err = whole(r, err); err != nil || !j.Ranks.Root() {
			return err
		}
		if up, down := o.may(j, len(mine.image)); mine.up > up || mine.down > down {
			mine.crossed = fmt.Errorf("%d bytes go to the card in an iteration, at most %d may; %d come from it, at most %d may", mine.up, up, mine.down, down)
		}
		mine.bits = fmt.Sprint(mine.adjoint, mine.image, r.History.Residual, r.History.Gradient)
		if n := len(r.History.Residual) - 1; n != iterations {
			return fmt.Errorf("%s after %d iterations", r.Reason, n)
		}
		out = mine
		return nil
	}))
	return out, err
}

// executor is what runs the programs of an emulated card.
type executor struct {
	name  string
	grids []string // of several cards, which iterate three times, and the communicator that carries their sums
	use   func(*testing.T)
}

// executors are the compiler, for errors of the source, and the driver that runs PTX, for races
// and errors of the compiler, which is slow.
var executors = []executor{
	{"emulator", []string{"1,2 nccl", "3,1 mpi"}, func(*testing.T) {}},
	{"carried PTX", []string{"2,1 nccl"}, func(t *testing.T) { gputest.NeedEmulator(t); t.Setenv("LSM_NVRTC_LIB", "/no/NVRTC") }},
	{"NVRTC's PTX", []string{"2,1 nccl"}, func(t *testing.T) {
		gputest.NeedEmulator(t)
		t.Setenv("GPUEMU_NVRTC", ptxtest.NVRTC(t).Library)
	}},
}

// fewIterations is how often several cards iterate, and without LSM_TEST_LONG one.
const fewIterations = 4

func iterations() int {
	if gputest.Long() {
		return 20
	}
	return fewIterations
}

// Every option, alone and with all that it can be combined with, gives on cards what it gives
// on the processor, with the same bits on any number of cards, and nothing crosses between
// host and card in an iteration but what the option is about. Without LSM_TEST_LONG options that a row
// of all has are not run alone.
func TestConformance(t *testing.T) {
	gputest.Need(t)
	if *update && !gputest.Long() {
		t.Fatal("the table is written with LSM_TEST_LONG=1")
	}
	t.Setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1")
	var shown feature.Features
	lines := []string{"| options | adjoint | image | dot test | to the card | from it | emulator | carried PTX | NVRTC's PTX |",
		"|---|---|---|---|---|---|---|---|---|"}
	for _, o := range options() {
		shown |= o.features
		p := o.make(t)
		var worst outcome
		var adjoint, image float64
		verdicts := []string{"–", "–", "–"}
		for i, x := range executors {
			t.Run(o.name+"/"+x.name, func(t *testing.T) {
				if !gputest.Long() && (o.within || i > 0 && !o.ptx) {
					t.Skip("with LSM_TEST_LONG (make test-long)")
				}
				x.use(t)
				verdicts[i] = "FAILED"
				want, err := o.run(p, 1, "cpu", iterations())
				must(t, err)
				got, err := o.onCards(t, p, x)
				if err != nil && strings.Contains(err.Error(), "is not among the programs carried as PTX") {
					verdicts[i] = "not carried"
					return
				}
				must(t, err)
				a, b := relativeDifference(got.adjoint, want.adjoint), relativeDifference(got.image, want.image)
				if !(a <= 1e-5 && b <= 1e-4 && got.dot <= 1e-6) {
					t.Errorf("the adjoint differs from cpu by %.1e, the image by %.1e; dot test %.1e", a, b, got.dot)
				}
				adjoint, image, worst.dot = max(adjoint, a), max(image, b), max(worst.dot, got.dot)
				if !strings.HasPrefix(x.name, "carried") { // where the processor solves for recomputed tables
					worst.up, worst.down = max(worst.up, got.up), max(worst.down, got.down)
				}
				if !t.Failed() {
					verdicts[i] = "OK"
				}
			})
		}
		lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |", o.name, power(adjoint), power(image), power(worst.dot),
			power(float64(worst.up)), power(float64(worst.down)), strings.Join(verdicts, " | ")))
	}
	for f := feature.Features(1); f.String() != ""; f <<= 1 {
		if shown&f == 0 && feature.Missing("cuda", f) == 0 {
			t.Errorf("no row shows %v", f)
		}
	}
	t.Log("\n" + strings.Join(lines, "\n"))
	if !gputest.Real() {
		documented(t, "../../docs/gpu-tests.md", lines)
	}
}

// cardMemory is what an emulated card must have that holds a share of what a run can spare.
func (p *problem) cardMemory(t *testing.T, set []string, share float64) (bytes string) {
	t.Helper()
	must(t, p.onCards(1, set, func(j *Job) error {
		ample, little := j.Memory(), *j.plan
		little.Hardware.Card = &CardMemory{Multiprocessors: j.process.Card.Card().Multiprocessors, Free: 1}
		least := CountMemory(&little, j.share).Card
		bytes = fmt.Sprint(1<<30 - ample.CardLimit + least + int64(share*float64(ample.Card-least)))
		return nil
	}))
	return bytes
}

// onCards runs a row on one card, and on several, which must have its bits.
func (o *option) onCards(t *testing.T, p *problem, x executor) (one outcome, err error) {
	if o.tight {
		t.Setenv("GPUEMU_MEMORY", p.cardMemory(t, append(slices.Clone(o.set), fmt.Sprint("solver.iterations=", iterations())), 0.5))
	}
	if one, err = o.run(p, 1, "cuda", iterations()); err != nil {
		return one, err
	}
	short := one
	if iterations() > fewIterations {
		short, err = o.run(p, 1, "cuda", fewIterations)
		must(t, err)
	}
	t.Setenv("GPUEMU_MEMORY", "")
	if !gputest.Real() && !strings.Contains(one.info, o.says) {
		t.Errorf("the operator says %q, not %q", one.info, o.says)
	}
	if one.crossed != nil {
		t.Error(one.crossed)
	}
	for _, grid := range x.grids {
		backend := grid[4:]
		on := func() (outcome, error) {
			return o.run(p, int(grid[0]-'0')*int(grid[2]-'0'), "cuda", fewIterations, "comm.grid="+grid[:3], "comm.backend="+backend)
		}
		other, err := on()
		if gputest.Real() && err != nil && strings.Contains(err.Error(), "wants a card for every rank") { // NCCL before 2.30, and one card
			backend = "mpi"
			other, err = on()
		}
		must(t, err)
		if other.bits != short.bits && !o.anyOrder {
			t.Errorf("other bits on %s", grid)
		}
		if backend == "nccl" && other.crossed != nil {
			t.Errorf("%s: %v", grid, other.crossed)
		}
	}
	return one, nil
}

// power is a power of ten above twice a figure.
func power(v float64) string {
	if v == 0 {
		return "0"
	}
	return fmt.Sprintf("%.0e", math.Pow(10, math.Ceil(math.Log10(2*v))))
}

// documented compares a table with that of a page: the words are the same, and no figure is more
// than a power of ten above, since another processor rounds otherwise.
func documented(t *testing.T, path string, lines []string) {
	page, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return // in a bundle
	}
	must(t, err)
	before, after, _ := strings.Cut(string(page), lines[0]+"\n")
	var held []string
	for strings.HasPrefix(after, "|") {
		var row string
		row, after, _ = strings.Cut(after, "\n")
		held = append(held, row)
	}
	if *update {
		must(t, os.WriteFile(path, []byte(before+strings.Join(lines, "\n")+"\n"+after), 0o644))
		return
	}
	if len(held) != len(lines)-1 {
		t.Fatalf("%s has %d lines of the table, want %d; -update writes it", path, len(held), len(lines)-1)
	}
	for i, line := range lines[1:] {
		got, want := strings.Split(strings.Trim(line, "| "), " | "), strings.Split(strings.Trim(held[i], "| "), " | ")
		for k := range got {
			a, noFigure := strconv.ParseFloat(got[k], 64)
			b, _ := strconv.ParseFloat(want[min(k, len(want)-1)], 64)
			if len(got) != len(want) || noFigure == nil && !(a <= 10*b) || noFigure != nil && got[k] != want[k] && got[k] != "–" {
				t.Errorf("%s says %q, found %q; -update writes it", path, held[i], line)
				break
			}
		}
	}
}
