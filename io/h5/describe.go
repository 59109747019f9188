package h5

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"gonum.org/v1/hdf5"
)

// Description lists the contents of a file.
type Description struct {
	Path    string   `json:"path"`
	Bytes   int64    `json:"bytes"`
	Format  string   `json:"format,omitempty"` // root attribute format
	Kind    string   `json:"kind"`             // "survey", "model", "tables", "image", "wavelet", "checkpoint" or "unknown"
	Attrs   []Attr   `json:"attributes,omitempty"`
	Objects []Object `json:"objects"` // in order of name, groups before what they hold
}

// Object is one dataset, group or link of a file.
type Object struct {
	Name    string   `json:"name"`              // absolute
	Class   string   `json:"class"`             // "dataset", "group", "link" or "type"
	Shape   []int    `json:"shape,omitempty"`   // empty for a scalar
	Type    string   `json:"type,omitempty"`    // such as "big-endian float64"
	Chunks  []int    `json:"chunks,omitempty"`  // nil unless chunked
	Filters []string `json:"filters,omitempty"` // in the order of writing
	Stored  int64    `json:"stored_bytes,omitempty"`
	Attrs   []Attr   `json:"attributes,omitempty"`
	Min     *float64 `json:"min,omitempty"`
	Max     *float64 `json:"max,omitempty"`

	NotFinite int `json:"not_finite,omitempty"` // elements that are NaN or infinite, left out of Min and Max

	Digest string `json:"digest,omitempty"` // DigestMatches or DigestDiffers
	Fault  string `json:"fault,omitempty"`  // why it cannot be read, if it cannot

	fault error // Fault, or what Digest found
}

// The outcomes of comparing a dataset with its sha256 attribute.
const (
	DigestMatches = "matches"
	DigestDiffers = "differs"
)

// DescribeOptions ask for information that requires every element to be read.
type DescribeOptions struct {
	Range  bool // Min, Max and NotFinite
	Digest bool // Digest, where there is a sha256 attribute
}

// Describe opens a file and lists what it holds.
func Describe(path string, opt DescribeOptions) (*Description, error) {
	return reading(path, func(f *File) (*Description, error) { return f.Describe(opt) })
}

// Describe lists what the file holds. A dataset that cannot be read is listed
// with its fault.
func (f *File) Describe(opt DescribeOptions) (*Description, error) {
	info := &Description{Path: f.path, Objects: []Object{}}
	if st, err := os.Stat(f.path); err == nil {
		info.Bytes = st.Size()
	}
	info.Kind, info.Format = f.kind()
	if err := locked(func() (err error) {
		if info.Attrs, err = f.Attrs().described(); err != nil {
			return err
		}
		return f.walk(&f.file.CommonFG, "", map[C.haddr_t]bool{}, info)
	}); err != nil {
		return nil, err
	}
	for i := range info.Objects {
		f.complete(&info.Objects[i], opt)
	}
	return info, nil
}

// Kind names what a file is: "survey", "model", "tables", "image", "wavelet",
// "checkpoint", "surface" or "unknown".
func Kind(path string) (string, error) {
	return reading(path, func(f *File) (string, error) {
		kind, _ := f.kind()
		return kind, nil
	})
}

// maxObjects bounds a walk through a file, whose links may lead in circles.
const maxObjects = 10000

// private are groups in which MATLAB and Julia keep what other objects refer to, thousands of objects.
var private = []string{"/#refs#", "/#subsystem#", "/_refs", "/_types"}

// walk lists a group, without what is in private ones; seen holds the addresses of the groups above and before.
func (f *File) walk(g *hdf5.CommonFG, name string, seen map[C.haddr_t]bool, info *Description) error {
	fail := func() error { return readError(f.path, name+"/", wrapf(libraryError(), "cannot be listed")) }
	var at C.H5O_info_t // two links with one address are one object
	if C.H5Oget_info2(C.hid_t(g.ID()), &at, C.H5O_INFO_BASIC) < 0 {
		return fail()
	}
	if seen[at.addr] {
		return nil
	}
	seen[at.addr] = true
	n, err := g.NumObjects()
	if err != nil {
		return fail()
	}
	for i := range n {
		if len(info.Objects) >= maxObjects {
			return inputError(f.path, name+"/", "the file holds more than %d objects", maxObjects)
		}
		base, err := g.ObjectNameByIndex(i)
		if err != nil {
			return fail()
		}
		full := name + "/" + base
		class, _ := g.ObjectTypeByIndex(i)
		info.Objects = append(info.Objects, Object{Name: full, Class: class.String()})
		if class != hdf5.H5G_GROUP || slices.Contains(private, full) {
			continue
		}
		sub, err := g.OpenGroup(base)
		if err != nil {
			info.Objects[len(info.Objects)-1].Fault = libraryError().Error()
			continue
		}
		err = f.walk(&sub.CommonFG, full, seen, info)
		sub.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// complete fills in what is known of a dataset.
func (f *File) complete(o *Object, opt DescribeOptions) {
	if o.Class != "dataset" {
		return
	}
	var d *Dataset
	err := locked(func() error {
		set, err := f.file.OpenDataset(o.Name)
		if err != nil {
			return libraryError()
		}
		defer set.Close()
		if d, err = f.inspect(o.Name, set); err != nil {
			return err
		}
		o.Shape, o.Type, o.Stored = d.shape, d.typ.String(), int64(d.store.stored)
		o.Chunks = d.store.chunk[:min(len(d.store.chunk), len(d.shape))]
		for _, filter := range d.store.filters {
			o.Filters = append(o.Filters, filter.name)
		}
		o.Attrs, err = d.Attrs().described()
		return err
	})
	if err == nil {
		err = f.measure(o, d, opt)
	}
	if o.fault = err; err != nil && o.Digest != DigestDiffers {
		o.Fault = err.Error()
	}
}

// measure compares a dataset with its digest and finds the extremes of its numbers, as opt says.
// Texts are always compared.
func (f *File) measure(o *Object, d *Dataset, opt DescribeOptions) (err error) {
	has := slices.ContainsFunc(o.Attrs, func(a Attr) bool { return a.Name == sumAttr })
	switch {
	case d.typ.isNumber():
		if d, err = f.Dataset(o.Name); err != nil {
			return err
		}
		if !opt.Digest && !opt.Range {
			return nil
		}
		err = d.Verify()
	case d.typ.isString() && (len(o.Shape) == 0 || has):
		_, err = f.texts(o.Name, mostTexts, "texts")
	default:
		return nil
	}
	switch {
	case has && errors.Is(err, errDigest):
		o.Digest = DigestDiffers
	case has && err == nil && opt.Digest:
		o.Digest = DigestMatches
	}
	if err == nil && opt.Range && d.typ.isNumber() && d.len > 0 {
		err = o.span(d)
	}
	return err
}

// span finds the extremes, a block at a time.
func (o *Object) span(d *Dataset) error {
	lo, hi := math.Inf(1), math.Inf(-1)
	step := d.step()
	block := make([]float64, min(step, d.len))
	for first := 0; first < d.len; first += step {
		block = block[:min(step, d.len-first)]
		if err := ReadAt(d, block, first); err != nil {
			return err
		}
		for _, v := range block {
			if v-v != 0 { // NaN or infinite
				o.NotFinite++
				continue
			}
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
	}
	if lo <= hi {
		o.Min, o.Max = &lo, &hi
	}
	return nil
}

// described lists all attributes, those of other types by the type's name in
// angle brackets. The caller is inside the library.
func (a Attrs) described() ([]Attr, error) {
	all, err := a.list()
	for i, x := range all {
		if t, ok := x.Value.(otherType); ok {
			all[i].Value = fmt.Sprintf("<%s>", string(t))
		}
	}
	return all, err
}
