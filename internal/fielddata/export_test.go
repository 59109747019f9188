package fielddata

import (
	"context"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
	"github.com/kirchhoff-lsm/lsm/internal/synth"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/segy"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// thereAndBack writes a survey as HDF5, exports that and imports it again.
func thereAndBack(dir string, s *survey.Survey, name string, opt ExportOptions, imports Options) (*survey.Survey, *Exported, error) {
	path := filepath.Join(dir, "a.h5")
	if err := h5.WriteSurvey(path, s, h5.WriteOptions{Force: true}); err != nil {
		return nil, nil, err
	}
	return exported(dir, path, name, opt, imports)
}

func exported(dir, path, name string, opt ExportOptions, imports Options) (*survey.Survey, *Exported, error) {
	in, err := h5.OpenSurvey(path)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	out := filepath.Join(dir, name)
	done, err := ExportSurvey(context.Background(), out, in, opt, progress.Discard())
	if err != nil {
		return nil, nil, err
	}
	imports.KeepDead, imports.KeepDuplicates, imports.KeepPositive, imports.Tolerance = true, true, true, 0
	im, err := Read(context.Background(), []string{out}, imports, progress.Discard())
	if err != nil {
		return nil, done, err
	}
	defer im.Close()
	again := filepath.Join(dir, "b.h5")
	if err := im.Write(context.Background(), again, in.Survey().Wavelet, h5.WriteOptions{Force: true}, progress.Discard()); err != nil {
		return nil, done, err
	}
	back, err := surveytest.Read(again)
	return back, done, err
}

// traceOf finds a trace by its places and its number among those of the same
// pair, for surveys whose rows have other numbers.
type traceKey struct {
	src, rec [3]float64
	n        int
}

func tracesOf(s *survey.Survey) map[traceKey][]float32 {
	out := map[traceKey][]float32{}
	for i := range s.NumTraces() {
		a, b := s.Pair(i)
		var k traceKey
		copy(k.src[:], s.Source(a))
		copy(k.rec[:], s.Receiver(b))
		for ; out[k] != nil; k.n++ {
		}
		out[k] = s.Data[i*s.NT : (i+1)*s.NT]
	}
	return out
}

func same(a, b *survey.Survey) string {
	if a.NT != b.NT || math.Abs(a.DT-b.DT) > 4e-16*a.DT || // dt in µs may miss the last bit
		a.T0 != b.T0 || a.Dim != b.Dim || a.NumTraces() != b.NumTraces() {
		return "sampling, dimensions or the number of traces differ"
	}
	x, y := tracesOf(a), tracesOf(b)
	for k, v := range x {
		w := y[k]
		if w == nil {
			return "a trace is missing"
		}
		for i := range v {
			if math.Float32bits(v[i]) != math.Float32bits(w[i]) {
				return "samples differ"
			}
		}
	}
	return ""
}

// Whatever the survey, what comes back is the same to the bit where nothing was
// told to be lost.
func TestSurveyThereAndBack(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSurvey(t)
		imports := DefaultOptions()
		imports.Dim = s.Dim
		opt := ExportOptions{Line: NoLine(), Order: rapid.SampledFrom([]segy.Order{segy.AnyOrder, segy.Little}).Draw(t, "order")}
		if s.Dim == 2 && rapid.Bool().Draw(t, "north") {
			zero := 0.0
			opt.Line = Line{Azimuth: 0, Origin: [2]float64{5, 0}}
			imports.Azimuth, imports.Origin = &zero, []float64{5, 0}
		} else if s.Dim == 2 {
			east := 90.0
			imports.Azimuth, imports.Origin = &east, []float64{0, 0}
		}
		back, done, err := thereAndBack(dir, s, "a.sgy", opt, imports)
		if err != nil {
			t.Fatal(err)
		}
		if len(done.Lost) > 0 {
			t.Fatalf("lost %q", done.Lost)
		}
		if fault := same(s, back); fault != "" {
			t.Fatalf("%s\n%+v\n%+v", fault, s, back)
		}
	})
}

// drawSurvey draws a survey with coordinates that one decimal scalar can hold and
// intervals in nanoseconds. The first position is not the origin, since a file
// whose coordinates are all zero has no geometry.
func drawSurvey(t *rapid.T) *survey.Survey {
	dim := rapid.IntRange(2, 3).Draw(t, "dim")
	scale := rapid.SampledFrom([]float64{1, 10, 100, 1000, 10000}).Draw(t, "scale")
	coordinate := rapid.Map(rapid.IntRange(-200000, 200000), func(i int) float64 { return float64(i) / scale })
	s := &survey.Survey{Dim: dim, NT: rapid.IntRange(2, 40).Draw(t, "nt"),
		DT: float64(rapid.IntRange(200, 5000000).Draw(t, "dt")) / 1e9,
		T0: float64(rapid.IntRange(-30000, 30000).Draw(t, "t0")) / 10 / 1000}
	for _, to := range []*[]float64{&s.Sources, &s.Receivers} {
		for range rapid.IntRange(1, 4).Draw(t, "places") * dim {
			*to = append(*to, coordinate.Draw(t, "coordinate"))
		}
	}
	s.Sources[0] = 7
	for range rapid.IntRange(1, 12).Draw(t, "traces") {
		s.SourceIndex = append(s.SourceIndex, int32(rapid.IntRange(0, s.NumSources()-1).Draw(t, "source")))
		s.ReceiverIndex = append(s.ReceiverIndex, int32(rapid.IntRange(0, s.NumReceivers()-1).Draw(t, "receiver")))
	}
	s.SourceIndex[0] = 0
	for i, n := range s.SourceIndex { // sources at one place would be two shots, whose traces change places
		for m := range n {
			if slices.Equal(s.Sources[int(m)*dim:][:dim], s.Sources[int(n)*dim:][:dim]) {
				s.SourceIndex[i] = m
				break
			}
		}
	}
	for range s.NumTraces() * s.NT {
		s.Data = append(s.Data, rapid.Float32Range(-1e30, 1e30).Draw(t, "sample"))
	}
	s.Wavelet = survey.Wavelet{Samples: []float64{1}, DT: s.DT}
	return s
}

func TestVikingThereAndBack(t *testing.T) {
	path := shared(t, "viking_survey.h5")
	want, err := surveytest.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	back, done, err := exported(t.TempDir(), path, "viking.sgy", ExportOptions{Line: NoLine()}, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if done.Revision != 1 || len(done.Lost) > 0 || done.Traces != 480 {
		t.Errorf("%+v", done)
	}
	if !slices.Equal(back.Data, want.Data) || !slices.Equal(back.Sources, want.Sources) || !slices.Equal(back.Receivers, want.Receivers) ||
		!slices.Equal(back.SourceIndex, want.SourceIndex) || !slices.Equal(back.ReceiverIndex, want.ReceiverIndex) {
		t.Error("what comes back differs")
	}
}

func smallSurvey() *survey.Survey {
	s := &survey.Survey{Dim: 2, Sources: []float64{0, 6, 1.0 / 3, 6}, Receivers: []float64{100, -2, 200, 0}, Fixed: true, NT: 3, DT: 0.004,
		Data: make([]float32, 12)}
	for i := range s.Data {
		s.Data[i] = float32(i) / 3
	}
	s.Wavelet = survey.Wavelet{Samples: []float64{1}, DT: 0.004}
	return s
}

// What is lost is told with its size.
func TestLosses(t *testing.T) {
	s := smallSurvey()
	back, done, err := thereAndBack(t.TempDir(), s, "a.sgy", ExportOptions{Line: NoLine()}, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Lost) != 1 || !strings.HasPrefix(done.Lost[0], "coordinates are rounded by 3.33e-05 m") {
		t.Errorf("lost %q", done.Lost)
	}
	if d := math.Abs(back.Sources[2] - s.Sources[2]); d == 0 || d > 5e-5 || !slices.Equal(back.Data, s.Data) {
		t.Errorf("source at %v", back.Sources)
	}
	s.Sources[0] = 2e14
	if _, _, err := thereAndBack(t.TempDir(), s, "a.sgy", ExportOptions{Line: NoLine()}, DefaultOptions()); err == nil ||
		!strings.Contains(err.Error(), "coordinates reach beyond what the trace header holds, 2.147483647e+13") {
		t.Errorf("error %v", err)
	}
}

// A number that was computed is not rounded by the rounding of its computation.
func TestRoundoffIsNoLoss(t *testing.T) {
	for _, x := range []float64{0.1 + 0.2, 4094.9999999999995, 1.1 * 1.1, -3 * 1234.1} {
		s, err := chooseScalar("coordinates", 1, math.MaxInt32, []float64{x, 0})
		if err != nil || s.worst != 0 {
			t.Errorf("%v is rounded by %g with the scalar %d, %v", x, s.worst, s.header, err)
		}
	}
	if s, _ := chooseScalar("coordinates", 1, math.MaxInt32, []float64{1.0 / 3}); s.worst < 1e-5 {
		t.Errorf("a third is rounded by %g", s.worst)
	}
}

func TestSUThereAndBack(t *testing.T) {
	s := smallSurvey()
	s.Sources[2] = 50
	back, _, err := thereAndBack(t.TempDir(), s, "a.su", ExportOptions{Kind: segy.SU, Line: NoLine()}, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if fault := same(s, back); fault != "" {
		t.Error(fault)
	}
	s.DT, s.Wavelet.DT = 0.0000005, 0.0000005
	if _, _, err := thereAndBack(t.TempDir(), s, "a.su", ExportOptions{Kind: segy.SU, Line: NoLine()}, DefaultOptions()); err == nil ||
		!strings.Contains(err.Error(), "sampling interval is 0.5 µs") {
		t.Errorf("error %v", err)
	}
}

// Shots that are scattered over the survey come out one behind the other.
func TestShotGathers(t *testing.T) {
	s := smallSurvey()
	s.Sources[2], s.Fixed = 50, false
	s.SourceIndex, s.ReceiverIndex = []int32{1, 0, 1, 0}, []int32{0, 0, 1, 1}
	if got := shotOrder(s); !slices.Equal(got, []int32{0, 2, 1, 3}) {
		t.Errorf("order %v", got)
	}
}

// An image's columns lie where its grid says, with their numbers and depths.
func TestGridHeaders(t *testing.T) {
	g := grid.Grid{Shape: []int{3, 2, 4}, Origin: []float64{1000, 500.5, 12.5}, Spacing: []float64{25, 12.5, 7.5}}
	v := make([]float32, g.Len())
	for i := range v {
		v[i] = float32(i)
	}
	path := filepath.Join(t.TempDir(), "a.sgy")
	done, err := ExportGrid(context.Background(), path, g, v, ExportOptions{}, progress.Discard())
	if err != nil || len(done.Lost) > 0 || done.Revision != 1 || done.Traces != 6 {
		t.Fatalf("%+v, %v", done, err)
	}
	f, err := segy.Open(path, segy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Interval != 0.0075 || f.Major != 1 || !strings.Contains(f.Text, "SAMPLES ARE DEPTHS, Z DOWN: 4 FROM 12.5 M ON, INTERVAL 7.5 M") {
		t.Errorf("interval %g, revision %d\n%s", f.Interval, f.Major, f.Text)
	}
	r, order := f.Reader(), f.ByteOrder()
	for n := range 7 {
		tr, err := r.Next(true)
		if errors.Is(err, io.EOF) && n == 6 {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		i, j := n%3, n/3
		get := func(f segy.Field) int64 { return f.Int(tr.Header, order) }
		scale := -float64(get(segy.CoordinateScalar))
		if get(segy.Inline) != int64(j+1) || get(segy.Crossline) != int64(i+1) || float64(get(segy.CDPX))/scale != g.Coord(0, i) ||
			float64(get(segy.CDPY))/scale != g.Coord(1, j) || float64(get(segy.Delay))/-float64(get(segy.TimeScalar)) != 12.5 {
			t.Errorf("trace %d: inline %d, crossline %d at %d, %d / %g", n, get(segy.Inline), get(segy.Crossline), get(segy.CDPX), get(segy.CDPY), scale)
		}
		if want := v[(i*2+j)*4 : (i*2+j+1)*4]; !slices.Equal(tr.Samples, want) {
			t.Errorf("trace %d: %v, want %v", n, tr.Samples, want)
		}
	}
}

// Gathers are ensembles of one trace a class, with its offset or angle.
func TestGathersHeaders(t *testing.T) {
	dir := t.TempDir()
	g := grid.Grid{Shape: []int{3, 4}, Origin: []float64{100, 0}, Spacing: []float64{25, 5}}
	values := make([]float32, 2*g.Len())
	for i := range values {
		values[i] = float32(i)
	}
	w, err := h5.CreateImage(filepath.Join(dir, "im.h5"), &h5.Image{Grid: g, Data: make([]float32, g.Len()),
		Gathers: &h5.Gathers{Kind: "angle", Angle: "reflection", Centers: []float64{10, 32.5}}}, h5.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.WriteGathers(values, 0), w.Commit()); err != nil {
		t.Fatal(err)
	}
	in, err := h5.OpenGathers(filepath.Join(dir, "im.h5"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	path := filepath.Join(dir, "a.sgy")
	done, err := ExportGathers(context.Background(), path, in, ExportOptions{}, progress.Discard())
	if err != nil || done.Traces != 6 || len(done.Lost) != 1 || !strings.Contains(done.Lost[0], "0.5 degrees") {
		t.Fatalf("%+v, %v", done, err)
	}
	f, err := segy.Open(path, segy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !strings.Contains(f.Text, "THE REFLECTION ANGLE IN DEGREES AT BYTE 37") {
		t.Error(f.Text)
	}
	r, order := f.Reader(), f.ByteOrder()
	for n := range 6 {
		tr, err := r.Next(true)
		if err != nil {
			t.Fatal(err)
		}
		column, class := n/2, n%2
		get := func(f segy.Field) int64 { return f.Int(tr.Header, order) }
		if get(segy.CDP) != int64(column+1) || get(segy.CDPTrace) != int64(class+1) || get(segy.Offset) != []int64{10, 33}[class] {
			t.Errorf("trace %d: ensemble %d, its trace %d, offset %d", n, get(segy.CDP), get(segy.CDPTrace), get(segy.Offset))
		}
		if at := class*g.Len() + column*4; !slices.Equal(tr.Samples, values[at:at+4]) {
			t.Errorf("trace %d: %v, want %v", n, tr.Samples, values[at:at+4])
		}
	}
}

// A wavelet comes from a text, a survey, a trace.
func TestWavelets(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "w.txt")
	writeText(t, text, "# a spike and its echo\n0\n1 # here\n-0.5\n")
	w, err := ReadWavelet(text, 1, 0.004)
	if err != nil || !slices.Equal(w.Samples, []float64{0, 1, -0.5}) || w.Zero != 1 || w.DT != 0.004 {
		t.Errorf("%+v, %v", w, err)
	}
	trace := write(t, "w.sgy", plain, shot{sx: 1, id: 1, delay: -20, samples: wave(3, 50)})
	if w, err := ReadWavelet(trace, -1, 0.004); err != nil || w.Zero != 5 || len(w.Samples) != 50 {
		t.Errorf("%+v, %v", w, err)
	}
	if _, err := ReadWavelet(trace, -1, 0.002); err == nil || !strings.Contains(err.Error(), "the wavelet's sampling interval is 4 ms, the traces' 2 ms") {
		t.Errorf("error %v", err)
	}
	if _, err := ReadWavelet(text, 3, 0.004); err == nil || !strings.Contains(err.Error(), "is sample 3, must be in [0, 2]") {
		t.Errorf("error %v", err)
	}
	writeText(t, text, "1\ntwo\n")
	if _, err := ReadWavelet(text, -1, 0.004); err == nil || !strings.Contains(err.Error(), `line 2: "two" is no number`) {
		t.Errorf("error %v", err)
	}
}

// The spectrum's peak of Ricker traces is the Ricker's.
func TestPeakFrequency(t *testing.T) {
	v := make([]float32, 250)
	w := synth.Ricker(25, 0.004)
	for i, x := range w.Samples {
		v[80+i] = float32(x)
	}
	spec := plain
	spec.Samples = 250
	if hz := PeakFrequency(write(t, "a.sgy", spec, shot{sx: 1, id: 1, samples: v}), segy.Options{}); math.Abs(hz-25) > 2 {
		t.Errorf("peak at %g Hz, want 25", hz)
	}
}
