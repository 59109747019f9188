package modelfile

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// ncFile builds a classic file by hand: one variable v [records, 2, 3] of int16, packed, among
// another of the same records, and coordinates of its axes.
type ncFile struct {
	b         []byte
	version   int
	unlimited string // name of the unlimited dimension
}

func (f *ncFile) int(v ...int32) {
	for _, x := range v {
		f.b = binary.BigEndian.AppendUint32(f.b, uint32(x))
	}
}

func (f *ncFile) size(v ...int) {
	for _, x := range v {
		if f.version == 5 {
			f.b = binary.BigEndian.AppendUint64(f.b, uint64(x))
		} else {
			f.int(int32(x))
		}
	}
}

func (f *ncFile) text(s string) {
	f.size(len(s))
	f.b = append(append(f.b, s...), make([]byte, -len(s)&3)...)
}

func (f *ncFile) variable(name string, dims []int, units string, typ, begin int, attrs map[string]float32) {
	f.text(name)
	f.size(len(dims))
	f.size(dims...)
	f.int(tagAttributes)
	f.size(1 + len(attrs))
	f.text("units")
	f.int(ncChar)
	f.text(units)
	for _, key := range []string{"scale_factor", "add_offset", "missing_value"} {
		if v, ok := attrs[key]; ok {
			f.text(key)
			f.int(5)
			f.size(1)
			f.int(int32(math.Float32bits(v)))
		}
	}
	f.int(int32(typ))
	f.size(0)
	if f.version > 1 {
		f.b = binary.BigEndian.AppendUint64(f.b, uint64(begin))
	} else {
		f.int(int32(begin))
	}
}

// header is that of the file, whose values begin at a byte.
func (f *ncFile) header(records, begin int) {
	f.b = append(f.b[:0], 'C', 'D', 'F', byte(f.version))
	f.size(records)
	f.int(tagDimensions)
	f.size(3)
	for _, d := range []struct {
		name string
		n    int
	}{{f.unlimited, 0}, {"depth", 2}, {"x", 3}} {
		f.text(d.name)
		f.size(d.n)
	}
	f.int(0)
	f.size(0)
	f.int(tagVariables)
	f.size(4)
	f.variable("depth", []int{1}, "km", 6, begin, nil)
	f.variable("x", []int{2}, "m", 5, begin+16, nil)
	f.variable("vp", []int{0, 1, 2}, "km/s", 3, begin+28, map[string]float32{"scale_factor": 0.5, "add_offset": 1, "missing_value": -1})
	f.variable("other", []int{0}, "", 1, begin+28+12, nil)
}

func packedFile(version int) []byte { return packedRecords(version, "time", 1) }

// packedRecords is a file of so many records, of which each value is 1 more than that before.
func packedRecords(version int, unlimited string, records int) []byte {
	f := &ncFile{version: version, unlimited: unlimited}
	f.header(records, 0)
	f.header(records, len(f.b))
	for _, v := range []float64{0.1, 0.2} {
		f.b = binary.BigEndian.AppendUint64(f.b, math.Float64bits(v))
	}
	for _, v := range []float32{30, 20, 10} {
		f.int(int32(math.Float32bits(v)))
	}
	for r := range records {
		for i := range 6 {
			f.b = binary.BigEndian.AppendUint16(f.b, uint16(1+6*r+i))
		}
		f.b = append(f.b, 7, 0, 0, 0)
	}
	return f.b
}

// Records, packed values, coordinates that fall, and axes of one point are read.
func TestNetCDF(t *testing.T) {
	want := grid.Grid{Origin: []float64{10, 100}, Spacing: []float64{10, 100}, Shape: []int{3, 2}}
	for _, version := range []int{1, 2, 5} {
		m := read(t, file(t, "v.nc", string(packedFile(version))), Options{})
		if !m.Grid.Equal(want) || m.Values[0] != 2500 || m.Values[1] != 4000 || m.Values[4] != 1500 || !m.Wide {
			t.Errorf("CDF-%d: %s, %v", version, m.Grid.Extent(), m.Values)
		}
		says(t, m.Notes, "x falls in the file and is turned round")
		says(t, m.Notes, "unpacked by scale_factor 0.5 and add_offset 1")
	}
	m := read(t, file(t, "v.nc", string(packedRecords(2, "y", 2))), Options{Spacing: []float64{10, 5, 100}})
	if m.Grid.Shape[1] != 2 || m.Values[0*4+0*2+0] != 2500 || m.Values[0*4+1*2+0] != 5500 || m.Values[0*4+1*2+1] != 7000 {
		t.Errorf("two records: %v, %v", m.Grid.Shape, m.Values)
	}
	up := Axis{N: 2}
	if err := (&Source{}).regular(&up, "z", []float64{-5, 0}, "km", "up"); err != nil || up.Origin != 5 || up.Spacing != -5 {
		t.Errorf("an axis that is positive up becomes %v, %v", up, err)
	}
	b := packedFile(1)
	copy(b[len(b)-8:], []byte{0xff, 0xff})
	refused(t, file(t, "v.nc", string(b)), Options{}, "is NaN at (20, 200 m)")
	refused(t, file(t, "v.nc", string(packedFile(1)[:len(b)-6])), Options{}, "is cut short")
	b = packedFile(1)
	binary.BigEndian.PutUint32(b[len(b)-4-12-12:], math.Float32bits(31.5))
	refused(t, file(t, "v.nc", string(b)), Options{}, "coordinates of x are not evenly spaced: number 2 is 20, want 20.75")
}

// Sizes of a header are compared with the file before anything is allocated.
func TestHugeNetCDF(t *testing.T) {
	for says, change := range map[string]func(f *ncFile){
		"records of 16 bytes, the file holds":              func(f *ncFile) { f.header(1<<30, 0) },
		"NetCDF header: number of dimensions is 268435456": func(f *ncFile) { f.b = f.b[:8]; f.int(tagDimensions, 1<<28) },
		"a record of variable \"vp\" is larger than":       func(f *ncFile) { f.large(1 << 40) },
	} {
		f := &ncFile{version: 5, unlimited: "time"}
		if says[0] == 'N' {
			f.version = 1
		}
		f.header(1, 0)
		change(f)
		refused(t, file(t, "v.nc", string(f.b)), Options{Dataset: "vp"}, says)
	}
}

// large gives the dimension x more points.
func (f *ncFile) large(n uint64) {
	for i := range f.b {
		if string(f.b[i:i+4]) == "x\x00\x00\x00" {
			binary.BigEndian.PutUint64(f.b[i+4:], n)
			return
		}
	}
}
