package fielddata

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
)

// shared is a file of the data beside the project, which not every checkout has.
func shared(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "data", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the public data beside the project are not here: %v", err)
	}
	return path
}

// Real marine shots: IBM floats, lengths in the two headers that disagree,
// coordinate units that revision 0 does not have. The same data were converted by
// other means.
func TestViking(t *testing.T) {
	im := read(t, DefaultOptions(), shared(t, "viking_small.segy"))
	if im.QC.Offset != [2]float64{-3237, -262} || im.NT != 600 || im.DT != 0.004 || im.QC.Kept != 480 || im.QC.OffsetOff != 0 {
		t.Errorf("offsets %v, %d samples at %g s, %d traces, %d offsets off", im.QC.Offset, im.NT, im.DT, im.QC.Kept, im.QC.OffsetOff)
	}
	s := store(t, im)
	want, err := surveytest.Read(shared(t, "viking_survey.h5"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Sources, want.Sources) || !slices.Equal(s.Receivers, want.Receivers) {
		t.Errorf("places differ: %v and %v", s.Sources, want.Sources)
	}
	if !slices.Equal(s.SourceIndex, want.SourceIndex) || !slices.Equal(s.ReceiverIndex, want.ReceiverIndex) {
		t.Error("the traces' pairs differ")
	}
	if !slices.Equal(s.Data, want.Data) {
		t.Error("samples differ")
	}
}

// Scalars of -1000; the modelling program that wrote it keeps depths in the
// fields for elevations.
func TestJUDI(t *testing.T) {
	opt := DefaultOptions()
	for _, entry := range []string{"source_elevation=none", "source_depth=45:4", "receiver_elevation=none", "receiver_depth=41:4"} {
		if err := opt.Mapping.Set(entry); err != nil {
			t.Fatal(err)
		}
	}
	im := read(t, opt, shared(t, "judi_unit_test_shot_records_2.segy"))
	s := store(t, im)
	if !slices.Equal(s.Sources, []float64{100, 20, 1100, 20}) || s.NumReceivers() != 120 || !s.Fixed || s.NT != 501 || s.DT != 0.002 {
		t.Errorf("sources %v, %d receivers, fixed %v, %d samples at %g s", s.Sources, s.NumReceivers(), s.Fixed, s.NT, s.DT)
	}
	for i := range 120 { // 120 receivers from 50 to 1150 m, stored in mm
		if x := 50 + 1100*float64(i)/119; math.Abs(s.Receivers[2*i]-x) > 0.0006 || s.Receivers[2*i+1] != 50 {
			t.Errorf("receiver %d at %v, want x %.4f", i, s.Receiver(i), x)
		}
	}
}
