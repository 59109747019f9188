package h5

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/survey"
)

func testSurvey() *survey.Survey {
	s := &survey.Survey{
		Dim:       2,
		Sources:   []float64{0, 0, 100, 5},
		Receivers: []float64{10, 0, 20, 0, 30, 0},
		Fixed:     true,
		NT:        4, DT: 0.004, T0: -0.1,
		Wavelet: survey.Wavelet{Samples: []float64{-0.5, 1, -0.5}, DT: 0.004, Zero: 1},
	}
	s.Data = make([]float32, s.NumTraces()*s.NT)
	for i := range s.Data {
		s.Data[i] = float32(i) - 7.25
	}
	return s
}

func TestSurveyRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.h5")
	fixed := testSurvey()
	listed := testSurvey()
	listed.Fixed = false
	listed.SourceIndex, listed.ReceiverIndex = []int32{1, 0, 1}, []int32{2, 2, 0}
	listed.Data = listed.Data[:3*listed.NT]
	bare := testSurvey()
	bare.Data = nil
	bareListed := testSurvey()
	*bareListed = *listed
	bareListed.Data = nil
	weighted, weightedListed := testSurvey(), testSurvey()
	weighted.Weight = []float32{0, 1, 2, 0.5, 0.25, 3}
	*weightedListed = *listed
	weightedListed.Weight = []float32{0, 1, 2}
	for name, s := range map[string]*survey.Survey{"fixed": fixed, "listed": listed, "bare": bare, "bare listed": bareListed,
		"weighted": weighted, "weighted, listed": weightedListed} {
		if err := WriteSurvey(path, s, WriteOptions{Force: true}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := ReadSurvey(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, s) {
			t.Errorf("%s: read %+v, wrote %+v", name, got, s)
		}
		header, has, err := ReadSurveyHeader(path)
		if err != nil || has != (s.Data != nil) {
			t.Errorf("%s: header: data %v, error %v", name, has, err)
		}
		want := *s
		want.Data = nil
		if !reflect.DeepEqual(header, &want) {
			t.Errorf("%s: header %+v, wrote %+v", name, header, s)
		}
	}
}

func testGrid() grid.Grid {
	return grid.Grid{Origin: []float64{-5, 0, 2}, Spacing: []float64{10, 12.5, 4}, Shape: []int{3, 4, 5}}
}

func TestModelRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.h5")
	g := testGrid()
	v := make([]float64, g.Len())
	for i := range v {
		v[i] = 1500 + float64(i)/3
	}
	if err := WriteModel(path, g, v, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	gotGrid, got, err := ReadModel(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(gotGrid, g) || !reflect.DeepEqual(got, v) {
		t.Errorf("read %v %v, wrote %v %v", gotGrid, got, g, v)
	}
}

func TestImageRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "i.h5")
	im := &Image{
		Grid: testGrid(), ResidualNorm: []float64{3, 2, 1}, GradientNorm: []float64{9, 4, 1},
		Agreement: []float64{0.5, 0.25},
		Config:    "[survey]\nfile = \"ü.h5\"\n",
		Attrs:     []Attr{{"commit", "abc"}, {"ranks", int64(4)}, {"seconds", 1.5}},
	}
	im.Data = make([]float32, im.Grid.Len())
	for i := range im.Data {
		im.Data[i] = float32(i) * -0.1
	}
	if err := WriteImage(path, im, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := ReadImage(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, im) {
		t.Errorf("read %+v\nwrote %+v", got, im)
	}
}

func TestTablesRoundTrip(t *testing.T) {
	for n, arrivals := range []int{0, 0, 2, 3} {
		wide := n%2 == 1
		path := filepath.Join(t.TempDir(), "t.h5")
		l := TablesLayout{Grid: testGrid(), NumSources: 3, NumReceivers: 2, Amplitude: true, Gradient: true, Arrivals: arrivals, Float64: wide}
		last := Gradient
		if arrivals > 0 {
			last = Turns
		}
		w, err := CreateTables(path, l, WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		field := func(role survey.Role, q Quantity, row int) []float64 {
			v := make([]float64, rowLen(l.Grid, q, arrivals))
			for i := range v {
				v[i] = float64(1000*int(role)+100*int(q)+10*row) + float64(i)/64 // exact in float32
			}
			return v
		}
		rows := map[survey.Role]int{survey.AtSource: 3, survey.AtReceiver: 2}
		for role, n := range rows {
			for q := Time; q <= last; q++ {
				for row := n - 1; row >= 0; row-- {
					if err := w.WriteRow(role, q, row, field(role, q, row)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		r, err := OpenTables(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if !reflect.DeepEqual(r.Grid(), l.Grid) || r.NumSources() != 3 || r.NumReceivers() != 2 || r.NumArrivals() != arrivals {
			t.Errorf("grid %v, %d sources, %d receivers, %d arrivals", r.Grid(), r.NumSources(), r.NumReceivers(), r.NumArrivals())
		}
		for role, n := range rows {
			for q := Time; q <= last; q++ {
				for row := range n {
					got := make([]float64, r.RowLen(q))
					if err := r.ReadRow(got, role, q, row); err != nil {
						t.Fatal(err)
					}
					if !reflect.DeepEqual(got, field(role, q, row)) {
						t.Errorf("%s row %d differs", tableName(role, q), row)
					}
				}
			}
		}
	}
}

// ReadSurvey reads a whole survey and validates it.
func ReadSurvey(path string) (*survey.Survey, error) {
	r, err := OpenSurvey(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := r.Survey()
	if r.HasData() {
		if s.Data, err = Read[float32](r.data); err != nil {
			return nil, err
		}
	}
	if err := s.Validate(); err != nil {
		return nil, inputError(path, "", "%w", err)
	}
	return s, nil
}
