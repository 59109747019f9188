package modelfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// npyText is a .npy file of version 1, 2 or 3 by NEP 1 of NumPy.
func npyText(version byte, dict string, elements []byte) string {
	length := binary.LittleEndian.AppendUint16(nil, uint16(len(dict)))
	if version > 1 {
		length = binary.LittleEndian.AppendUint32(nil, uint32(len(dict)))
	}
	return npyMark + string([]byte{version, 0}) + string(length) + dict + string(elements)
}

// someNPY holds 1500, 1600, ... as float32 of shape (2, 3).
func someNPY(version byte, order binary.AppendByteOrder, fortran string) string {
	var b []byte
	for i := range 6 {
		b = order.AppendUint32(b, math.Float32bits(float32(1500+100*i)))
	}
	descr := map[bool]string{true: "<f4", false: ">f4"}[order == binary.LittleEndian]
	return npyText(version, fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (2, 3), }\n", descr, fortran), b)
}

// TestNPY reads arrays of both byte orders and both orders of elements. Files that NumPy writes are
// read by python/tests/test_import.py.
func TestNPY(t *testing.T) {
	opt := Options{Spacing: []float64{10, 5}}
	for version := byte(1); version < 4; version++ {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			for fortran, want := range map[string][]float64{
				"False": {1500, 1600, 1700, 1800, 1900, 2000}, "True": {1500, 1700, 1900, 1600, 1800, 2000},
			} {
				m := read(t, file(t, "v", someNPY(version, order, fortran)), opt)
				if fmt.Sprint(m.Values) != fmt.Sprint(want) || m.Grid.Shape[0] != 2 || m.Format != NPY {
					t.Errorf("version %d, %v, Fortran order %s: %v", version, order, fortran, m.Values)
				}
			}
		}
	}
	sound := someNPY(1, binary.LittleEndian, "False")
	for text, want := range map[string]string{
		sound[:8]:                                         "is cut short",
		sound[:40]:                                        "is cut short",
		sound[:len(sound)-1]:                              "shape [2, 3] takes 24 bytes, the file holds 23",
		sound + "x":                                       "shape [2, 3] takes 24 bytes, the file holds 25",
		strings.Replace(sound, "<f4", "<c8", 1):           "want descr of real numbers",
		strings.Replace(sound, "<f4", "<f2", 1):           "elements are f2, want floats of 4 or 8 bytes or integers",
		strings.Replace(sound, "<f4", "|O4", 1):           "want descr of real numbers",
		strings.Replace(sound, "(2, 3)", "(-2,)", 1):      "want descr of real numbers",
		strings.Replace(sound, "\x01\x00", "\x07\x00", 1): "is no NumPy array of version 1, 2 or 3",
		npyText(2, "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,)}", nil): "at most 2147483647 points",
		npyText(2, "{'descr': '<f8', 'fortran_order': False, 'shape': (99999, 99999)}", nil): "the file holds 0",
	} {
		refused(t, file(t, "v.npy", text), opt, want)
	}
}

// TestGuessedAxes doubts a guess of axes by which velocities change more sidewards than with depth.
func TestGuessedAxes(t *testing.T) {
	path := file(t, "v.npy", someNPY(1, binary.LittleEndian, "False")) // by 300 along the first axis, by 200 along the last
	doubt := "mean velocities change by 300 m/s along x and by 200 m/s along z: is x not z? (--axes)"
	says(t, read(t, path, Options{Spacing: []float64{10, 5}}).Guesses, doubt)
	for _, axes := range [][]string{{"x", "z"}, {"z", "x"}} {
		if g := read(t, path, Options{Spacing: []float64{10, 5}, Axes: axes}).Guesses; slices.Contains(g, doubt) {
			t.Errorf("axes %v are given and doubted: %q", axes, g)
		}
	}
}

// TestWhatHoldsNoModel names files that no reader takes, and says what helps.
func TestWhatHoldsNoModel(t *testing.T) {
	for text, want := range map[string][2]string{
		"%PDF-1.7":                       {"is a PDF document, which holds no model", "ask for the file"},
		"PK\x03\x04....":                 {"is a zip archive, which holds no model", "unzip "},
		"\x1f\x8b\x08....":               {"is compressed with gzip", "gunzip -c "},
		"x z v\n1 2 3\n":                 {"is a text file", "numpy.loadtxt"},
		strings.Repeat("\x01\x02", 5000): {"byte 3225", "--shape N,N[,N] says that it is raw binary"},
	} {
		_, err := Read(t.Context(), file(t, "v", text), Options{})
		if err == nil || !strings.Contains(err.Error(), want[0]) || !strings.Contains(status.HintOf(err), want[1]) {
			t.Errorf("%.10q: %v, hint %q", text, err, status.HintOf(err))
		}
	}
	_, err := Read(t.Context(), file(t, "v", someNPY(1, binary.LittleEndian, "False")), Options{Format: SEGY})
	if err == nil || status.HintOf(err) != "without --format it is read as what it is" {
		t.Errorf("%v, hint %q", err, status.HintOf(err))
	}
}
