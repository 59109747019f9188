package gate

import (
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/program"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// The part of the image that the survey of tutorials/least-squares lights, in points, and half the width of
// the windows of local rms.
var litX, litZ = [2]int{24, 217}, [2]int{20, 105}

const window = 12

// TestLeastSquares: on traces of a wave equation, from a program that is not ours, a run with defaults is
// better than migration, and further iterations do no harm. Plain least squares do.
// It is made by
//
//	python3 bench/wave/make.py faults --small -o DIR
//
// and judged as bench/wave/score.py does, for phase and shift as they are.
func TestLeastSquares(t *testing.T) {
	lsm := filepath.Join(program.Folder(t), "lsm")
	truth := image(t, "../../tutorials/least-squares/truth.h5")
	score := func(command string, settings ...string) (balanced, raw float64) {
		path := filepath.Join(t.TempDir(), "image.h5")
		args := []string{command, "../../tutorials/least-squares/config.toml", "--quiet", "-o", path, "--set", "kirchhoff.engine=cpu"}
		for _, s := range settings {
			args = append(args, "--set", s)
		}
		if out, err := exec.Command(lsm, args...).CombinedOutput(); err != nil {
			t.Fatalf("lsm %v: %v\n%s", args, err, out)
		}
		m := image(t, path)
		balanced, raw = correlation(even(m), even(truth)), correlation(m, truth)
		t.Logf("%s %v: %.3f balanced, %.3f raw", command, settings, balanced, raw)
		return balanced, raw
	}
	balanced, raw := score("migrate")
	some, someRaw := score("run")
	plain, _ := score("run", "solver.band=false", "solver.damping=0.0", "data.weights=none", "solver.iterations=20")
	if some < balanced+0.03 || someRaw < raw+0.05 {
		t.Errorf("a run: %.3f and %.3f, want 0.03 and 0.05 above the migrated %.3f and %.3f", some, someRaw, balanced, raw)
	}
	if b, r := score("run", "image.halves=true"); b < some-0.005 || r < someRaw-0.01 {
		t.Errorf("the mean of halves: %.3f and %.3f, want those of all shots, %.3f and %.3f, within 0.005 and 0.01", b, r, some, someRaw)
	}
	for _, n := range []int{4, 40} {
		if b, r := score("run", fmt.Sprint("solver.iterations=", n)); math.Abs(b-some) > 0.011 || math.Abs(r-someRaw) > 0.011 {
			t.Errorf("%d iterations: %.3f and %.3f, want those of 8 within 0.011", n, b, r)
		}
	}
	if plain > balanced {
		t.Errorf("plain least squares: %.3f, above the migrated %.3f, so that this survey judges nothing", plain, balanced)
	}
}

// image is the lit part of an image, [x][z].
func image(t *testing.T, path string) (lit [][]float64) {
	t.Helper()
	m, err := h5.ReadImage(path)
	must(t, err)
	nz := m.Grid.Shape[1]
	for x := litX[0]; x < litX[1]; x++ {
		column := make([]float64, 0, litZ[1]-litZ[0])
		for _, v := range m.Data[x*nz+litZ[0] : x*nz+litZ[1]] {
			column = append(column, float64(v))
		}
		lit = append(lit, column)
	}
	return lit
}

// even divides an image by its local rms.
func even(m [][]float64) [][]float64 {
	all, out := 0.0, make([][]float64, len(m))
	for _, column := range m {
		for _, v := range column {
			all += v * v
		}
	}
	all /= float64(len(m) * len(m[0]))
	for x := range m {
		out[x] = make([]float64, len(m[x]))
		for z := range m[x] {
			near, n := 0.0, 0
			for i := max(0, x-window); i < min(len(m), x+window+1); i++ {
				for _, v := range m[i][max(0, z-window):min(len(m[i]), z+window+1)] {
					near, n = near+v*v, n+1
				}
			}
			out[x][z] = m[x][z] / math.Sqrt(near/float64(n)+1e-3*all)
		}
	}
	return out
}

// correlation is that of two images.
func correlation(a, b [][]float64) float64 {
	var ab, aa, bb float64
	for x := range a {
		for z, v := range a[x] {
			ab, aa, bb = ab+v*b[x][z], aa+v*v, bb+b[x][z]*b[x][z]
		}
	}
	return ab / math.Sqrt(aa*bb)
}
