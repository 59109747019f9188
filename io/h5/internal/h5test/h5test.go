// Package h5test makes HDF5 files that package h5 never writes: any element
// type, byte order, layout and filter, so that its readers can be tested
// against them without another program.
package h5test

// #cgo linux CFLAGS: -I/usr/include/hdf5/serial
// #cgo linux,amd64 LDFLAGS: -L/usr/lib/x86_64-linux-gnu/hdf5/serial
// #cgo linux,arm64 LDFLAGS: -L/usr/lib/aarch64-linux-gnu/hdf5/serial
// #cgo LDFLAGS: -lhdf5
// #include <hdf5.h>
// #include <stdlib.h>
// #include <string.h>
//
// static hid_t compound(void) {
//   hid_t t = H5Tcreate(H5T_COMPOUND, 8);
//   H5Tinsert(t, "r", 0, H5T_IEEE_F32LE);
//   H5Tinsert(t, "i", 4, H5T_IEEE_F32LE);
//   return t;
// }
// static hid_t boolean(void) {
//   hid_t t = H5Tenum_create(H5T_STD_I8LE);
//   signed char no = 0, yes = 1;
//   H5Tenum_insert(t, "FALSE", &no);
//   H5Tenum_insert(t, "TRUE", &yes);
//   return t;
// }
// static hid_t half(void) {
//   hid_t t = H5Tcopy(H5T_IEEE_F32LE);
//   H5Tset_fields(t, 15, 10, 5, 0, 10);
//   H5Tset_size(t, 2);
//   H5Tset_ebias(t, 15);
//   return t;
// }
// static hid_t text(size_t n, int pad, int utf8) {
//   hid_t t = H5Tcopy(H5T_C_S1);
//   H5Tset_size(t, n ? n : H5T_VARIABLE);
//   H5Tset_strpad(t, pad);
//   H5Tset_cset(t, utf8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII);
//   return t;
// }
// static hid_t make_type(const char *name) {
//   struct { const char *name; hid_t id; } known[] = {
//     {"<f4", H5T_IEEE_F32LE}, {">f4", H5T_IEEE_F32BE}, {"<f8", H5T_IEEE_F64LE}, {">f8", H5T_IEEE_F64BE},
//     {"<i1", H5T_STD_I8LE}, {"<u1", H5T_STD_U8LE}, {"<i2", H5T_STD_I16LE}, {">i2", H5T_STD_I16BE},
//     {"<u2", H5T_STD_U16LE}, {">u2", H5T_STD_U16BE}, {"<i4", H5T_STD_I32LE}, {">i4", H5T_STD_I32BE},
//     {"<u4", H5T_STD_U32LE}, {">u4", H5T_STD_U32BE}, {"<i8", H5T_STD_I64LE}, {">i8", H5T_STD_I64BE},
//     {"<u8", H5T_STD_U64LE}, {"reference", H5T_STD_REF_OBJ}, {"bitfield", H5T_STD_B8LE},
//   };
//   for (size_t i = 0; i < sizeof known / sizeof *known; i++)
//     if (!strcmp(name, known[i].name)) return H5Tcopy(known[i].id);
//   if (!strcmp(name, "<f2")) return half();
//   if (!strcmp(name, "compound")) return compound();
//   if (!strcmp(name, "enum")) return boolean();
//   if (!strcmp(name, "opaque")) return H5Tcreate(H5T_OPAQUE, 3);
//   if (!strcmp(name, "sequence")) return H5Tvlen_create(H5T_IEEE_F32LE);
//   if (!strcmp(name, "array")) { hsize_t d = 2; return H5Tarray_create2(H5T_IEEE_F32LE, 1, &d); }
//   if (!strcmp(name, "S8")) return text(8, H5T_STR_NULLPAD, 0);
//   if (!strcmp(name, "A8")) return text(8, H5T_STR_SPACEPAD, 0);
//   if (!strcmp(name, "U8")) return text(8, H5T_STR_NULLTERM, 1);
//   if (!strcmp(name, "vlen")) return text(0, H5T_STR_NULLTERM, 1);
//   return -1;
// }
// static hid_t make_space(int rank, const hsize_t *dims) {
//   if (rank < 0) return H5Screate(H5S_NULL);
//   return rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
// }
// static hid_t plist(void) { return H5Pcreate(H5P_DATASET_CREATE); }
// static hid_t create(hid_t f, const char *name, hid_t t, hid_t s, hid_t p) {
//   return H5Dcreate2(f, name, t, s, H5P_DEFAULT, p, H5P_DEFAULT);
// }
// static hid_t create_file(const char *path, size_t block, int latest) {
//   hid_t c = H5Pcreate(H5P_FILE_CREATE), a = H5Pcreate(H5P_FILE_ACCESS), f;
//   H5Pset_userblock(c, block);
//   if (latest) H5Pset_libver_bounds(a, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
//   f = H5Fcreate(path, H5F_ACC_TRUNC, c, a);
//   H5Pclose(a);
//   H5Pclose(c);
//   return f;
// }
// static herr_t make_external(hid_t p, const char *path, hsize_t bytes) { return H5Pset_external(p, path, 0, bytes); }
// static herr_t link_self(hid_t f, const char *name) { return H5Lcreate_hard(f, "/", f, name, H5P_DEFAULT, H5P_DEFAULT); }
// static herr_t link_soft(hid_t f, const char *path, const char *name) {
//   return H5Lcreate_soft(path, f, name, H5P_DEFAULT, H5P_DEFAULT);
// }
// static herr_t link_external(hid_t f, const char *file, const char *path, const char *name) {
//   return H5Lcreate_external(file, path, f, name, H5P_DEFAULT, H5P_DEFAULT);
// }
// static herr_t unknown_filter(hid_t p) { return H5Pset_filter(p, 32001, H5Z_FLAG_OPTIONAL, 0, NULL); }
import "C"

import (
	"testing"
	"unsafe"
)

// Dataset describes one dataset to make.
type Dataset struct {
	Name     string
	Type     string // as numpy writes it: "<f4", ">i2", "S8", ...; or "compound", "enum", "vlen", ...
	Shape    []int  // empty for a scalar, nil for no extent at all
	Data     []byte // in the file's type; nil writes nothing
	Chunk    []int
	Filters  []string // "shuffle", "deflate", "fletcher32", "szip", "nbit", "scaleoffset", "unknown"
	Compact  bool
	External string // path of an external raw file
	Attrs    []Attr
}

// Attr describes one attribute.
type Attr struct {
	Name  string
	Type  string
	Shape []int
	Data  []byte
	Text  string // for "vlen"
}

// File describes a file.
type File struct {
	UserBlock int
	Latest    bool     // the newest file format of the library
	Groups    []string // made first
	Attrs     []Attr   // of the root
	Datasets  []Dataset
	Loop      string // name of a hard link to the root

	External map[string][2]string // external links: file and path by name
	Soft     map[string]string    // soft links: path by name
}

// Write makes the file or fails the test.
func Write(t testing.TB, path string, f File) {
	t.Helper()
	must := func(id C.hid_t, what string) C.hid_t {
		t.Helper()
		if id < 0 {
			t.Fatalf("h5test: %s: %s failed", path, what)
		}
		return id
	}
	c := C.CString(path)
	defer C.free(unsafe.Pointer(c))
	latest := C.int(0)
	if f.Latest {
		latest = 1
	}
	file := must(C.create_file(c, C.size_t(f.UserBlock), latest), "creating the file")
	defer func() { must(C.hid_t(C.H5Fclose(file)), "closing the file") }()
	for _, g := range f.Groups {
		n := C.CString(g)
		id := must(C.H5Gcreate2(file, n, C.H5P_DEFAULT, C.H5P_DEFAULT, C.H5P_DEFAULT), g)
		C.H5Gclose(id)
		C.free(unsafe.Pointer(n))
	}
	for _, a := range f.Attrs {
		attr(must, file, a)
	}
	for _, d := range f.Datasets {
		dataset(must, file, d)
	}
	for name, to := range f.External {
		link(must, file, name, to[0], to[1])
	}
	for name, to := range f.Soft {
		link(must, file, name, "", to)
	}
	if f.Loop != "" {
		n := C.CString(f.Loop)
		defer C.free(unsafe.Pointer(n))
		must(C.hid_t(C.link_self(file, n)), "hard link")
	}
}

// link makes a soft link, or an external one where a file is named.
func link(must check, file C.hid_t, name, other, path string) {
	n, o, p := C.CString(name), C.CString(other), C.CString(path)
	defer C.free(unsafe.Pointer(n))
	defer C.free(unsafe.Pointer(o))
	defer C.free(unsafe.Pointer(p))
	if other == "" {
		must(C.hid_t(C.link_soft(file, p, n)), "soft link")
		return
	}
	must(C.hid_t(C.link_external(file, o, p, n)), "external link")
}

type check func(id C.hid_t, what string) C.hid_t

func space(must check, shape []int) C.hid_t {
	dims := make([]C.hsize_t, len(shape)+1)
	for i, n := range shape {
		dims[i] = C.hsize_t(n)
	}
	rank := C.int(len(shape))
	if shape == nil {
		rank = -1
	}
	return must(C.make_space(rank, &dims[0]), "dataspace")
}

func typeID(must check, name string) C.hid_t {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return must(C.make_type(c), "type "+name)
}

func attr(must check, loc C.hid_t, a Attr) {
	n := C.CString(a.Name)
	defer C.free(unsafe.Pointer(n))
	typ, sp := typeID(must, a.Type), space(must, a.Shape)
	id := must(C.H5Acreate2(loc, n, typ, sp, C.H5P_DEFAULT, C.H5P_DEFAULT), "attribute "+a.Name)
	switch {
	case a.Type == "vlen" && a.Shape != nil:
		text := (**C.char)(C.malloc(C.size_t(unsafe.Sizeof(uintptr(0)))))
		*text = C.CString(a.Text)
		must(C.hid_t(C.H5Awrite(id, typ, unsafe.Pointer(text))), "attribute "+a.Name)
		C.free(unsafe.Pointer(*text))
		C.free(unsafe.Pointer(text))
	case len(a.Data) > 0:
		must(C.hid_t(C.H5Awrite(id, typ, unsafe.Pointer(&a.Data[0]))), "attribute "+a.Name)
	}
	C.H5Aclose(id)
	C.H5Sclose(sp)
	C.H5Tclose(typ)
}

func dataset(must check, file C.hid_t, d Dataset) {
	n := C.CString(d.Name)
	defer C.free(unsafe.Pointer(n))
	typ, sp := typeID(must, d.Type), space(must, d.Shape)
	list := must(C.plist(), "property list")
	properties(must, list, d)
	id := must(C.create(file, n, typ, sp, list), "dataset "+d.Name)
	if len(d.Data) > 0 {
		must(C.hid_t(C.H5Dwrite(id, typ, C.H5S_ALL, C.H5S_ALL, C.H5P_DEFAULT, unsafe.Pointer(&d.Data[0]))), "writing "+d.Name)
	}
	for _, a := range d.Attrs {
		attr(must, id, a)
	}
	C.H5Dclose(id)
	C.H5Pclose(list)
	C.H5Sclose(sp)
	C.H5Tclose(typ)
}

func properties(must check, list C.hid_t, d Dataset) {
	do := func(rc C.herr_t, what string) { must(C.hid_t(rc), what) }
	if len(d.Chunk) > 0 {
		chunk := make([]C.hsize_t, len(d.Chunk))
		for i, n := range d.Chunk {
			chunk[i] = C.hsize_t(n)
		}
		do(C.H5Pset_chunk(list, C.int(len(chunk)), &chunk[0]), "chunks")
	}
	if d.Compact {
		do(C.H5Pset_layout(list, C.H5D_COMPACT), "compact layout")
	}
	if d.External != "" {
		c := C.CString(d.External)
		defer C.free(unsafe.Pointer(c))
		do(C.make_external(list, c, C.hsize_t(len(d.Data))), "external file")
	}
	for _, f := range d.Filters {
		switch f {
		case "shuffle":
			do(C.H5Pset_shuffle(list), f)
		case "deflate":
			do(C.H5Pset_deflate(list, 6), f)
		case "fletcher32":
			do(C.H5Pset_fletcher32(list), f)
		case "szip":
			do(C.H5Pset_szip(list, C.H5_SZIP_NN_OPTION_MASK, 4), f)
		case "nbit":
			do(C.H5Pset_nbit(list), f)
		case "scaleoffset":
			do(C.H5Pset_scaleoffset(list, C.H5Z_SO_INT, 0), f)
		case "unknown":
			do(C.unknown_filter(list), f)
		default:
			panic("h5test: no filter " + f)
		}
	}
}
