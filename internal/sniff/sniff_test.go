package sniff

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHead tells files by how the specifications of their formats say that they begin.
func TestHead(t *testing.T) {
	block := func(size int, begin string) string {
		return begin + strings.Repeat("\x00", size-len(begin)) + Signature
	}
	npz := "PK\x03\x04" + strings.Repeat("\x00", 22) + "\x06\x00\x00\x00vp.npy\x93NUMPY"
	for begin, want := range map[string]Kind{
		"":                                   Unknown,
		"\x00\x01\x02":                       Unknown,
		Signature:                            HDF5,
		block(512, "Julia data file (HDF5)"): HDF5,
		block(2048, ""):                      HDF5,
		block(512, "MATLAB 7.3 MAT-file"):    MAT73,
		"MATLAB 5.0 MAT-file":                MAT5,
		"CDF\x05":                            NetCDF,
		"\x93NUMPY\x01\x00":                  NPY,
		npz:                                  NPZ,
		"PK\x03\x04" + strings.Repeat("\x00", 26): Zip,
		"PK\x03\x04\xff":       Zip,
		"n1=5 in=\"a.rsf@\"\n": RSF,
		"n1=5\ndata_format=native_float\x0c\x0c\x04\x00\x00": RSF,
		"n1=5 in=\x00":                          Unknown,
		"# vtk DataFile Version 3.0\n":          VTK,
		"<?xml version=\"1.0\"?>\n<VTKFile":     VTK,
		"<VTKFile type=\"ImageData\">_\x00\xff": VTK,
		"<?xml version=\"1.0\"?>\n<x/>":         Text,
		"II+\x00":                               TIFF,
		"C 1 CLIENT":                            SEGY,
		"\xc3\x40\xf1":                          SEGY,
		"\x3a\x55\x00\x01":                      SEG2,
		"%PDF-1.4":                              PDF,
		strings.Repeat("ü", 3000):               Text, // cut inside a character
		"words\n" + strings.Repeat(" ", 4000):   Text,
	} {
		if kind := Head([]byte(begin)[:min(len(begin), headBytes)]); kind != want {
			t.Errorf("%.30q is taken for %q, want %q", begin, kind, want)
		}
	}
}

// TestPath looks behind the head of a file, and into folders.
func TestPath(t *testing.T) {
	folder := t.TempDir()
	for name, c := range map[string]struct {
		text string
		want Kind
	}{
		"block.h5":      {strings.Repeat("\x00", 8192) + Signature, HDF5},
		"none.h5":       {strings.Repeat("\x00", 8191) + Signature, Unknown},
		"v2/.zgroup":    {`{"zarr_format": 2}`, Zarr},
		"v2a/.zarray":   {`{"zarr_format": 2}`, Zarr},
		"v3/zarr.json":  {`{"attributes": {"apiVersion": "1"}}`, Zarr},
		"m/zarr.json":   {`{"attributes": {"apiVersion": "1.0.0", "createdOn": "2025"}}`, MDIO},
		"bad/zarr.json": {`{"attributes": [`, Zarr},
		"other/a.txt":   {"", Unknown},
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(name) != "." {
			path = filepath.Dir(path)
		}
		if kind, err := Path(path); kind != c.want || err != nil {
			t.Errorf("%s is taken for %q, %v, want %q", name, kind, err, c.want)
		}
	}
	if _, err := Path(filepath.Join(folder, "nothing")); !os.IsNotExist(err) {
		t.Errorf("error %v", err)
	}
}

// TestHints wants a way that works for every kind, with the name of the file where it is named.
func TestHints(t *testing.T) {
	kinds := []Kind{SEGY, SU, HDF5, MAT73, MAT5, NetCDF, RSF, NPY, NPZ, TIFF, VTK, Zarr, MDIO, SEG2, SEGD, Text, PNG, JPEG, PDF, Zip, Gzip, Bzip2, XZ, Zstd}
	for _, k := range kinds {
		if hint := k.Hint("a b"); hint == "" || strings.Contains(hint, "FILE") {
			t.Errorf("%s: hint %q", k, hint)
		}
	}
	if len(hints) != len(kinds) || Unknown.Hint("a") != "" {
		t.Errorf("%d hints, want %d", len(hints), len(kinds))
	}
}
