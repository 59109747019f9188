package pipeline

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Two traces at 1000 m/s over 3-4-5 and 6-8-10 triangles, one sample a metre,
// the first at t0 = 2 m. Trace 1 is the ramp k + 1 and trace 2 the ramp 10 k,
// so that linear interpolation is exact; the wavelet (1, 2) makes them
// 3 k + 5 and 30 k + 20. A path of q metres falls on sample q − 2.
func TestMigrateByHand(t *testing.T) {
	const nt = 24
	s := &survey.Survey{
		Dim: 2, Fixed: true,
		Sources:   []float64{0, 0},
		Receivers: []float64{6, 0, -6, 0},
		NT:        nt, DT: 0.001, T0: 0.002,
		Data:    make([]float32, 2*nt),
		Wavelet: survey.Wavelet{Samples: []float64{1, 2}, DT: 0.001, Zero: 0},
	}
	for k := range nt {
		s.Data[k], s.Data[nt+k] = float32(k+1), float32(10*k)
	}
	// Points (0, 0), (0, 8), (6, 0), (6, 8). Paths to receiver 1 (6, 0) and
	// receiver 2 (−6, 0): 6 and 6; 8 + 10 both ways; 6 + 0 and 6 + 12;
	// 10 + 8 and 10 + √208, which is beyond the record of 2 to 25 m only just
	// not: 24.42 m is sample 22.42, the last pair of samples being 22 and 23,
	// where the wavelet has run off the record's end.
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{6, 8}, Shape: []int{2, 2}}
	p := newProblem(t, g, s)
	first := func(q float64) float64 { return 3*(q-2) + 5 }
	second := func(q float64) float64 { return 30*(q-2) + 20 }
	const q4 = 24.422205101855956 - 2
	// Sample 23 of trace 2 correlates to 230 alone, without the sample after it.
	end := (30*22+20)*(1-(q4-22)) + 230*(q4-22)
	want := []float32{
		float32(first(6) + second(6)),
		float32(first(18) + second(18)),
		float32(first(6) + second(18)),
		float32(first(18) + end),
	}
	eachEngine(t, func(t *testing.T, engine string) {
		got := p.migrate(t, engine, constantModel(g, "1000")...)
		near(t, "image", got, want, 2e-6)
	})
}

// In 3-D with source and receiver at the origin, the points (1, 2, 2) and
// (2, 3, 6) are 3 m and 7 m away: two-way 6 and 14 samples.
func TestMigrateByHand3D(t *testing.T) {
	s := &survey.Survey{
		Dim: 3, Fixed: true,
		Sources: []float64{0, 0, 0}, Receivers: []float64{0, 0, 0},
		NT: 32, DT: 0.001, Data: make([]float32, 32),
		Wavelet: survey.Wavelet{Samples: []float64{1}, DT: 0.001},
	}
	for k := range s.Data {
		s.Data[k] = float32(100 + k)
	}
	g := grid.Grid{Origin: []float64{1, 2, 2}, Spacing: []float64{1, 1, 4}, Shape: []int{2, 2, 2}}
	p := newProblem(t, g, s)
	eachEngine(t, func(t *testing.T, engine string) {
		got := p.migrate(t, engine, constantModel(g, "1000")...)
		near(t, "image", []float32{got[0], got[7]}, []float32{106, 114}, 1e-6)
	})
}

// constant sets a constant velocity and an image grid.
func constantModel(g grid.Grid, v string) []string {
	return append(onGrid(g), `velocity.file=""`, "velocity.constant="+v, "traveltime.method=analytic")
}

// ⟨A m, d⟩ = ⟨m, Aᵀ d⟩ through the job's own way, in every form of the operator.
func TestModelAndMigrateAreAdjoint(t *testing.T) {
	for name, make := range map[string]func(*testing.T) *problem{"2-D": line, "3-D": cube} {
		for _, set := range [][]string{
			nil,
			{"kirchhoff.wavelet_filter=true"},
			{"kirchhoff.dynamic=true"},
			{"kirchhoff.dynamic=true", "kirchhoff.wavelet_filter=true", "kirchhoff.angle_limit=[30,60]"},
			{"kirchhoff.dynamic=true", "kirchhoff.spreading=ray", "kirchhoff.takeoff_limit=[40,75]"},
			{"kirchhoff.antialias=triangle"},
			{"kirchhoff.aperture=80"},
			{"kirchhoff.aperture=60", "kirchhoff.aperture_taper=60", "kirchhoff.dynamic=true", "kirchhoff.antialias=triangle"},
			{"kirchhoff.dynamic=true", "kirchhoff.antialias=triangle", "kirchhoff.antialias_spacing=60", "kirchhoff.dip_limit=50", "kirchhoff.opening_limit=[60,100]"},
		} {
			eachEngine(t, func(t *testing.T, engine string) {
				p := make(t)
				m := noise(p.grid.Len(), 3)
				am := p.model(t, m, engine, set...)
				ad := p.migrate(t, engine, set...)
				left, right := dot(am, p.survey.Data), dot(m, ad)
				if scale := norm(am) * norm(p.survey.Data); !(abs(left-right) <= 1e-6*scale) || scale == 0 {
					t.Errorf("%s %v: %g and %g differ by %.1e of %g", name, set, left, right, abs(left-right)/scale, scale)
				}
				j, _ := p.ready(t, engine, set...)
				e, err := j.op.DotTest(context.Background())
				if err != nil || !(e <= j.op.DotLimit()) {
					t.Errorf("%s %v: dot test %g (%v), at most %g", name, set, e, err, j.op.DotLimit())
				}
			})
		}
	}
}

// With limits and anti-aliasing the engines agree, and the limits and smoothing change
// the image; a spacing for an axis that is not there is refused.
func TestApertureAndAntialias(t *testing.T) {
	p := line(t)
	set := []string{"kirchhoff.antialias=triangle", "kirchhoff.antialias_spacing=60"}
	angles := []string{"kirchhoff.dip_limit=50", "kirchhoff.opening_limit=[60,100]"}
	plain := p.migrate(t, "cpu")
	for _, s := range [][]string{set, angles, append(set, angles...)} {
		fast, slow := p.migrate(t, "cpu", s...), p.migrate(t, "reference", s...)
		other, differ := 0.0, 0.0
		for i := range fast {
			other = max(other, abs(float64(fast[i]-plain[i])))
			differ = max(differ, abs(float64(fast[i]-slow[i])))
		}
		if scale := norm(plain) / math.Sqrt(float64(len(plain))); !(differ <= 1e-5*scale) || !(other >= 0.1*scale) {
			t.Errorf("%v: engines differ by %g, the image changes by %g, its root mean square is %g", s, differ, other, scale)
		}
	}
	err := p.on(1, []string{"kirchhoff.antialias_spacing=[10,20]"}, func(*Job) error { return nil })
	if status.Code(err) != status.BadUsage || !strings.Contains(err.Error(), "antialias_spacing") {
		t.Errorf("two spacings in 2-D: %v", err)
	}
}

func abs(x float64) float64 { return max(x, -x) }

// A list of traces in any order is the fixed spread of the same pairs; a trace
// that is listed twice counts twice, one that is not listed not at all.
func TestListedTraces(t *testing.T) {
	for name, of := range map[string]func(*testing.T) *problem{"2-D": line, "3-D": cube} {
		eachEngine(t, func(t *testing.T, engine string) {
			spread, list := of(t), of(t)
			n, nt := spread.survey.NumTraces(), spread.survey.NT
			order := rand.New(rand.NewPCG(5, 6)).Perm(n)
			order = append(order[:n-2], order[0], order[3], order[0]) // two left out; one three times, one twice
			list.list(t, order)

			data := make([]float32, n*nt)
			for _, trace := range order {
				for k := trace * nt; k < (trace+1)*nt; k++ {
					data[k] += spread.survey.Data[k]
				}
			}
			weighted := *spread.survey
			weighted.Data = data
			m := noise(spread.grid.Len(), 4)
			all := spread.model(t, m, engine)
			spread.record(t, &weighted)

			near(t, name+": image", list.migrate(t, engine), spread.migrate(t, engine), 2e-6)
			traces := list.model(t, m, engine)
			for i, trace := range order {
				near(t, name+": trace", traces[i*nt:(i+1)*nt], all[trace*nt:(trace+1)*nt], 1e-6)
			}
		})
	}
}

// Tables that lsm traveltime writes, given back, make the very same operator:
// their times are stored in full.
func TestTablesGiveTheSameOperator(t *testing.T) {
	for name, of := range map[string]func(*testing.T) *problem{"2-D": line, "3-D": cube} {
		eachEngine(t, func(t *testing.T, engine string) {
			p := of(t)
			j := p.open(t, NeedGeometry, progress.Discard(), engine)
			must(t, j.WriteTimes(context.Background(), p.path("times.h5"), false, Source{Command: "traveltime"}))
			table := []string{"traveltime.method=table", "traveltime.file=" + p.path("times.h5")}
			m := noise(p.grid.Len(), 8)
			equal(t, name+": traces", p.model(t, m, engine, table...), p.model(t, m, engine))
			near(t, name+": image", p.migrate(t, engine, table...), p.migrate(t, engine), 1e-6)
		})
	}
}

// An image on a part of the velocity's grid, with wider steps, has the values of
// the full image at its points.
func TestImageOnAnotherGrid(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		p := line(t)
		full := p.migrate(t, engine)
		part := grid.Grid{Origin: []float64{0, 10}, Spacing: []float64{20, 30}, Shape: []int{4, 3}}
		var want []float32
		for i := range part.Shape[0] {
			for k := range part.Shape[1] {
				want = append(want, full[(2+2*i)*p.grid.Shape[1]+1+3*k])
			}
		}
		near(t, "image", p.migrate(t, engine, onGrid(part)...), want, 2e-5)
	})
}

// Between the points of the velocity's grid the times are interpolated: an image
// of half the spacing agrees at the points that both have.
func TestFinerImage(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		p := line(t)
		full := p.migrate(t, engine)
		fine := grid.Grid{Origin: p.grid.Origin, Spacing: []float64{5, 5}, Shape: []int{25, 21}}
		got := p.migrate(t, engine, onGrid(fine)...)
		var at []float32
		for i := range p.grid.Shape[0] {
			for k := range p.grid.Shape[1] {
				at = append(at, got[2*i*fine.Shape[1]+2*k])
			}
		}
		near(t, "image", at, full, 2e-5)
	})
}

// A table file's own amplitudes replace the computed ones: with b = 2 at the
// sources and 3 at the receivers the image is 6 times that with b = 1.
func TestGivenAmplitudes(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		p := line(t)
		one := p.migrate(t, engine, p.amplitudes(t, 1, 1)...)
		six := p.migrate(t, engine, p.amplitudes(t, 2, 3)...)
		for i := range one {
			one[i] *= 6
		}
		near(t, "image", six, one, 1e-6)
	})
}

// amplitudes writes tables of the problem's times with constant amplitudes, and
// returns the keys that use them.
func (p *problem) amplitudes(t *testing.T, source, receiver float64) []string {
	t.Helper()
	j := p.open(t, NeedGeometry, progress.Discard(), "cpu")
	path := p.path(fmt.Sprintf("times-%g-%g.h5", source, receiver))
	s := p.survey
	w, err := h5.CreateTables(path, h5.TablesLayout{
		Grid: p.grid, NumSources: s.NumSources(), NumReceivers: s.NumReceivers(), Amplitude: true, Float64: true,
	}, h5.WriteOptions{})
	must(t, err)
	defer w.Abort()
	places, rows := everyRow(s, func(s *survey.Survey) *survey.Positions { return s.Distinct(false) })
	all := make([]int, places.Len())
	for i := range all {
		all[i] = i
	}
	whole, err := LoadAll(j.plan)
	must(t, err)
	must(t, whole.Times.Method.Solve(context.Background(), places, all, traveltime.Options{}, func(place int, f traveltime.Field) error {
		at := rows[place][0]
		b := make([]float64, len(f.Branches[0].Time))
		for i := range b {
			b[i] = map[survey.Role]float64{survey.AtSource: source, survey.AtReceiver: receiver}[at.role]
		}
		if err := w.WriteRow(at.role, h5.Amplitude, at.row, b); err != nil {
			return err
		}
		return w.WriteRow(at.role, h5.Time, at.row, f.Branches[0].Time)
	}))
	must(t, w.Commit())
	return []string{"kirchhoff.dynamic=true", "traveltime.method=table", "traveltime.file=" + path}
}

// An image that no record reaches, as one in kilometres, is worth a word in
// every direction: its zeros are no result.
func TestUnseenImage(t *testing.T) {
	const says = "the records, 0.004 to 0.224 s, hold no arrival from the image, x [0, 20] × z [5000, 5010] m"
	far := grid.Grid{Origin: []float64{0, 5000}, Spacing: []float64{10, 10}, Shape: []int{3, 2}}
	for name, walk := range map[string]func(j *Job, op *Operator) error{
		"migrate": func(j *Job, op *Operator) error { _, err := j.migrate(context.Background(), op); return err },
		"model": func(j *Job, op *Operator) error {
			_, err := j.op.Model(context.Background(), ReadPoints(noise(j.plan.Geometry.Image.Len(), 1)))
			return err
		},
		"solve": func(j *Job, op *Operator) error {
			_, err := j.solve(context.Background(), op, false)
			return err
		},
	} {
		for _, g := range []grid.Grid{far, line(t).grid} {
			var said strings.Builder
			j := line(t).open(t, NeedTraces, progress.New(progress.Options{Out: io.Discard, Err: &said}), "cpu", constantModel(g, "2000")...)
			must(t, walk(j, build(t, j)))
			if got := strings.Contains(said.String(), says); got != (g.Len() == far.Len()) || !got && said.Len() > 0 {
				t.Errorf("%s on %s says %q", name, ExtentText(g), said.String())
			}
		}
	}
}

// The weights take the velocity at the image's points, wherever those lie; a
// linear velocity is interpolated exactly.
func TestVelocityOnImage(t *testing.T) {
	p := line(t)
	g := grid.Grid{Origin: []float64{-17, 3}, Spacing: []float64{7, 4}, Shape: []int{15, 20}}
	at := make([]float64, 2)
	j := p.open(t, NeedTraces, progress.Discard(), "cpu", onGrid(g)...)
	all := [2]int{0, g.Shape[0]}
	for i, v := range build(t, j).plan.Times.Source.On(g, all) {
		g.Point(at, i)
		if want := 1700 + 2*at[1] + 0.5*at[0]; !(abs(v-want) <= 1e-9*want) {
			t.Fatalf("velocity at %v m is %g, want %g", at, v, want)
		}
	}
	j = p.open(t, NeedTraces, progress.Discard(), "cpu", constantModel(g, "1900")...)
	for _, v := range j.plan.Times.Source.On(g, all) {
		if v != 1900 {
			t.Fatalf("velocity is %g, want 1900", v)
		}
	}
}

// A constant velocity needs no eikonal solver, even where it is asked for.
func TestConstantVelocityIsExact(t *testing.T) {
	p := line(t)
	analytic := constantModel(p.grid, "1900")
	eikonal := append(analytic[:len(analytic)-1:len(analytic)-1], "traveltime.method=eikonal")
	equal(t, "image", p.migrate(t, "cpu", eikonal...), p.migrate(t, "cpu", analytic...))
}

func tomlList[T int | float64](v []T) string { return strings.ReplaceAll(fmt.Sprint(v), " ", ",") }

// onGrid sets the image's grid.
func onGrid(g grid.Grid) []string {
	return []string{
		"image.origin=" + tomlList(g.Origin), "image.spacing=" + tomlList(g.Spacing), "image.shape=" + tomlList(g.Shape),
	}
}
