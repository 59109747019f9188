// Command scale shows how the cost of a run grows with a line: a streamer over a model
// whose velocity grows with depth, made longer and longer, with an aperture. It makes the
// surveys, runs lsm on each with an aperture and on some without, and prints a table with
// costs for each trace. With -plot it draws them. With -ranks it also runs longer lines on
// more ranks, and prints what a rank holds and sends.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// The line: points every 12.5 m, shots and channels every 50 m.
const (
	spacing  = 12.5 // m
	depth    = 241  // points
	distance = 50.0 // m, between shots and between channels
	channels = 40
)

// task is what the flags say.
type task struct {
	lsm, folder string
	aperture    float64
	runs        int
	iterations  int
	launch      []string // what starts several ranks, before their number
	more        []string // further arguments of lsm run
}

func main() {
	var t task
	flag.StringVar(&t.lsm, "lsm", "bin/lsm", "the `program` to run")
	flag.StringVar(&t.folder, "o", "", "`folder` for the surveys; default: a temporary one")
	flag.Float64Var(&t.aperture, "aperture", 3000, "kirchhoff.aperture, in `m`")
	flag.IntVar(&t.runs, "runs", 3, "runs of each line, of whose times the medians count")
	flag.IntVar(&t.iterations, "iterations", 5, "iterations of each run, of which the median counts")
	lengths := flag.String("lengths", "6,12,24,48,96", "lengths of the line, in `km`")
	whole := flag.String("whole", "6,12,24", "those that also run without an aperture, in `km`")
	plot := flag.String("plot", "", "`PNG` of the costs")
	weak := flag.String("ranks", "", "lines that run on several ranks, as `RANKS:KM,...`")
	launcher := flag.String("launcher", "mpirun --oversubscribe -n", "the `command` that starts several ranks, before their number")
	flag.Parse()
	t.launch, t.more = strings.Fields(*launcher), flag.Args()
	if err := t.all(list(*lengths), list(*whole), list(*weak), *plot); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// list splits a flag at its commas.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}

// cost is what one run took.
type cost struct {
	traces                 int
	traveltimes, iteration float64 // s
	tables, peak           float64 // MiB
	digest                 string  // of the image
}

// all measures lines of all lengths.
func (t task) all(lengths, whole, weak []string, plot string) error {
	if t.folder == "" {
		var err error
		if t.folder, err = os.MkdirTemp("", "scale"); err != nil {
			return err
		}
		defer os.RemoveAll(t.folder)
	}
	if err := t.lines(lengths, whole, plot); err != nil || len(weak) == 0 {
		return err
	}
	return t.onRanks(weak)
}

// lines measures lines of several lengths, some without an aperture as well.
func (t task) lines(lengths, whole []string, plot string) error {
	if len(lengths) == 0 {
		return nil
	}
	fmt.Printf("| aperture | line, km | traces | traveltimes, s | µs a trace | iteration, s | µs a trace | tables, MiB | KiB a trace | peak, MiB |\n|---|---|---|---|---|---|---|---|---|---|\n")
	var lines []picture.Line
	for _, with := range []struct {
		name     string
		aperture float64
		lengths  []string
	}{{fmt.Sprintf("%g m", t.aperture), t.aperture, lengths}, {"none", 0, whole}} {
		times, iteration := picture.Line{Name: "traveltimes, aperture " + with.name}, picture.Line{Name: "iteration, aperture " + with.name}
		for _, text := range with.lengths {
			km, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return err
			}
			dir := filepath.Join(t.folder, text)
			if err := line(t.lsm, dir, km); err != nil {
				return err
			}
			var c cost
			var solves, steps []float64
			for range t.runs {
				if c, err = t.run(dir, with.aperture, 1); err != nil {
					return err
				}
				solves, steps = append(solves, c.traveltimes), append(steps, c.iteration)
			}
			c.traveltimes, c.iteration = median(solves), median(steps)
			per := func(v float64) float64 { return v / float64(c.traces) }
			fmt.Printf("| %s | %s | %d | %.3g | %.3g | %.3g | %.3g | %.4g | %.3g | %.0f |\n", with.name, text, c.traces, c.traveltimes,
				1e6*per(c.traveltimes), c.iteration, 1e6*per(c.iteration), c.tables, 1024*per(c.tables), c.peak)
			times.X, times.Y = append(times.X, km), append(times.Y, 1e6*per(c.traveltimes))
			iteration.X, iteration.Y = append(iteration.X, km), append(iteration.Y, 1e6*per(c.iteration))
		}
		lines = append(lines, times, iteration)
	}
	if plot == "" {
		return nil
	}
	f, err := picture.Lines("length of the line, km", "µs a trace", picture.Options{}, lines...)
	if err != nil {
		return err
	}
	return picture.WriteFile(plot, f, true)
}

// onRanks runs lines on several ranks, and says what the rank that needs most holds and
// sends.
func (t task) onRanks(weak []string) error {
	fmt.Printf("\n| ranks | line, km | traces a rank | peak of a rank, MiB | KiB a trace | sent by a rank in an iteration, MiB | iteration, s | against one rank |\n|---|---|---|---|---|---|---|---|\n")
	for _, text := range weak {
		n, km, _ := strings.Cut(text, ":")
		ranks, err := strconv.Atoi(n)
		if err != nil {
			return fmt.Errorf("-ranks %s: %w", text, err)
		}
		length, err := strconv.ParseFloat(km, 64)
		if err != nil {
			return fmt.Errorf("-ranks %s: %w", text, err)
		}
		dir := filepath.Join(t.folder, km)
		if err := line(t.lsm, dir, length); err != nil {
			return err
		}
		c, err := t.run(dir, t.aperture, ranks)
		if err != nil {
			return err
		}
		sent, err := t.sends(dir, ranks)
		if err != nil {
			return err
		}
		same := "-"
		if ranks > 1 {
			alone, err := t.run(dir, t.aperture, 1)
			if err != nil {
				return err
			}
			if same = "other bits"; alone.digest == c.digest {
				same = "same bits"
			}
		}
		each := float64(c.traces) / float64(ranks)
		fmt.Printf("| %d | %s | %.0f | %.0f | %.3g | %.3g | %.3g | %s |\n", ranks, km, each, c.peak, 1024*c.peak/each, sent/(1<<20), c.iteration, same)
	}
	return nil
}

// sends is what lsm check says that a rank sends in an iteration, in bytes.
func (t task) sends(dir string, ranks int) (float64, error) {
	out, err := exec.Command(t.lsm, append([]string{"check", filepath.Join(dir, "s", "config.toml"), "--json", "--ranks", fmt.Sprint(ranks)}, t.set(dir, t.aperture)...)...).Output()
	if err != nil {
		return 0, fmt.Errorf("lsm check: %w", err)
	}
	var done struct {
		Sent float64 `json:"sent_bytes_per_iteration"`
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return done.Sent, json.Unmarshal(lines[len(lines)-1], &done)
}

// set are the options of a run of the line in dir.
func (t task) set(dir string, aperture float64) []string {
	set := []string{"--set", fmt.Sprintf("solver.iterations=%d", t.iterations), "--set", fmt.Sprintf("checkpoint.folder=%q", filepath.Join(dir, "checkpoints"))}
	if aperture > 0 {
		set = append(set, "--set", fmt.Sprintf("kirchhoff.aperture=%g", aperture))
	}
	return append(set, t.more...)
}

// line makes the model and the survey of a line in dir, unless they are there.
func line(lsm, dir string, km float64) error {
	if _, err := os.Stat(filepath.Join(dir, "s", "config.toml")); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	nx := int(math.Round(1000*km/spacing)) + 1
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{spacing, spacing}, Shape: []int{nx, depth}}
	v := make([]float64, g.Len())
	for i := range v {
		x, z := float64(i/depth)*spacing, float64(i%depth)*spacing
		v[i] = 1500 + 0.5*z + 100*math.Sin(x/2500)
	}
	model := filepath.Join(dir, "m.h5")
	if err := h5.WriteModel(model, g, v, h5.WriteOptions{Force: true}); err != nil {
		return err
	}
	shots := int(1000*km/distance) - channels - 4
	out, err := exec.Command(lsm, "synth", "--model", model, "-o", filepath.Join(dir, "s"), "--geometry", "streamer",
		"--shots", fmt.Sprint(shots), "--channels", fmt.Sprint(channels), "--shot-spacing", fmt.Sprint(distance),
		"--receiver-spacing", fmt.Sprint(distance), "--first-shot", "2100", "--nt", "750", "--dt", "0.004").CombinedOutput()
	if err != nil {
		return fmt.Errorf("lsm synth: %w\n%s", err, out)
	}
	return nil
}

// run runs lsm on the line in dir, with an aperture above 0 m, and reads what it cost.
func (t task) run(dir string, aperture float64, ranks int) (c cost, err error) {
	image := filepath.Join(dir, "image.h5")
	args := append([]string{t.lsm, "run", filepath.Join(dir, "s", "config.toml"), "--json", "--force", "-o", image}, t.set(dir, aperture)...)
	if ranks > 1 {
		args = slices.Concat(t.launch, []string{fmt.Sprint(ranks)}, args)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1") // others do not mind
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return c, fmt.Errorf("lsm run: %w", err)
	}
	var seconds []float64
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var e struct {
			Event, Section, Stage, State string
			Max, Seconds                 float64
			Tables                       float64 `json:"tables_bytes"`
			Traces                       int
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return c, err
		}
		switch {
		case e.Event == "timing" && e.Section == "traveltimes":
			c.traveltimes = e.Max
		case e.Event == "iteration":
			seconds = append(seconds, e.Seconds)
		case e.Event == "memory":
			c.peak = e.Max / (1 << 20)
		case e.Event == "done":
			c.tables, c.traces = e.Tables/(1<<20), e.Traces
		}
	}
	c.iteration = median(seconds)
	im, err := h5.ReadImage(image)
	if err == nil {
		c.digest = fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, im.Data)))
	}
	return c, err
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
