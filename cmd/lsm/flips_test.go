package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// flipPatience is how long a run of a damaged file may take.
const flipPatience = 60 * time.Second

// TestFlippedBytes flips one byte of a file of each kind, as often as LSM_TEST_FLIPS
// says, and lets the program run with it: it must end by itself, with a documented
// status, and where it ends well the image must have the bits of the sound file's.
func TestFlippedBytes(t *testing.T) {
	quiet := os.Getenv("LSM_TEST_FLIPS")
	quietEnvironment(t)
	flips := 12
	if quiet != "" {
		n, err := strconv.Atoi(quiet)
		if err != nil {
			t.Fatal(err)
		}
		flips = n
	}
	program, err := exec.LookPath("lsm")
	if err != nil {
		t.Fatal(err)
	}
	sound := flipFiles(t)
	for seed, c := range []struct{ file, args string }{
		{"survey.h5", "run config.toml"},
		{"model.h5", "run config.toml --set velocity.constant=0 --set velocity.file=model.h5"},
		{"start.h5", "run config.toml --set solver.start=start.h5"},
		{"times.h5", "run config.toml --set traveltime.method=table --set traveltime.file=times.h5 --set kirchhoff.dynamic=true"},
		{"checkpoints/out-0000001.checkpoint.h5", "run config.toml --resume"},
	} {
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			f := flipper{program: program, args: strings.Fields(c.args), file: c.file, seed: uint64(seed), sound: sound}
			code, want, said := f.try(t, t.TempDir(), sound[c.file])
			if code != status.Done {
				t.Fatalf("the sound file: status %d\n%s", code, said)
			}
			f.want = want
			f.all(t, flips)
		})
	}
}

// flipFiles are a small problem, and all that it can be given.
func flipFiles(t *testing.T) files {
	t.Helper()
	t.Chdir(t.TempDir())
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := &survey.Survey{
		Dim: 2, Sources: []float64{5, 0, 45, 0}, Receivers: []float64{10, 0, 25, 5, 40, 0},
		SourceIndex: []int32{1, 0, 0, 1, 1}, ReceiverIndex: []int32{2, 0, 1, 0, 1},
		NT: nt, DT: 0.004, T0: 0.008, Data: ramp(5 * nt), Weight: []float32{1, 0.5, 2, 1, 0.25},
		Wavelet: survey.Wavelet{Samples: []float64{-0.5, 1, -0.25}, DT: 0.004, Zero: 1},
	}
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{nx, nz}}
	velocity := filled(nx*nz, 2000)
	for i := range velocity {
		velocity[i] += 10 * float64(i%nz)
	}
	check(h5.WriteSurvey("survey.h5", s, h5.WriteOptions{Attrs: []h5.Attr{{Name: "program", Value: "lsm"}, {Name: "ranks", Value: 1}}}))
	check(h5.WriteModel("model.h5", g, velocity, h5.WriteOptions{}))
	check(h5.WriteImage("start.h5", &h5.Image{Grid: g, Data: ramp(nx * nz), ResidualNorm: []float64{2, 1}, GradientNorm: []float64{2, 1}, Config: soundConfig}, h5.WriteOptions{}))
	put(t, "config.toml", `[survey]
file = "survey.h5"

[velocity]
constant = 2000

[image]
origin = [0, 0]
spacing = [10, 10]
shape = [6, 5]

[data]
weights = "survey"

[kirchhoff]
engine = "reference"

[solver]
iterations = 3

[output]
file = "out.h5"
`)
	succeed(t, "traveltime config.toml --set output.file=times.h5 --set kirchhoff.dynamic=true")
	if code, said := stopAfter(1, "run config.toml"); code != status.Checkpointed {
		t.Fatalf("status %d\n%s", code, said)
	}
	all := files{}
	for _, name := range []string{"config.toml", "survey.h5", "model.h5", "start.h5", "times.h5", "checkpoints/out-0000001.checkpoint.h5"} {
		content, err := os.ReadFile(name)
		check(err)
		all[name] = content
	}
	return all
}

// flipper runs the program with one damaged file.
type flipper struct {
	program string
	args    []string
	file    string // the damaged one
	seed    uint64
	sound   files
	want    string // what the sound file gives
}

// all tries so many flips, two at a time, and counts how they end.
func (f *flipper) all(t *testing.T, flips int) {
	var mu sync.Mutex
	count := map[int]int{}
	var wait sync.WaitGroup
	const workers = 2
	for w := range workers {
		folder := t.TempDir()
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := w; i < flips; i += workers {
				b := bytes.Clone(f.sound[f.file])
				rng := rand.New(rand.NewPCG(f.seed, uint64(i)))
				at, by := rng.IntN(len(b)), byte(1+rng.IntN(255))
				b[at] ^= by
				code, got, said := f.try(t, folder, b)
				mu.Lock()
				count[code]++
				mu.Unlock()
				f.judge(t, fmt.Sprintf("flip %d: byte %d of %d ^ %#02x", i, at, len(b), by), code, got, said)
			}
		}()
	}
	wait.Wait()
	t.Logf("%s: %d flips, of which by exit status %v", f.file, flips, count)
}

func (f *flipper) judge(t *testing.T, flip string, code int, got, said string) {
	switch code {
	case status.Done:
		if got != f.want {
			t.Errorf("%s: the image differs, and no word of it\n%s", flip, said)
		}
	case status.BadUsage, status.BadInput, status.NoResource:
		if !strings.Contains(said, "lsm: ") || strings.Contains(said, "goroutine ") {
			t.Errorf("%s: status %d\n%s", flip, code, said)
		}
	default:
		t.Errorf("%s: status %d\n%s", flip, code, said)
	}
}

// try runs the program in a folder with the file as given. Its status is below 0 where
// it did not end by itself.
func (f *flipper) try(t *testing.T, folder string, file []byte) (code int, image, said string) {
	old, err := os.ReadDir(folder)
	if err != nil {
		t.Error(err)
	}
	for _, e := range old {
		os.RemoveAll(filepath.Join(folder, e.Name()))
	}
	for _, name := range slices.Sorted(maps.Keys(f.sound)) {
		content := f.sound[name]
		if name == f.file {
			content = file
		}
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), flipPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, f.program, f.args...)
	cmd.Dir = folder
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if cmd.ProcessState == nil {
		t.Error(err)
		return -1, "", ""
	}
	if code = cmd.ProcessState.ExitCode(); code == status.Done {
		im, err := h5.ReadImage(filepath.Join(folder, "out.h5"))
		if err != nil {
			t.Error(err)
			return code, "", out.String()
		}
		image = fmt.Sprint(im.Data, im.ResidualNorm, im.GradientNorm)
	}
	return code, image, out.String()
}
