// Package h5test makes what package h5 never writes: objects of any element type, byte
// order, layout and filter, so that its readers can be tested against them without
// another program. Tests cannot call C themselves.
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
//   H5Tset_size(t, n);
//   H5Tset_strpad(t, pad);
//   H5Tset_cset(t, utf8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII);
//   return t;
// }
// static hid_t make_type(const char *name) {
//   hsize_t two = 2;
//   struct { const char *name; hid_t id; } known[] = {
//     {"<f4", H5T_IEEE_F32LE}, {">f4", H5T_IEEE_F32BE}, {"<f8", H5T_IEEE_F64LE}, {">f8", H5T_IEEE_F64BE},
//     {"<i1", H5T_STD_I8LE}, {"<u1", H5T_STD_U8LE}, {"<i2", H5T_STD_I16LE}, {">i2", H5T_STD_I16BE},
//     {"<u2", H5T_STD_U16LE}, {">u2", H5T_STD_U16BE}, {"<i4", H5T_STD_I32LE}, {">i4", H5T_STD_I32BE},
//     {"<u4", H5T_STD_U32LE}, {">u4", H5T_STD_U32BE}, {"<i8", H5T_STD_I64LE}, {">i8", H5T_STD_I64BE},
//     {"<u8", H5T_STD_U64LE}, {"reference", H5T_STD_REF_OBJ}, {"bitfield", H5T_STD_B8LE}, {"<f2", half()},
//     {"compound", compound()}, {"enum", boolean()}, {"opaque", H5Tcreate(H5T_OPAQUE, 3)},
//     {"sequence", H5Tvlen_create(H5T_IEEE_F32LE)}, {"array", H5Tarray_create2(H5T_IEEE_F32LE, 1, &two)},
//     {"S8", text(8, H5T_STR_NULLPAD, 0)}, {"A8", text(8, H5T_STR_SPACEPAD, 0)},
//     {"U8", text(8, H5T_STR_NULLTERM, 1)}, {"vlen", text(H5T_VARIABLE, H5T_STR_NULLTERM, 1)},
//   };
//   for (size_t i = 0; i < sizeof known / sizeof *known; i++)
//     if (!strcmp(name, known[i].name)) return known[i].id;
//   return -1;
// }
// static hid_t create_file(const char *path, size_t block, int latest) {
//   hid_t c = H5Pcreate(H5P_FILE_CREATE), a = H5Pcreate(H5P_FILE_ACCESS);
//   H5Pset_userblock(c, block);
//   H5Pset_fclose_degree(a, H5F_CLOSE_STRONG); // with all that is open in it
//   if (latest) H5Pset_libver_bounds(a, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
//   return H5Fcreate(path, H5F_ACC_TRUNC, c, a);
// } static hid_t create(hid_t loc, int attribute, const char *name, const char *type, int
// rank, const hsize_t *dims, hid_t list, const void *data, const char *value) {
//   hid_t t = make_type(type), id;
//   hid_t s = rank < 0 ? H5Screate(H5S_NULL) : rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
//   if (value) data = &value;
//   if (attribute) {
//     id = H5Acreate2(loc, name, t, s, H5P_DEFAULT, H5P_DEFAULT);
//     if (data && H5Awrite(id, t, data) < 0) return -1;
//     return H5Aclose(id);
//   }
//   id = H5Dcreate2(loc, name, t, s, H5P_DEFAULT, list, H5P_DEFAULT);
//   if (data && H5Dwrite(id, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) return -1;
//   return id;
// }
// static hid_t plist(void) { return H5Pcreate(H5P_DATASET_CREATE); }
// static int set(hid_t p, const char *what, const char *path, hsize_t bytes) {
//   if (!strcmp(what, "compact")) return H5Pset_layout(p, H5D_COMPACT);
//   if (!strcmp(what, "external")) return H5Pset_external(p, path, 0, bytes);
//   if (!strcmp(what, "shuffle")) return H5Pset_shuffle(p);
//   if (!strcmp(what, "deflate")) return H5Pset_deflate(p, 6);
//   if (!strcmp(what, "fletcher32")) return H5Pset_fletcher32(p);
//   if (!strcmp(what, "szip")) return H5Pset_szip(p, H5_SZIP_NN_OPTION_MASK, 4);
//   if (!strcmp(what, "nbit")) return H5Pset_nbit(p);
//   if (!strcmp(what, "scaleoffset")) return H5Pset_scaleoffset(p, H5Z_SO_INT, 0);
//   return strcmp(what, "unknown") ? -1 : H5Pset_filter(p, 32001, H5Z_FLAG_OPTIONAL, 0, NULL);
// }
import "C"

import "unsafe"

// name is a text for one call, ended by a zero byte.
func name(s string) *C.char { return (*C.char)(unsafe.Pointer(unsafe.StringData(s + "\x00"))) }

// File makes a file with a user block, perhaps in the library's newest format. Numbers of
// objects are negative for errors.
func File(path string, userBlock int, latest bool) int64 {
	newest := C.int(0)
	if latest {
		newest = 1
	}
	return int64(C.create_file(name(path), C.size_t(userBlock), newest))
}

// Close closes a file and what is open in it.
func Close(file int64) int64 { return int64(C.H5Fclose(C.hid_t(file))) }

// Group makes a group.
func Group(file int64, path string) int64 {
	return int64(C.H5Gclose(C.H5Gcreate2(C.hid_t(file), name(path), C.H5P_DEFAULT, C.H5P_DEFAULT, C.H5P_DEFAULT)))
}

// Link makes a hard link to the root, a soft link to a path, or an external one where a
// file is named too.
func Link(file int64, link, other, path string) int64 {
	switch f := C.hid_t(file); {
	case path == "":
		return int64(C.H5Lcreate_hard(f, name("/"), f, name(link), C.H5P_DEFAULT, C.H5P_DEFAULT))
	case other == "":
		return int64(C.H5Lcreate_soft(name(path), f, name(link), C.H5P_DEFAULT, C.H5P_DEFAULT))
	default:
		return int64(C.H5Lcreate_external(name(other), name(path), f, name(link), C.H5P_DEFAULT, C.H5P_DEFAULT))
	}
}

// Properties returns the properties of a dataset for Create: chunks, and settings such as
// "shuffle", "compact", or "external" in a file of the given number of bytes.
func Properties(chunk []int, settings []string, external string, bytes int) int64 {
	list := C.plist()
	if len(chunk) > 0 {
		dims := extent(chunk)
		C.H5Pset_chunk(list, C.int(len(chunk)), &dims[0])
	}
	for _, what := range settings {
		if C.set(list, name(what), name(external), C.hsize_t(bytes)) < 0 {
			return -1
		}
	}
	return int64(list)
}

// Create makes an attribute, or a dataset with properties, which stays open. Shape nil means a null
// dataspace, without any extent. The type is as NumPy writes it, or a name as in make_type; data
// are in it, and text is the data of a "vlen".
func Create(loc int64, attribute bool, path, typ string, shape []int, properties int64, data []byte, text string) int64 {
	kind, rank, dims := C.int(0), C.int(len(shape)), extent(shape)
	if attribute {
		kind = 1
	}
	if shape == nil {
		rank = -1
	}
	var value *C.char
	if typ == "vlen" && shape != nil {
		value = C.CString(text)
	}
	return int64(C.create(C.hid_t(loc), kind, name(path), name(typ), rank, &dims[0], C.hid_t(properties), unsafe.Pointer(unsafe.SliceData(data)), value))
}

func extent(shape []int) []C.hsize_t {
	dims := make([]C.hsize_t, len(shape)+1)
	for i, n := range shape {
		dims[i] = C.hsize_t(n)
	}
	return dims
}
