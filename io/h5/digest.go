package h5

// #include "shim.h"
import "C"

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"unsafe"

	"gonum.org/v1/hdf5"
)

// Every dataset that is written here carries two digests, as docs/format.md says
// for those who want to compare them without this program:
//
//	sha256             of its numbers, with its name, type and shape
//	sha256_attributes  of its attributes; at the root also of the datasets' names
//
// What is hashed is a line "NAME TYPE SHAPE" for each array, followed by its
// bytes: little-endian, in C order.
const (
	sumAttr  = "sha256"
	sealAttr = "sha256_attributes"
)

// kindNames are the element types as NumPy calls them, in the order of the shim's
// numbers.
var kindNames = [...]string{"float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}

// kind is the shim's number of a stored type, false where memory has none like it.
func (t typeInfo) kind() (C.int, bool) {
	name := fmt.Sprintf("int%d", 8*t.size)
	switch {
	case t.isFloat():
		name = fmt.Sprintf("float%d", 8*t.size)
	case t.isInteger() && !t.signed:
		name = "u" + name
	case !t.isInteger():
		return 0, false
	}
	k := slices.Index(kindNames[:], name)
	return C.int(k), k >= 0
}

// kindAndShape says what an array is, such as "float32 20,101,1000".
func kindAndShape(kind C.int, shape []int) string {
	return kindNames[kind] + " " + strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ","), "[]")
}

// hashText adds a text to what is hashed and says what it is.
func hashText(h hash.Hash, name, text string) string {
	what := fmt.Sprintf("text %d", len(text))
	fmt.Fprintf(h, "%s %s\n%s", name, what, text)
	return what
}

// stored is a text as it reads back: a zero byte ends it, and what is not UTF-8 is
// marked.
func stored(text string) string {
	text, _, _ = strings.Cut(text, "\x00")
	return strings.ToValidUTF8(text, "\uFFFD")
}

// sum is the attribute sha256 of a dataset of the given kind.
func sum(h hash.Hash, what string) string { return hex.EncodeToString(h.Sum(nil)) + " " + what }

func textSum(name, text string) string {
	h := sha256.New()
	return sum(h, hashText(h, name, text))
}

// Digest is what the attribute sha256 of a dataset has to be: the digest of its
// numbers, or of a text, of several with a zero byte between them, followed by type and
// shape. It does not depend on byte
// order, chunks or filters.
func (f *File) Digest(name string) (string, error) {
	var out string
	err := locked(func() (err error) {
		mind(f.path)
		if list, err := f.readTexts(name, mostTexts, "texts"); err == nil {
			out = textSum(name, strings.Join(list, "\x00"))
			return nil
		}
		d, err := f.dataset(name)
		if err == nil {
			out, err = d.digest()
		}
		return err
	})
	return out, err
}

// digest needs the library's lock.
func (d *Dataset) digest() (string, error) {
	kind, ok := d.typ.kind()
	if !ok {
		return "", inputError(d.path, d.name, "holds elements of type %s, of which there are no digests", d.typ)
	}
	h := sha256.New()
	what := kindAndShape(kind, d.shape)
	fmt.Fprintf(h, "%s %s\n", d.name, what)
	err := d.pass(h, func(first, n int, raw []byte) error {
		err := d.transfer(first, n, func(mem, file C.hid_t, done int) error {
			var exception C.int
			if C.lsm_h5_read(d.id(), kind, mem, file, unsafe.Pointer(&raw[done*d.typ.size]), &exception) < 0 {
				return readError(d.path, d.name, wrapf(libraryError(), "cannot be read"))
			}
			return nil
		})
		littleBytes(raw, d.typ.size)
		return err
	})
	return sum(h, what), err
}

// bareDigest is the attribute sha256 as the first version of the program wrote it:
// of the stored bytes alone.
func (d *Dataset) bareDigest() (string, error) {
	h := sha256.New()
	err := d.pass(h, d.readRaw)
	return hex.EncodeToString(h.Sum(nil)), err
}

// readRaw reads stored elements as they are, but for their byte order.
func (d *Dataset) readRaw(first, n int, raw []byte) error {
	if err := readLittle(d.set, d.shape, first, n, d.typ.size, raw); err != nil {
		return readError(d.path, d.name, wrapf(err, "cannot be read"))
	}
	return nil
}

// pass writes all elements to w in order, as read puts them into raw.
func (d *Dataset) pass(w io.Writer, read func(first, n int, raw []byte) error) error {
	step := d.step()
	raw := make([]byte, min(step, d.len)*d.typ.size)
	for first := 0; first < d.len; first += step {
		n := min(step, d.len-first)
		if err := read(first, n, raw[:n*d.typ.size]); err != nil {
			return err
		}
		if _, err := w.Write(raw[:n*d.typ.size]); err != nil {
			return err
		}
	}
	return nil
}

// readLittle reads a flat range of stored numbers of size bytes, little-endian.
func readLittle(set *hdf5.Dataset, shape []int, first, n, size int, raw []byte) error {
	return transfer(set, shape, first, n, func(err error) error { return err },
		func(mem, file C.hid_t, done int) error {
			if C.lsm_h5_read_little(C.hid_t(set.ID()), mem, file, unsafe.Pointer(&raw[done*size])) < 0 {
				return libraryError()
			}
			return nil
		})
}
