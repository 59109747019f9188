package h5

// #include "shim.h"
import "C"

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"unsafe"

	"gonum.org/v1/hdf5"
)

// digestBlock is how many bytes are hashed at a time.
const digestBlock = 8 << 20

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Digest is the SHA-256, in hexadecimal, of a dataset's numbers in their stored
// type, little-endian and in C order, or of the bytes of a text, or of several with a
// zero byte between them. It does not depend on byte order, chunks or filters, and is what files written here
// carry as the attribute sha256.
func (f *File) Digest(name string) (string, error) {
	var sum string
	err := locked(func() error {
		if list, err := f.texts(name, mostTexts, "texts"); err == nil {
			sum = digestTexts(list)
			return nil
		}
		d, err := f.dataset(name)
		if err != nil {
			return err
		}
		h := sha256.New()
		step := max(1, digestBlock/d.typ.size)
		raw := make([]byte, min(step, d.len)*d.typ.size)
		for first := 0; first < d.len; first += step {
			n := min(step, d.len-first)
			if err := readLittle(d.set, d.shape, first, n, d.typ.size, raw); err != nil {
				return readError(f.path, name, wrapf(err, "cannot be read"))
			}
			h.Write(raw[:n*d.typ.size])
		}
		sum = hex.EncodeToString(h.Sum(nil))
		return nil
	})
	return sum, err
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

// Text reads a dataset that holds one string.
func (f *File) Text(name string) (string, error) {
	var text string
	err := locked(func() (err error) {
		text, err = f.text(name)
		return err
	})
	return text, err
}

func (f *File) text(name string) (string, error) {
	v, err := f.texts(name, 1, "one text")
	if err != nil {
		return "", err
	}
	return v[0], nil
}

// texts reads a dataset of at least one and at most so many texts.
func (f *File) texts(name string, most int64, want string) ([]string, error) {
	if !f.has(name) {
		return nil, inputError(f.path, name, "is missing (the file holds %s)", f.contents())
	}
	set, err := f.file.OpenDataset(name)
	if err != nil {
		return nil, readError(f.path, name, wrapf(libraryError(), "cannot be opened as a dataset"))
	}
	defer set.Close()
	id := C.hid_t(set.ID())
	t, err := typeOf(id, false)
	if err != nil {
		return nil, readError(f.path, name, err)
	}
	var rank C.int
	n := int64(C.lsm_h5_points(id, 0, &rank))
	if !t.isString() || n < 1 || n > most || int64(t.size) > maxText/n {
		return nil, inputError(f.path, name, "holds %d elements of type %s, want %s", n, t, want)
	}
	v, ok := texts(id, false)
	if !ok || int64(len(v)) != n {
		return nil, readError(f.path, name, wrapf(libraryError(), "cannot be read"))
	}
	return v, nil
}

// mostTexts bounds how many texts a dataset holds whose digest is computed.
const mostTexts = 1 << 16

// maxText bounds texts of fixed length, in bytes.
const maxText = 64 << 20

// attrsOf reads a text attribute of any dataset.
func (f *File) attrsOf(object, name string) (string, error) {
	var text string
	err := locked(func() error {
		set, err := f.file.OpenDataset(object)
		if err != nil {
			return readError(f.path, object, libraryError())
		}
		defer set.Close()
		v, err := Attrs{path: f.path, object: object, id: set.ID()}.read(name)
		if err != nil {
			return err
		}
		var ok bool
		if text, ok = v.(string); !ok {
			return inputError(f.path, object+"@"+name, "attribute is not one text")
		}
		return nil
	})
	return text, err
}

// Verify recomputes the digest of every dataset that carries one and returns an
// error that names the first to differ.
func (f *File) Verify() error {
	info, err := f.Describe(DescribeOptions{Digest: true})
	if err != nil {
		return err
	}
	for _, o := range info.Objects {
		if o.Digest == DigestDiffers {
			return inputError(f.path, o.Name, "differs from its sha256 attribute: changed or damaged since it was written%w", hidden{errDigest})
		}
	}
	return nil
}

var errDigest = errors.New("digest differs")
