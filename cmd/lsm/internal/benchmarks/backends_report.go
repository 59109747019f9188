package benchmarks

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// tellSums prints the bandwidth of the all-reduce: a line for each size, a column for each
// way that was measured.
func (b *backends) tellSums() {
	if b.app.World.Size() == 1 {
		b.app.Report.Printf("# one rank sums nothing with others: mpirun -n 2 compares the ways\n#\n")
		return
	}
	ways := b.measured(func(w *way) bool { return len(w.sums) > 0 })
	b.app.Report.Printf("# all-reduce of %v over %d ranks: busbw in GB/s, median of %d after %d of warm-up\n#%11s", b.o.Type, b.app.World.Size(),
		b.o.commOptions.Iterations, b.o.Warmup, "size")
	var sizes []int64
	for _, w := range ways {
		b.app.Report.Printf("  %15v", w)
		for _, r := range w.sums {
			sizes = append(sizes, r.Size)
		}
	}
	b.app.Report.Printf("\n")
	slices.Sort(sizes)
	for _, size := range slices.Compact(sizes) {
		b.app.Report.Printf("%12s", humanize.IBytes(uint64(size)))
		for _, w := range ways {
			text := "-" // memory ended the list
			if i := slices.IndexFunc(w.sums, func(r bench.CommRow) bool { return r.Size == size }); i >= 0 {
				text = fmt.Sprintf("%.3g", w.sums[i].Bus/1e9)
			}
			b.app.Report.Printf("  %15s", text)
		}
		b.app.Report.Printf("\n")
	}
	b.app.Report.Printf("# Out of bounds values : %d %s\n#\n", b.wrong, passed(b.wrong == 0))
}

// passed is a verdict of the NCCL tests.
func passed(ok bool) string {
	if ok {
		return "OK"
	}
	return "FAILED"
}

// measured are the ways for which something holds.
func (b *backends) measured(holds func(w *way) bool) (list []*way) {
	for _, w := range b.ways {
		if holds(w) {
			list = append(list, w)
		}
	}
	return list
}

// solved are the ways with a solve.
func (b *backends) solved() []*way { return b.measured(func(w *way) bool { return w.trial != nil }) }

func (b *backends) tellHead() {
	b.app.Report.Printf("# solve: %d iterations of CGLS, reproducible = %q; medians of the slowest rank\n", b.o.iterations, b.cfg.Solver.Reproducible)
	b.app.Report.Printf("#%6s  %-10s  %8s  %9s  %9s  %7s  %6s  %10s  %s\n", "engine", "backend", "setup s", "iter s", "overlap s", "alone %", "hid %", "residual", "image")
}

// tell prints what is known of a way.
func (b *backends) tell(w *way) {
	t := w.trial
	if t == nil {
		b.app.Report.Printf("# not measured: %v: %s\n", w, w.why)
		b.app.Report.Event("not_measured", "engine", w.engine, "backend", w.backend, "why", w.why)
		return
	}
	b.app.Report.Printf("%7s  %-10s  %8.3f  %9.4f  %9.4f  %7.1f  %6.1f  %10.4e  %.12s\n", w.engine, w.backend, t.Setup, t.Plain, t.Iteration,
		100*t.Sequential, 100*t.Hidden, t.Residual, t.Digest)
	b.app.Report.Event("backend", "engine", w.engine, "backend", w.backend, "ranks", b.app.World.Size(), "shots", t.Shots, "traces", t.Traces,
		"iterations", b.o.iterations, "setup_s", t.Setup, "iteration_s", t.Plain, "iteration_with_overlap_s", t.Iteration,
		"bytes_sent", t.Bytes, "sums", t.Collective, "sums_s", t.Alone, "sums_with_overlap_s", t.Left,
		"waiting_without_overlap", t.Sequential, "hidden", t.Hidden, "residual", t.Residual, "image_sha256", t.Digest)
}

// fastest is the time of an iteration, with overlap or without, whichever is less.
func fastest(t *pipeline.Trial) float64 { return min(t.Plain, t.Iteration) }

// verdict says in words how the ways compare. Its error says that a result is wrong.
func (b *backends) verdict() error {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	ways := b.solved()
	best := slices.MinFunc(ways, func(x, y *way) int { return cmp.Compare(fastest(x.trial), fastest(y.trial)) })
	how := "without overlap"
	if best.trial.Iteration < best.trial.Plain {
		how = "with overlap"
	}
	say("%v takes %.3g s an iteration, %s: the least of %s.", best, fastest(best.trial), how, readable.Count(len(ways), "way"))
	for _, w := range ways {
		if w != best {
			say("%v takes %.3g times as long.", w, fastest(w.trial)/fastest(best.trial))
		}
	}
	for _, w := range ways {
		if text := b.limit(w); text != "" {
			say("%v: %s", w, text)
		}
	}
	wrong := b.compare(ways, say)
	if b.wrong > 0 {
		wrong = append(wrong, fmt.Sprintf("%d elements of sums are wrong", b.wrong))
	}
	b.app.Report.Printf("#\n%s\n", strings.Join(lines, "\n"))
	b.app.Report.Event("verdict", "fastest_engine", best.engine, "fastest_backend", best.backend, "text", lines, "agree", len(wrong) == 0)
	if len(wrong) > 0 {
		return status.Numerical(errors.New("bench: " + strings.Join(wrong, "; ")))
	}
	return nil
}

// limit says what share of a way's iteration the sums take, how much of that the overlap
// hides, and what bounds it.
func (b *backends) limit(w *way) string {
	t := w.trial
	if t.Alone == 0 {
		return ""
	}
	text := fmt.Sprintf("sums take %.1f %% of an iteration without overlap.", 100*t.Sequential)
	if t.Last == 1 {
		return text + " Each is one piece, which no kernel runs beside, so overlap hides nothing."
	}
	most, rest := 1-t.Last, "the last piece of a sum has no kernel beside it"
	if kernels := (t.Plain - t.Alone) / t.Alone; kernels < most {
		most, rest = max(0, kernels), "the sums take longer than the kernels"
	}
	text += fmt.Sprintf(" Overlap hides %.0f %% of that", 100*t.Hidden)
	if t.Hidden >= 0.9*most {
		return text + ", all that it can: " + rest + "."
	}
	text += fmt.Sprintf(", of about %.0f %% that it could: %s.", 100*most, rest)
	switch all := b.cfg.Machine.Threads == 0 || b.cfg.Machine.Threads >= b.threads; {
	case w.engine != "cpu" && strings.HasPrefix(w.backend, "mpi"):
		text += " Overlapped sums are copied to the host and back, and the card waits for these copies."
	case w.engine == "cpu" && all:
		text += " The kernels use all processors, so the sums share these with them."
	}
	return text
}

// compare says how the images agree, and returns what is wrong.
func (b *backends) compare(ways []*way, say func(format string, args ...any)) (wrong []string) {
	exact := b.cfg.Solver.Reproducible == "ranks"
	cards := slices.DeleteFunc(slices.Clone(ways), func(w *way) bool { return w.engine == ways[0].engine })
	if len(cards) == 0 {
		say("Nothing was measured on a GPU, so there are no images to compare.")
		return nil
	}
	apart := inspect.Distance(cards[0].trial.Image, ways[0].trial.Image)
	say("Images of %s and %s differ by %.1e (relative, L2), of at most %.0e.", cards[0].engine, ways[0].engine, apart, promisedDistance)
	if !(apart <= promisedDistance) {
		wrong = append(wrong, fmt.Sprintf("images of %v and %v differ by %.1e, of at most %.0e", cards[0], ways[0], apart, promisedDistance))
	}
	same := true
	for _, w := range cards[1:] {
		same = same && w.trial.Digest == cards[0].trial.Digest
		switch apart := inspect.Distance(w.trial.Image, cards[0].trial.Image); {
		case exact && w.trial.Digest != cards[0].trial.Digest:
			wrong = append(wrong, fmt.Sprintf("images of %v and %v have not the same bits", w, cards[0]))
		case !(apart <= promisedDistance):
			wrong = append(wrong, fmt.Sprintf("images of %v and %v differ by %.1e, of at most %.0e", w, cards[0], apart, promisedDistance))
		}
	}
	switch n := readable.Count(len(cards), "image"); {
	case len(cards) == 1:
	case same:
		say("The %s of %s have the same bits.", n, cards[0].engine)
	case exact:
		say("The %s of %s must have the same bits, and have not.", n, cards[0].engine)
	default:
		say("The %s of %s have not the same bits, which reproducible = %q does not ask for.", n, cards[0].engine, b.cfg.Solver.Reproducible)
	}
	return wrong
}

// plot draws the bandwidth by size above the times of an iteration by way.
func (b *backends) plot() error {
	var sums, times []picture.Line
	for _, w := range b.ways {
		var l picture.Line
		for _, r := range w.sums {
			if r.Bus > 0 {
				l.X, l.Y = append(l.X, math.Log2(float64(r.Size))), append(l.Y, r.Bus/1e9)
			}
		}
		if l.Name = w.String(); len(l.X) > 0 {
			sums = append(sums, l)
		}
	}
	var names []string
	for _, of := range []struct {
		name string
		s    func(t *pipeline.Trial) float64
	}{
		{"iteration without overlap", func(t *pipeline.Trial) float64 { return t.Plain }}, {"iteration with overlap", func(t *pipeline.Trial) float64 { return t.Iteration }},
		{"its sums without overlap", func(t *pipeline.Trial) float64 { return t.Alone }}, {"its sums with overlap", func(t *pipeline.Trial) float64 { return t.Left }},
	} {
		l := picture.Line{Name: of.name}
		names = nil
		for i, w := range b.solved() {
			if names = append(names, w.String()); of.s(w.trial) > 0 {
				l.X, l.Y = append(l.X, float64(i)), append(l.Y, of.s(w.trial))
			}
		}
		if len(l.X) > 0 {
			times = append(times, l)
		}
	}
	figure, err := picture.Marks(names, "time, s", picture.Options{Title: fmt.Sprintf("CGLS on %s", readable.Count(b.app.World.Size(), "rank"))}, times...)
	if err == nil && len(sums) > 0 {
		var above *picture.Figure
		above, err = picture.Lines("size: power of two, bytes", "bus bandwidth, GB/s", picture.Options{Title: "all-reduce"}, sums...)
		if err == nil {
			figure = picture.Stack(above, figure)
		}
	}
	if err != nil {
		return err
	}
	return picture.WriteFile(b.o.plot, figure, b.app.Force)
}
