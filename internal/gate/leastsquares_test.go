package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/program"
	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
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
	truth := image(t, "../../tutorials/least-squares/truth.h5")
	score := func(command string, settings ...string) (balanced, raw float64, applied int) {
		return judge(t, truth, command, settings...)
	}
	balanced, raw, _ := score("migrate")
	some, someRaw, applied := score("run")
	if applied < 16 || applied > 26 {
		t.Errorf("a run applied operator and adjoint %d times, want 8 iterations of both and at most 26 in all", applied)
	}
	plain, _, _ := score("run", "solver.band=false", "solver.damping=0.0", "data.weights=none", "solver.iterations=20")
	if some < balanced+0.03 || someRaw < raw+0.05 {
		t.Errorf("a run: %.3f and %.3f, want 0.03 and 0.05 above the migrated %.3f and %.3f", some, someRaw, balanced, raw)
	}
	if b, r, _ := score("run", "image.halves=true"); b < some-0.005 || r < someRaw-0.01 {
		t.Errorf("the mean of halves: %.3f and %.3f, want those of all shots, %.3f and %.3f, within 0.005 and 0.01", b, r, some, someRaw)
	}
	for _, n := range []int{4, 40} {
		if b, r, _ := score("run", fmt.Sprint("solver.iterations=", n)); math.Abs(b-some) > 0.011 || math.Abs(r-someRaw) > 0.011 {
			t.Errorf("%d iterations: %.3f and %.3f, want those of 8 within 0.011", n, b, r)
		}
	}
	if plain > balanced {
		t.Errorf("plain least squares: %.3f, above the migrated %.3f, so that this survey judges nothing", plain, balanced)
	}
}

// Waves along the surface, which no image explains, count less by data.weights = "coherence".
func TestCoherenceWeights(t *testing.T) {
	s, err := surveytest.Read("../../tutorials/least-squares/survey.h5")
	must(t, err)
	loud := 0.0
	for _, v := range s.Data {
		loud = max(loud, math.Abs(float64(v)))
	}
	const speed, peak = 700.0, 10.0 // m/s, Hz of a Ricker wavelet
	for trace := range s.NumTraces() {
		for k := range s.NT {
			a := math.Pow(math.Pi*peak*(s.T0+float64(k)*s.DT-s.Offset(trace)/speed), 2)
			s.Data[trace*s.NT+k] += float32(loud / 2 * (1 - 2*a) * math.Exp(-a))
		}
	}
	path := filepath.Join(t.TempDir(), "survey.h5")
	must(t, h5.WriteSurvey(path, s, h5.WriteOptions{}))
	truth := image(t, "../../tutorials/least-squares/truth.h5")
	with, _, _ := judge(t, truth, "run", "survey.file="+path)
	without, _, _ := judge(t, truth, "run", "survey.file="+path, "data.weights=none")
	if with < without+0.02 {
		t.Errorf("%.3f with weights by coherence, want 0.02 above the %.3f without", with, without)
	}
}

// judge images the survey with some settings: how well the image correlates with the truth, evened by local rms and as
// it is, and how often operator and adjoint were applied.
func judge(t *testing.T, truth [][]float64, command string, settings ...string) (balanced, raw float64, applied int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.h5")
	args := []string{command, "../../tutorials/least-squares/config.toml", "--json", "-o", path, "--set", "kirchhoff.engine=cpu"}
	for _, s := range settings {
		args = append(args, "--set", s)
	}
	out, err := exec.Command(filepath.Join(program.Folder(t), "lsm"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("lsm %v: %v\n%s", args, err, out)
	}
	m := image(t, path)
	balanced, raw = correlation(even(m), even(truth)), correlation(m, truth)
	t.Logf("%s %v: %.3f balanced, %.3f raw", command, settings, balanced, raw)
	return balanced, raw, applications(t, out)
}

// applications counts in the events of a run how often operator and adjoint were applied.
func applications(t *testing.T, events []byte) (n int) {
	t.Helper()
	for line := range bytes.Lines(events) {
		var e struct {
			Event, Section string
			Calls          int
		}
		if bytes.HasPrefix(line, []byte("{")) {
			must(t, json.Unmarshal(line, &e))
		}
		if e.Event == "timing" && (e.Section == "forward" || e.Section == "adjoint") {
			n += e.Calls
		}
	}
	return n
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
