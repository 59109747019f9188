// Package tutorials holds the lessons; its test runs each of them as a reader
// would and holds the results against expected.json.
package tutorials

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/analysis"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/internal/program"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// expected is the form of expected.json.
type expected struct {
	Cards  bool     // the lesson is about GPUs: it has emulated ones
	Files  []string // that must be there and not empty
	Data   string   // public file that the lesson takes, where LSM_SHARED/data has it
	Checks []struct {
		File, Against string
		From, Less    string    // what to subtract from the images File and Against
		Quantity      string    // "residual_fall", "correlation", "continuity", "difference_error", "moveout", "velocity_error", "intercept_error" or "gradient_error"
		Window        []float64 // of "correlation": x0, x1, z0, z1 in m; empty: the whole image
		Min, Max      *float64
	}
}

// TestTutorials runs each lesson and compares its pictures with the gallery's. One for which there are
// public data runs with these, and with LSM_TEST_LONG with its own too.
func TestTutorials(t *testing.T) {
	lessons, err := filepath.Glob("*/run.sh")
	if err != nil || len(lessons) < 3 {
		t.Fatalf("found %d lessons (%v), want at least 3", len(lessons), err)
	}
	bin := program.Folder(t)
	gpus, why, err := gputest.Kept(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if why != "" {
		t.Logf("lessons about GPUs run without: %s", why)
	}
	plain := append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cards := append(append(slices.Clip(plain), gpus...), "GPUEMU_CARDS=2")
	for _, script := range lessons {
		lesson := filepath.Dir(script)
		t.Run(lesson, func(t *testing.T) {
			for _, name := range []string{"README.md", "config.toml", "job.slurm"} {
				if _, err := os.Stat(filepath.Join(lesson, name)); err != nil {
					t.Error(err)
				}
			}
			want, env := read(t, lesson), plain
			if want.Cards {
				env = cards
			}
			if want.Data == "" {
				hang(t, lesson, env, run(t, script, env, want))
				return
			}
			shared := os.Getenv("LSM_SHARED")
			if shared == "" {
				shared = filepath.Join("..", "..", "shared")
			}
			data := filepath.Join(shared, "data", want.Data)
			_, lacks := os.Stat(data)
			if lacks != nil || gputest.Long() {
				run(t, script, env, want)
			}
			t.Run(want.Data, func(t *testing.T) {
				if lacks != nil {
					t.Skipf("no data: %v (LSM_SHARED names the folder that holds data/)", lacks)
				}
				hang(t, lesson, env, run(t, script, env, want, data))
			})
		})
	}
}

func read(t *testing.T, lesson string) (want expected) {
	text, err := os.ReadFile(filepath.Join(lesson, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

// run runs a lesson in a new folder, which it returns, and checks what it leaves there.
func run(t *testing.T, script string, env []string, want expected, args ...string) (out string) {
	out = filepath.Join(t.TempDir(), "out")
	cmd := exec.Command("./"+script, append([]string{out}, args...)...)
	cmd.Env = env
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, text)
	}
	check(t, want, out)
	return out
}

func check(t *testing.T, want expected, out string) {
	for _, name := range want.Files {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: missing or empty (%v)", name, err)
		}
	}
	for _, c := range want.Checks {
		file, v := filepath.Join(out, c.File), math.NaN()
		switch c.Quantity {
		case "residual_fall":
			h := readImage(t, file).ResidualNorm
			v = h[len(h)-1] / h[0]
		case "intercept_error":
			v = furthest(reflectors(t, file), func(r reflector) (float64, float64) { return r.Intercept, r.ExpectedIntercept })
		case "gradient_error":
			v = furthest(reflectors(t, file), func(r reflector) (float64, float64) { return r.Gradient, r.ExpectedGradient })
		case "correlation":
			v = correlation(within(readImage(t, file), c.Window), within(readImage(t, filepath.Join(out, c.Against)), c.Window))
		case "continuity":
			v = continuity(readImage(t, file), c.Window)
		case "difference_error":
			v = relative(difference(t, filepath.Join(out, c.From), file), difference(t, filepath.Join(out, c.Less), filepath.Join(out, c.Against)))
		case "moveout":
			v = residualMoveout(t, file) / residualMoveout(t, filepath.Join(out, c.Against))
		case "velocity_error":
			v = velocityError(t, file, filepath.Join(out, c.Against))
		default:
			t.Errorf("unknown quantity %q", c.Quantity)
		}
		t.Logf("%s: %s %s is %.7g", c.File, c.Quantity, c.Against, v)
		if c.Min == nil && c.Max == nil || math.IsNaN(v) || c.Min != nil && v < *c.Min || c.Max != nil && v > *c.Max {
			t.Errorf("%s: %s is %g, outside its bounds", c.File, c.Quantity, v)
		}
	}
}

func readImage(t *testing.T, path string) *h5.Image {
	im, err := h5.ReadImage(path)
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// within is the part of a 2-D image in a window: x0, x1, z0, z1 in m; the whole image if it is empty.
func within(im *h5.Image, window []float64) (part []float32) {
	if len(window) == 0 {
		return im.Data
	}
	for i, v := range im.Data {
		var at [2]float64
		if im.Grid.Point(at[:], i); at[0] >= window[0] && at[0] <= window[1] && at[1] >= window[2] && at[1] <= window[3] {
			part = append(part, v)
		}
	}
	return part
}

// continuity is the median correlation of columns of an image, within a window, with those 50 m or a little more away.
func continuity(im *h5.Image, window []float64) float64 {
	part, lag := within(im, window), int(math.Ceil(50/im.Grid.Spacing[0]))
	nz := 0
	for k := range im.Grid.Shape[1] {
		if z := im.Grid.Coord(1, k); z >= window[2] && z <= window[3] {
			nz++
		}
	}
	var all []float64
	for i := 0; i+lag*nz < len(part); i += nz {
		all = append(all, correlation(part[i:i+nz], part[i+lag*nz:i+(lag+1)*nz]))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// correlation is the normalised inner product of two images.
func correlation(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab += x * y
		aa += x * x
		bb += y * y
	}
	return ab / math.Sqrt(aa*bb)
}

// difference is the second of two images less the first.
func difference(t *testing.T, first, second string) []float32 {
	a, b := readImage(t, first).Data, readImage(t, second).Data
	for i := range b {
		b[i] -= a[i]
	}
	return b
}

// relative is the norm of v less want, relative to that of want.
func relative(v, want []float32) float64 {
	var off, all float64
	for i, w := range want {
		d := float64(v[i] - w)
		off, all = off+d*d, all+float64(w)*float64(w)
	}
	return math.Sqrt(off / all)
}

// residualMoveout is the mean residual moveout of a file of picks, m.
func residualMoveout(t *testing.T, path string) float64 {
	p, err := analysis.ReadPicks(path)
	if err != nil {
		t.Fatal(err)
	}
	return moveout.MeanResidual(p.List)
}

// velocityError is the mean relative error of a model, over the upper two thirds of the true one:
// few offsets tell the velocity below.
func velocityError(t *testing.T, path, truth string) (mean float64) {
	g, v := model(t, path)
	at, want := model(t, truth)
	nx, nz := at.Shape[0], at.Shape[1]*2/3
	for ix := range nx {
		for iz := range nz {
			found := g.At([]float64{at.Coord(0, ix), at.Coord(1, iz)}, func(n int) float64 { return v[n] })
			mean += math.Abs(found/want[ix*at.Shape[1]+iz]-1) / float64(nx*nz)
		}
	}
	return mean
}

func model(t *testing.T, path string) (grid.Grid, []float64) {
	g, v, err := h5.ReadModel(path)
	if err != nil {
		t.Fatal(err)
	}
	return g, v
}

// reflectors reads what lsm ava --json says.
func reflectors(t *testing.T, path string) (found []reflector) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var r reflector
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if r.Event == "reflector" {
			found = append(found, r)
		}
	}
	return found
}

// reflector is one of lsm ava.
type reflector struct {
	Event               string
	Intercept, Gradient float64
	ExpectedIntercept   float64 `json:"expected_intercept"`
	ExpectedGradient    float64 `json:"expected_gradient"`
}

// furthest is the largest relative distance from what was expected, NaN without reflectors.
func furthest(found []reflector, of func(r reflector) (value, expected float64)) float64 {
	most := math.NaN()
	for _, r := range found {
		v, want := of(r)
		if d := math.Abs(v/want - 1); !(d <= most) {
			most = d
		}
	}
	return most
}
