package h5

// #include "shim.h"
import "C"

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"gonum.org/v1/hdf5"
)

var errDigest = errors.New("digest differs")

// Verify compares the numbers with the digest that was written with them, in one
// pass, the first time that it is called. A dataset without a digest, such as one
// made by other programs, passes. Reading verifies by itself, see [File.Trust].
func (d *Dataset) Verify() error { return d.verify(nil) }

// verify is Verify; read, if not nil, is the digest of the numbers where they have
// been read already as they are stored, else "".
func (d *Dataset) verify(read func() string) error {
	d.once.Do(func() {
		d.fault = locked(func() error {
			want, err := d.sum()
			if want == "" || err != nil {
				return err
			}
			have := ""
			if read != nil {
				have = read()
			}
			switch {
			case !strings.Contains(want, " "):
				have, err = d.bareDigest()
			case have == "":
				have, err = d.digest()
			}
			if err == nil && have != want {
				err = changed(d.path, d.name, have, want)
			}
			return err
		})
	})
	return d.fault
}

// sum is the dataset's attribute sha256, "" where there is none.
func (d *Dataset) sum() (string, error) { return d.Attrs().sum() }

func (a Attrs) sum() (string, error) {
	if !a.has(sumAttr) {
		return "", nil
	}
	v, err := a.read(sumAttr)
	if err != nil {
		return "", err
	}
	text, ok := v.(string)
	if !ok || text == "" {
		return "", inputError(a.path, a.key(sumAttr), "attribute is not one text%w", hidden{errDigest})
	}
	return text, nil
}

// changed says of what kind a dataset was if it is of another one now.
func changed(path, name, have, want string) error {
	was := ""
	_, now, _ := strings.Cut(have, " ")
	if _, text, ok := strings.Cut(want, " "); ok && text != now {
		was = fmt.Sprintf(" (of %s, is %s)", text, now)
	}
	return inputError(path, name, "differs from its sha256 attribute%s: changed or damaged since it was written; after a change on purpose delete that attribute%w", was, hidden{errDigest})
}

// Verify compares every dataset and attribute that has a digest and returns an
// error that names the first to differ.
func (f *File) Verify() error {
	info, err := f.Describe(DescribeOptions{Digest: true})
	if err != nil {
		return err
	}
	for _, o := range info.Objects {
		if o.fault != nil && errors.Is(o.fault, errDigest) {
			return o.fault
		}
	}
	return nil
}

// Trust says that this file's numbers have been compared with their digests
// elsewhere, by rank 0 for all ranks: reading compares them no more.
func (f *File) Trust() { f.trusted = true }

// seal is the attribute sha256_attributes of an object: a digest of its name and of
// attributes, followed by their names; and by those of datasets, which it only
// names. A name with a space in it cannot be listed and is left out.
func seal(object string, attrs []Attr, datasets ...string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", object)
	var names []string
	for _, at := range attrs {
		if len(strings.Fields(at.Name)) != 1 || at.Name == sealAttr {
			continue
		}
		names = append(names, at.Name)
		switch v := at.Value.(type) {
		case string:
			hashText(h, at.Name, stored(v))
		case int64:
			fmt.Fprintf(h, "%s int64 \n%s", at.Name, littleEndian([]int64{v}))
		case float64:
			fmt.Fprintf(h, "%s float64 \n%s", at.Name, littleEndian([]float64{v}))
		case []int64:
			fmt.Fprintf(h, "%s int64 %d\n%s", at.Name, len(v), littleEndian(v))
		case []float64:
			fmt.Fprintf(h, "%s float64 %d\n%s", at.Name, len(v), littleEndian(v))
		default: // what no writer of ours leaves
			fmt.Fprintf(h, "%s other\n", at.Name)
		}
	}
	for _, name := range datasets {
		if len(strings.Fields(name)) != 1 {
			continue
		}
		names = append(names, name)
		fmt.Fprintf(h, "%s\n", name)
	}
	return strings.Join(append([]string{hex.EncodeToString(h.Sum(nil))}, names...), " ")
}

// verifySeal compares an object's attributes with the digest that was written with
// them, and at the root makes sure that all datasets are there. It needs the
// library's lock.
func (f *File) verifySeal(a Attrs) error {
	if !a.has(sealAttr) {
		return nil
	}
	object := a.object
	if object == "" {
		object = "/"
	}
	v, err := a.read(sealAttr)
	if err != nil {
		return err
	}
	text, _ := v.(string)
	var attrs []Attr
	var datasets []string
	for i, name := range strings.Fields(text) {
		switch {
		case i == 0:
		case strings.HasPrefix(name, "/"):
			if !f.has(name) {
				return inputError(f.path, name, "is missing, it was there when the file was written%s%w", onPurpose, hidden{errDigest})
			}
			datasets = append(datasets, name)
		case !a.has(name):
			return inputError(f.path, a.key(name), "attribute is missing, it was there when the file was written%s%w", onPurpose, hidden{errDigest})
		default:
			v, err := a.read(name)
			if err != nil {
				return err
			}
			attrs = append(attrs, Attr{name, v})
		}
	}
	if text != seal(object, attrs, datasets...) {
		return inputError(f.path, a.object, "attributes differ from the attribute %s: changed or damaged since they were written%s%w", sealAttr, onPurpose, hidden{errDigest})
	}
	return nil
}

const onPurpose = "; after a change on purpose delete the attribute " + sealAttr

// Text reads a dataset that holds one string, and compares it with its digest where
// there is one.
func (f *File) Text(name string) (string, error) {
	var text string
	err := locked(func() (err error) {
		mind(f.path)
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

// texts reads a dataset of at least one and at most so many texts, and compares them
// with their digest where there is one.
func (f *File) texts(name string, most int64, kind string) ([]string, error) {
	list, err := f.readTexts(name, most, kind)
	if err != nil {
		return nil, err
	}
	want, err := f.attrSum(name)
	text := strings.Join(list, "\x00")
	switch {
	case want == "" || err != nil:
		return list, err
	case strings.Contains(want, " "):
		if have := textSum(name, text); have != want {
			return nil, changed(f.path, name, have, want)
		}
	default: // as the first version of the program wrote it
		if bare := sha256.Sum256([]byte(text)); hex.EncodeToString(bare[:]) != want {
			return nil, changed(f.path, name, "", want)
		}
	}
	return list, nil
}

// readTexts reads a dataset of at least one and at most so many texts.
func (f *File) readTexts(name string, most int64, want string) ([]string, error) {
	set, err := f.openSet(name)
	if err != nil {
		return nil, err
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
	if err := libraryError(); !ok && strings.Contains(err.Error(), "memory allocation failed") {
		return nil, inputError(f.path, name, "claims more memory than there is: it is damaged%w", hidden{errHuge})
	}
	if !ok || int64(len(v)) != n {
		return nil, readError(f.path, name, wrapf(libraryError(), "cannot be read"))
	}
	return v, nil
}

// mostTexts bounds how many texts a dataset holds whose digest is computed.
const mostTexts = 1 << 16

// maxText bounds texts of fixed length, in bytes.
const maxText = 64 << 20

// attrSum is the attribute sha256 of any dataset.
func (f *File) attrSum(name string) (string, error) {
	set, err := f.openSet(name)
	if err != nil {
		return "", err
	}
	defer set.Close()
	return Attrs{path: f.path, object: name, id: set.ID()}.sum()
}

// openSet opens any dataset.
func (f *File) openSet(name string) (*hdf5.Dataset, error) {
	if !f.has(name) {
		return nil, inputError(f.path, name, "is missing (the file holds %s)", f.contents())
	}
	set, err := f.file.OpenDataset(name)
	if err != nil {
		err = libraryError()
		link := f.external(name)
		if link == "" && strings.Contains(err.Error(), "link class") {
			link = "to which soft links lead"
		}
		if link != "" {
			return nil, inputError(f.path, name, "lies behind an external link, %s, and what that leads to can change unseen; copy the data into this file (h5py: copy with expand_external)", link)
		}
		return nil, readError(f.path, name, wrapf(err, "cannot be opened as a dataset"))
	}
	return set, nil
}
