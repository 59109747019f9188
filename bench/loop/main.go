// Command loop shows what lsm loop makes of a wrong velocity. It lays a survey over a model with lsm
// synth, migrates with a velocity that is too slow and smooth, lets lsm loop find a better one, and
// solves by least squares with both. It prints the mean residual moveout, the mean error of the
// velocity in the part that picks light, and the residual of the least-squares image, before and after.
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/analysis"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/synth"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// task is what the flags say.
type task struct {
	lsm, folder, model, name string
	slow, smooth, data       float64
	loops, iterations        int
	bins                     string
	synth                    []string // further arguments of lsm synth
}

func main() {
	var t task
	flag.StringVar(&t.lsm, "lsm", "bin/lsm", "the `program` to run")
	flag.StringVar(&t.folder, "o", "", "`folder` for the files; default: a temporary one")
	flag.StringVar(&t.model, "model", "", "velocity model `file`; else -case")
	flag.StringVar(&t.name, "case", "faults", "`case` of lsm synth")
	flag.Float64Var(&t.slow, "slow", 0.92, "the start's velocity over the true one")
	flag.Float64Var(&t.smooth, "smooth", 400, "standard deviation of the smoothing of the start, in `m`")
	flag.Float64Var(&t.data, "data", 0, "that of the velocity that the data are made with, in `m`; 0: that of lsm synth")
	flag.IntVar(&t.loops, "n", 3, "loops")
	flag.IntVar(&t.iterations, "iterations", 10, "iterations of the least-squares images")
	flag.StringVar(&t.bins, "bins", "0,300,500,700,900,1100,1300,1500,1700,1900,2100,2300,2500,2700,2900,3100", "image.gather_bins, in m")
	flag.Parse()
	t.synth = flag.Args()
	if err := t.run(); err != nil {
		fmt.Fprintln(os.Stderr, "loop:", err)
		os.Exit(1)
	}
}

func (t task) run() (err error) {
	if t.folder == "" {
		if t.folder, err = os.MkdirTemp("", "loop"); err != nil {
			return err
		}
		defer os.RemoveAll(t.folder)
	}
	args := append([]string{"synth", "-o", t.folder, "--force", "-q"}, t.synth...)
	if t.model != "" {
		args = append(args, "--model", t.model)
	} else {
		args = append(args, t.name)
	}
	if t.data != 0 {
		args = append(args, "--smoothing", fmt.Sprint(t.data))
	}
	if err := t.call(args...); err != nil {
		return err
	}
	if err := t.start(); err != nil {
		return err
	}
	set := []string{"--set", "image.gathers=offset", "--set", "image.gather_bins=" + t.bins, "--set", "image.gather_normalize=illumination"}
	args = append([]string{"loop", t.in("config.toml"), "-n", fmt.Sprint(t.loops), "-o", t.in("loops"), "--force", "-q", "--set", "velocity.file=" + t.in("start.h5")}, set...)
	if err := t.call(args...); err != nil {
		return err
	}
	return t.tell()
}

func (t task) in(name string) string { return filepath.Join(t.folder, name) }

// last is a file of the last loop.
func (t task) last(name string) string {
	return filepath.Join(t.folder, "loops", fmt.Sprintf("loop-%d", t.loops), name)
}

func (t task) call(args ...string) error {
	cmd := exec.Command(t.lsm, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("lsm %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// start writes the velocity to start with, with the anisotropy of the data.
func (t task) start() error {
	g, v, err := h5.ReadModel(t.in(synth.TrueModelFile))
	if err != nil {
		return err
	}
	v = synth.Smooth(g, v, t.smooth)
	for i := range v {
		v[i] *= t.slow
	}
	a, err := pipeline.ReadAnisotropy(t.in(synth.ModelFile))
	if err != nil {
		return err
	}
	return h5.WriteModel(t.in("start.h5"), g, v, h5.WriteOptions{Force: true}, pipeline.PropertiesBeside(a)...)
}

// tell prints what the loop has come to.
func (t task) tell() error {
	fmt.Printf("| | start | after %d loops | ratio |\n|---|---|---|---|\n", t.loops)
	row := func(name, format string, before, after float64) {
		fmt.Printf("| %s | "+format+" | "+format+" | %.3f |\n", name, before, after, after/before)
	}
	var residual [2]float64
	for i, file := range []string{t.in("loops/loop-0/picks.h5"), t.last("picks.h5")} {
		p, err := analysis.ReadPicks(file)
		if err != nil {
			return err
		}
		residual[i] = moveout.MeanResidual(p.List)
	}
	row("mean residual moveout, m", "%.1f", residual[0], residual[1])
	for _, radius := range []float64{0, t.smooth} {
		before, err := t.wrong(t.in("start.h5"), radius)
		if err != nil {
			return err
		}
		after, err := t.wrong(t.last("model.h5"), radius)
		if err != nil {
			return err
		}
		row(fmt.Sprintf("mean error of the velocity against that of the data, smoothed over %g m", radius), "%.4f", before, after)
	}
	var left [2]float64
	for i, model := range []string{t.in("start.h5"), t.last("model.h5")} {
		image := t.in(fmt.Sprintf("squares-%d.h5", i))
		if err := t.call("run", t.in("config.toml"), "--force", "-q", "--set", "velocity.file="+model, "-o", image, "--set", fmt.Sprintf("solver.iterations=%d", t.iterations)); err != nil {
			return err
		}
		im, err := h5.ReadImage(image)
		if err != nil {
			return err
		}
		left[i] = im.ResidualNorm[len(im.ResidualNorm)-1] / im.ResidualNorm[0]
	}
	row(fmt.Sprintf("residual of the least-squares image after %d iterations", t.iterations), "%.3f", left[0], left[1])
	return nil
}

// wrong is the mean relative error of a model against the velocity that the data were made with, smoothed
// over a radius, above the deepest pick within 200 m.
func (t task) wrong(file string, radius float64) (float64, error) {
	p, err := analysis.ReadPicks(t.last("picks.h5"))
	if err != nil {
		return 0, err
	}
	g, v, err := h5.ReadModel(t.in(synth.ModelFile))
	if err != nil {
		return 0, err
	}
	if radius > 0 {
		v = synth.Smooth(g, v, radius)
	}
	_, w, err := h5.ReadModel(file)
	if err != nil {
		return 0, err
	}
	sum, n, nz := 0.0, 0, g.Shape[1]
	for ix := range g.Shape[0] {
		deepest := 0.0
		for _, q := range p.List {
			if math.Abs(q.X-g.Coord(0, ix)) <= 200 {
				deepest = max(deepest, q.Z)
			}
		}
		for iz := range nz {
			if g.Coord(1, iz) <= deepest {
				sum += math.Abs(w[ix*nz+iz]/v[ix*nz+iz] - 1)
				n++
			}
		}
	}
	return sum / float64(n), nil
}
