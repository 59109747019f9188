package h5

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/io/h5/internal/h5test"
)

// rawDataset describes one dataset to make.
type rawDataset struct {
	Name     string
	Type     string // as numpy writes it: "<f4", ">i2", "S8", ...; or "compound", "enum", "vlen", ...
	Shape    []int  // empty for a scalar, nil for no extent at all
	Data     []byte // in the file's type; nil writes nothing
	Chunk    []int
	Filters  []string // "shuffle", "deflate", "fletcher32", "szip", "nbit", "scaleoffset", "unknown"
	Compact  bool
	External string // path of an external raw file
	Attrs    []rawAttr
}

// rawAttr describes one attribute.
type rawAttr struct {
	Name  string
	Type  string
	Shape []int
	Data  []byte
	Text  string // for "vlen"
}

// rawFile describes a file.
type rawFile struct {
	UserBlock int
	Latest    bool     // the newest file format of the library
	Groups    []string // made first
	Attrs     []rawAttr
	Datasets  []rawDataset
	Loop      string // name of a hard link to the root

	External map[string][2]string // external links: file and path by name
	Soft     map[string]string    // soft links: path by name
}

// writeRaw makes the file or fails the test.
func writeRaw(t testing.TB, path string, f rawFile) {
	t.Helper()
	must := func(id int64, what string) int64 {
		t.Helper()
		if id < 0 {
			t.Fatalf("%s: %s failed", path, what)
		}
		return id
	}
	file := must(h5test.File(path, f.UserBlock, f.Latest), "creating the file")
	defer func() { must(h5test.Close(file), "closing the file") }()
	attrs := func(loc int64, list []rawAttr) {
		for _, a := range list {
			must(h5test.Create(loc, true, a.Name, a.Type, a.Shape, 0, a.Data, a.Text), "attribute "+a.Name)
		}
	}
	for _, g := range f.Groups {
		must(h5test.Group(file, g), g)
	}
	attrs(file, f.Attrs)
	for _, d := range f.Datasets {
		settings := d.Filters
		if d.Compact {
			settings = append(settings, "compact")
		}
		if d.External != "" {
			settings = append(settings, "external")
		}
		list := must(h5test.Properties(d.Chunk, settings, d.External, len(d.Data)), "properties")
		attrs(must(h5test.Create(file, false, d.Name, d.Type, d.Shape, list, d.Data, ""), "dataset "+d.Name), d.Attrs)
	}
	for name, to := range f.External {
		must(h5test.Link(file, name, to[0], to[1]), "external link")
	}
	for name, to := range f.Soft {
		must(h5test.Link(file, name, "", to), "soft link")
	}
	if f.Loop != "" {
		must(h5test.Link(file, f.Loop, "", ""), "hard link")
	}
}
