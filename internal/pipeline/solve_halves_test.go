package pipeline

import (
	"math"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/agreement"
	"github.com/kirchhoff-lsm/lsm/internal/config"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/solver"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// halfOf is a survey of every second one of the sources that another uses.
func halfOf(s *survey.Survey, odd bool) *survey.Survey {
	uses := make([]bool, s.NumSources())
	for i := range s.NumTraces() {
		from, _ := s.Pair(i)
		uses[from] = true
	}
	half, last := make([]bool, len(uses)), odd
	for from, used := range uses {
		if used {
			half[from], last = last, !last
		}
	}
	var traces []int32
	for i := range s.NumTraces() {
		if from, _ := s.Pair(i); half[from] {
			traces = append(traces, int32(i))
		}
	}
	out := s.Select(traces)
	out.Data = nil
	for _, i := range traces {
		out.Data = append(out.Data, s.Data[int(i)*s.NT:(int(i)+1)*s.NT]...)
	}
	return out
}

// agreementOf reads the agreement around each point of an image file.
func agreementOf(t *testing.T, path string) []float32 {
	t.Helper()
	fields, err := h5.ReadFields(path)
	must(t, err)
	for _, f := range fields {
		if f.Name == "agreement" {
			return f.Data
		}
	}
	t.Fatalf("%s: no /agreement", path)
	return nil
}

// compared is the agreement of two images, and the map of it.
func compared(t *testing.T, shape []int, a, b []float32) (local []float32, whole float64) {
	t.Helper()
	norm := func(x []float32) float64 {
		sum := 0.0
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
		return math.Sqrt(sum)
	}
	s := agreement.NewScan(shape, norm(a), norm(b), func(_ int, part []float32) error {
		local = append(local, part...)
		return nil
	})
	must(t, s.Add(a, b))
	whole, err := s.End()
	must(t, err)
	return local, whole
}

// The halves of a run are the images of two surveys, each of every second shot: its image is their mean, that of a
// migration their sum, and the agreement that of the two.
func TestHalvesAreSurveys(t *testing.T) {
	for name, problem := range map[string]func(*testing.T) *problem{"2-D": wide, "in no order": shuffled, "3-D": cube} {
		for _, engine := range []string{"cpu", "reference"} {
			t.Run(name+", "+engine, func(t *testing.T) {
				p := problem(t)
				whole := *p.survey
				// Not dynamic: ε of those weights is a hundredth of the longest distances, which a half has others of.
				set := []string{"solver.iterations=25", "solver.damping=20"}
				halved := append(set, "image.halves=true", "output.file="+p.path("image.h5"))
				both := p.solve(t, engine, halved...)
				migrated := p.migrateTo(t, p.path("migrated.h5"), 1, engine, halved...)
				local := agreementOf(t, p.path("migrated.h5"))
				var solves, migrations [2][]float32
				for i, odd := range []bool{false, true} {
					p.record(t, halfOf(&whole, odd))
					solves[i] = p.solve(t, engine, set...).Image
					migrations[i] = p.migrateTo(t, p.path("half.h5"), 1, engine, set...)
				}
				n := len(both.Image)
				mean, sum := make([]float32, n), make([]float32, n)
				for i := range n {
					mean[i] = (solves[0][i] + solves[1][i]) / 2
					sum[i] = migrations[0][i] + migrations[1][i]
				}
				near(t, "mean of the solves", both.Image, mean, 1e-4)
				near(t, "sum of the migrations", migrated, sum, 1e-5)
				want, _ := compared(t, p.grid.Shape, migrations[0], migrations[1])
				near(t, "agreement around the points", local, want, 1e-4)
				_, agree := compared(t, p.grid.Shape, solves[0], solves[1])
				if math.Abs(both.Agreed-agree) > 1e-4 {
					t.Errorf("the halves agree by %g, want %g", both.Agreed, agree)
				}
				h := both.History.Agreement
				if len(h) != len(both.History.Residual)-1 || h[len(h)-1] != both.Agreed {
					t.Errorf("%d values over %d iterations, the last %g, want %g", len(h), len(both.History.Residual)-1, h[len(h)-1], both.Agreed)
				}
			})
		}
	}
}

// output.filter = "agreement" multiplies the image by 2γ/(1+γ).
func TestFilterByAgreement(t *testing.T) {
	p := wide(t)
	set := []string{"image.halves=true", "kirchhoff.dynamic=true"}
	plain := p.migrateTo(t, p.path("plain.h5"), 1, "cpu", set...)
	filtered := p.migrateTo(t, p.path("filtered.h5"), 1, "cpu", append(set, "output.filter=agreement")...)
	local := agreementOf(t, p.path("plain.h5"))
	for i, g := range local {
		plain[i] *= 2 * max(0, g) / (1 + max(0, g))
	}
	near(t, "filtered", filtered, plain, 1e-6)
	equal(t, "agreement", agreementOf(t, p.path("filtered.h5")), local)
}

func TestOneShotHasNoHalves(t *testing.T) {
	p := wideOf(t, 130, 1, 40)
	cfg, err := config.Parse(p.path("config.toml"), []byte(baseConfig), []string{"image.halves=true"}, nil)
	must(t, err)
	_, err = Open(comm.Self(), cfg, NeedTraces, progress.Discard())
	if status.Code(err) != status.BadUsage || !strings.Contains(err.Error(), "image.halves") {
		t.Errorf("status %d, %v", status.Code(err), err)
	}
}

// A solve ends where the halves agreed less after each of three iterations and much less than at best, of the problem
// as it is since the weights were found.
func TestGrowingApart(t *testing.T) {
	for _, c := range []struct {
		h         []float64
		restarted int
		want      bool
	}{
		{nil, 0, false},
		{[]float64{0.5, 0.9, 0.8, 0.7}, 0, false},
		{[]float64{0.5, 0.9, 0.8, 0.7, 0.6}, 0, true},
		{[]float64{0.5, 0.9, 0.8, 0.7, 0.75}, 0, false},
		{[]float64{0.9, 0.89, 0.88, 0.87}, 0, false},
		{[]float64{0.92, 0.9, 0.89, 0.88, 0.86}, 0, true},
		{[]float64{0.5, 0.9, 0.8, 0.7, 0.6}, 3, false},
		{[]float64{0.5, 0.9, 0.8, 0.7, 0.6, 0.5}, 3, true},
	} {
		s := &solver.State{Restarted: c.restarted, History: solver.History{Agreement: c.h}}
		if got := halvesGrowApart(s); got != c.want {
			t.Errorf("%v, anew after %d: %t, want %t", c.h, c.restarted, got, c.want)
		}
	}
}
