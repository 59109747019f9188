package target

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/dist/dense"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/job"
)

// solvedOn solves a system by a job's ranks, on rank 0, and says what multiplies its tiles.
func solvedOn(t *testing.T, folder string, ranks int, engine string) (x [][]float64, library string) {
	t.Helper()
	const n, sides = 300, 5
	must(t, on(folder, ranks, []string{"kirchhoff.engine=" + engine}, func(j *job.Job) error {
		g, done, err := newGrid(j, n)
		if err != nil {
			return err
		}
		defer done()
		of := points{cuts: dense.Cut(n, 77)}
		for i := range n {
			of.at, of.scale = append(of.at, i), append(of.scale, 1+0.1*math.Sin(float64(i)))
		}
		none := &penalty{Columns: make([][]int32, n), Values: make([][]float64, n)}
		s, err := newSystem(context.Background(), g, of, none, func(_ context.Context, dst []float64, rows, columns [2]int) error {
			for i := rows[0]; i < rows[1]; i++ {
				for k := columns[0]; k < columns[1]; k++ {
					dst[(i-rows[0])*(columns[1]-columns[0])+k-columns[0]] += math.Exp(-math.Abs(float64(i-k)) / 3)
				}
			}
			return nil
		}, func(int) {})
		if err != nil {
			return err
		}
		defer s.h.Free()
		if err := s.factorize(context.Background()); err != nil {
			return err
		}
		got, err := s.solve(context.Background(), sides, func(i, k int) float64 { return math.Cos(float64(i * (k + 1))) })
		if j.Root() {
			x, library = got, g.Library.Name()
		}
		return err
	}))
	return x, library
}

// H lies on the cards of an engine that has some, where its solutions are those of the host, and
// in host memory where cards or their library cannot have it.
func TestPlace(t *testing.T) {
	gputest.Cards(t, 1)
	folder := line(t)
	want, library := solvedOn(t, folder, 1, "cpu")
	if strings.Contains(library, "blas") && library != "openblas" {
		t.Errorf("on the cpu %s multiplies", library)
	}
	var first string
	for _, ranks := range []int{1, 2, 3} {
		got, library := solvedOn(t, folder, ranks, "cuda")
		if library != "cublas" {
			t.Errorf("%d ranks: %s multiplies", ranks, library)
		}
		if bits := fmt.Sprint(got); first == "" {
			first = bits
		} else if bits != first {
			t.Errorf("%d ranks find other bits than one", ranks)
		}
		for k := range want {
			for i, v := range want[k] {
				if !(math.Abs(got[k][i]-v) <= 1e-11) {
					t.Fatalf("%d ranks: element %d of side %d is %g, on the host %g", ranks, i, k, got[k][i], v)
				}
			}
		}
	}
	t.Run("no library", func(t *testing.T) {
		t.Setenv("LSM_CUBLAS_LIB", "/nowhere/libcublas.so")
		if _, library := solvedOn(t, folder, 2, "cuda"); library == "cublas" {
			t.Error("a library was found that is not there")
		}
	})
	t.Run("no room", func(t *testing.T) {
		t.Setenv("GPUEMU_MEMORY", fmt.Sprint(6<<20))
		if _, library := solvedOn(t, folder, 1, "cuda"); library == "cublas" {
			t.Error("H lies on a card without room")
		}
	})
}
