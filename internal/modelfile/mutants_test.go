package modelfile

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// mostBytes is what a reader of a damaged file of some KiB may allocate in all.
const mostBytes = 256 << 20

// TestMutants reads files to which seeded damage was done, 100 of each format. Whatever the
// damage, there is a model or an error with its status, and little memory is taken. HDF5 files
// are in cmd/lsm, since damage may crash the library.
func TestMutants(t *testing.T) {
	folder := t.TempDir()
	a := someModel(grids()["3-D"], false)
	sound := map[string]Options{}
	for _, format := range []ExportOptions{{Format: RSF}, {Format: Raw}, {Format: NetCDF}, {Format: NetCDF, Type: "float64"}} {
		name := fmt.Sprintf("m%d.%s", len(sound), map[Format]string{RSF: "rsf", Raw: "bin", NetCDF: "nc"}[format.Format])
		if _, err := Export(filepath.Join(folder, name), a, format); err != nil {
			t.Fatal(err)
		}
		sound[name] = Options{}
	}
	sound["m1.bin"] = Options{Shape: a.Grid.Shape, Spacing: a.Grid.Spacing}
	for name, text := range map[string]string{
		"packed.nc": string(packedFile(1)), "cdf5.nc": string(packedFile(5)),
		"c.npy": someNPY(1, binary.LittleEndian, "False"), "f.npy": someNPY(2, binary.BigEndian, "True"),
		"ascii.rsf": "n1=2 n2=2 d1=200 d2=200 data_format=ascii_float in=stdin\n" + packed + "1500 1600 1700 1800\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sound[name] = Options{}
		if strings.HasSuffix(name, ".npy") {
			sound[name] = Options{Spacing: []float64{10, 5}}
		}
	}
	for name, kind := range map[string]segy.Kind{"m.sgy": segy.SEGY, "m.su": segy.SU, "s.sgy": segy.SEGY, "s.su": segy.SU} {
		toTraces(t, filepath.Join(folder, name), a, kind)
		sound[name] = Options{LengthUnits: "m", Salvage: name[0] == 's'}
	}
	for name, opt := range sound {
		t.Run(name, func(t *testing.T) {
			read(t, filepath.Join(folder, name), opt)
			b, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			done, refused := 0, 0
			for i := range 100 {
				bad, how := damage(rand.New(rand.NewPCG(1995, uint64(i))), slices.Clone(b))
				if survives(t, filepath.Join(t.TempDir(), name), bad, how, opt) {
					done++
				} else {
					refused++
				}
			}
			t.Logf("%d read, %d refused", done, refused)
			if refused == 0 {
				t.Error("the damage is too small to tell anything")
			}
		})
	}
}

// survives reads a damaged file and reports whether it made a model.
func survives(t *testing.T, path string, b []byte, how string, opt Options) bool {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if fault := recover(); fault != nil {
			t.Fatalf("%s: panic: %v", how, fault)
		}
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, err := Read(t.Context(), path, opt)
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > mostBytes {
		t.Errorf("%s: %d bytes were allocated for a file of %d", how, taken, len(b))
	}
	if err != nil {
		if code := status.Code(err); code != status.BadInput && code != status.BadUsage && code != status.NoResource {
			t.Errorf("%s: status %d: %v", how, code, err)
		}
		return false
	}
	if m.Grid.Validate() != nil || len(m.Values) != m.Grid.Len() {
		t.Errorf("%s: a model of %s with %d values", how, m.Grid, len(m.Values))
	}
	return true
}

// damage changes bytes of a file, most of them in its beginning, or cuts it, or makes it longer.
func damage(r *rand.Rand, b []byte) ([]byte, string) {
	head := min(len(b), 640)
	if len(b) > 3600 && r.IntN(2) == 0 { // of SEG-Y
		head = 3900
	}
	how := ""
	for range 1 + r.IntN(3) {
		at := r.IntN(max(1, min(head, len(b)-4)))
		how += fmt.Sprintf(" byte %d", at)
		switch r.IntN(6) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			copy(b[at:], [][]byte{{0xff, 0xff, 0xff, 0xff}, {0x7f, 0xff, 0xff, 0xff}, {0, 0, 0, 0}, {0x80, 0, 0, 0}, {0, 0, 0, 1}}[r.IntN(5)])
		case 2:
			copy(b[at:], "9999999999"[:min(10, len(b)-at)])
		case 3:
			b = b[:max(8, r.IntN(len(b)))]
			how += " cut"
		case 4:
			b = slices.Delete(b, at, min(len(b), at+1+r.IntN(64)))
			how += " deleted"
		default:
			b = slices.Insert(b, at, make([]byte, 1+r.IntN(64))...)
			how += " inserted"
		}
		if len(b) < 16 {
			break
		}
	}
	return b, how
}
