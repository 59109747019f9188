package h5

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
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
// For each array the digest covers a line "NAME TYPE SHAPE", followed by its bytes: little-endian,
// in C order.
const (
	sumAttr  = "sha256"
	sealAttr = "sha256_attributes"
)

var errDigest = errors.New("digest differs")

// sum is a digest, followed by what was hashed.
func sum(h hash.Hash, what ...string) string {
	return strings.Join(append([]string{hex.EncodeToString(h.Sum(nil))}, what...), " ")
}

// hashText hashes a text and says what it is.
func hashText(h hash.Hash, name, text string) string {
	what := fmt.Sprintf("text %d", len(text))
	fmt.Fprintf(h, "%s %s\n%s", name, what, text)
	return what
}

// ImageDigest is the attribute sha256 of the dataset /image with these numbers, C order:
// what a file has that holds them.
func ImageDigest(shape []int, v []float32) string {
	h := sha256.New()
	what := (&array{name: "/image", shape: shape}).head(h, kindOf[float32]())
	h.Write(littleEndian(v))
	return sum(h, what)
}

// textSum is the attribute sha256 of a text. The first version of the program wrote it bare: the
// digest of only the text.
func textSum(name, text string, bare bool) string {
	h := sha256.New()
	if bare {
		io.WriteString(h, text)
		return sum(h)
	}
	return sum(h, hashText(h, name, text))
}

// digests returns what the attribute sha256 of a dataset has to be, and what was written.
// It covers numbers, or texts with a zero byte between them, and names type and shape. It
// does not depend on byte order, chunks or filters.
func (f *File) digests(name string) (have, want string, err error) {
	if list, want, err := f.readTexts(name, mostTexts, "texts"); err == nil {
		return textSum(name, strings.Join(list, "\x00"), false), want, nil
	}
	d, err := f.Dataset(name)
	if err == nil {
		have, err = d.digest(false)
	}
	if err == nil {
		want, err = d.Attrs().sum()
	}
	return have, want, err
}

// digest is the attribute sha256 of the dataset. The first version of the program wrote it
// bare, of the stored bytes alone.
func (d *Dataset) digest(bare bool) (string, error) {
	k := d.typ.kind()
	if k.name == "" {
		return "", inputError(d.path, d.name, "holds elements of type %s, of which there are no digests", d.typ)
	}
	h := sha256.New()
	var what []string
	if !bare {
		what = append(what, d.head(h, k))
	}
	err := d.pass(h, k.stored)
	return sum(h, what...), err
}

// pass writes all elements to w in order, as numbers of type typ.
func (d *Dataset) pass(w io.Writer, typ *hdf5.Datatype) error {
	step, size := d.step(), int(typ.Size())
	raw := make([]byte, min(step, d.len)*size)
	for first := 0; first < d.len; first += step {
		n := min(step, d.len-first)
		if err := d.read(typ, first, n, unsafe.Pointer(&raw[0])); err != nil {
			return err
		}
		if _, err := w.Write(raw[:n*size]); err != nil {
			return err
		}
	}
	return nil
}

// Verify compares the numbers with the digest that was written with them, in one
// pass, the first time that it is called. A dataset without a digest, such as one
// made by other programs, passes. Reading verifies by itself, see [File.Trust].
func (d *Dataset) Verify() error { return d.verify(d.digest) }

// verify is Verify with a digest that may be known already.
func (d *Dataset) verify(digest func(bare bool) (string, error)) error {
	d.once.Do(func() {
		want, err := d.Attrs().sum()
		if err == nil {
			err = compare(d.path, d.name, want, digest)
		}
		d.fault = err
	})
	return d.fault
}

// compare returns an error if a digest was written and differs from the present one.
func compare(path, name, written string, digest func(bare bool) (string, error)) error {
	if written == "" {
		return nil
	}
	have, err := digest(!strings.Contains(written, " "))
	if err == nil && have != written {
		err = changed(path, name, have, written)
	}
	return err
}

// sum is the attribute sha256 of a dataset, "" for none.
func (a Attrs) sum() (string, error) {
	if !a.Has(sumAttr) {
		return "", nil
	}
	v, err := a.value(sumAttr)
	if err != nil {
		return "", err
	}
	text, ok := v.(string)
	if !ok || text == "" {
		return "", a.fault(sumAttr, "attribute is not one text%w", hidden{errDigest})
	}
	return text, nil
}

// changed is the error of a digest that differs. It names the former type and shape if
// they differ too.
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
		if errors.Is(o.fault, errDigest) {
			return o.fault
		}
	}
	return nil
}

// VerifyOpen compares the datasets that are open with the digests that were written with
// them, in one pass. A [SurveyReader] and [Tables] have opened all that they read.
func (f *File) VerifyOpen() error {
	var sets []*Dataset
	_ = locked(func() error { sets = slices.Collect(maps.Values(f.open)); return nil })
	slices.SortFunc(sets, func(a, b *Dataset) int { return strings.Compare(a.name, b.name) })
	for _, d := range sets {
		if err := d.Verify(); err != nil {
			return err
		}
	}
	return nil
}

// Trust says that this file's numbers have already been compared with their digests, by
// rank 0 for all ranks. Reading then no longer compares them.
func (f *File) Trust() { f.trusted = true }

// seal is the attribute sha256_attributes of an object: a digest of its name and of
// attributes, followed by their names; and by those of datasets, which it only
// names. A name with a space in it cannot be listed and is left out.
func seal(object string, attrs []Attr, datasets ...string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", object)
	var names []string
	listed := func(name string) bool {
		ok := len(strings.Fields(name)) == 1 && name != sealAttr
		if ok {
			names = append(names, name)
		}
		return ok
	}
	for _, at := range attrs {
		if !listed(at.Name) {
			continue
		}
		switch v := at.Value.(type) {
		case string:
			hashText(h, at.Name, asRead(v))
		case int:
			fmt.Fprintf(h, "%s int64 \n%s", at.Name, littleEndian([]int64{int64(v)}))
		case int64:
			fmt.Fprintf(h, "%s int64 \n%s", at.Name, littleEndian([]int64{v}))
		case float64:
			fmt.Fprintf(h, "%s float64 \n%s", at.Name, littleEndian([]float64{v}))
		case []int64:
			fmt.Fprintf(h, "%s int64 %d\n%s", at.Name, len(v), littleEndian(v))
		case []float64:
			fmt.Fprintf(h, "%s float64 %d\n%s", at.Name, len(v), littleEndian(v))
		default: // a type that this package never writes
			fmt.Fprintf(h, "%s other\n", at.Name)
		}
	}
	for _, name := range datasets {
		if listed(name) {
			fmt.Fprintf(h, "%s\n", name)
		}
	}
	return sum(h, names...)
}

// verifySeal compares an object's attributes with the digest that was written with
// them, and at the root makes sure that all datasets are there.
func (f *File) verifySeal(a Attrs) error {
	if !a.Has(sealAttr) {
		return nil
	}
	v, err := a.value(sealAttr)
	if err != nil {
		return err
	}
	object := a.object
	if object == "" {
		object = "/"
	}
	const onPurpose = "; after a change on purpose delete the attribute " + sealAttr
	text, _ := v.(string)
	var attrs []Attr
	var datasets []string
	for i, name := range strings.Fields(text) {
		switch {
		case i == 0:
		case strings.HasPrefix(name, "/"):
			if !f.Has(name) {
				return inputError(f.path, name, "is missing, it was there when the file was written%s%w", onPurpose, hidden{errDigest})
			}
			datasets = append(datasets, name)
		case !a.Has(name):
			return a.fault(name, "attribute is missing, it was there when the file was written%s%w", onPurpose, hidden{errDigest})
		default:
			v, err := a.value(name)
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
