#include "shim.h"

#include <string.h>

// At exit the library would try once more to complete files that it could not,
// and fault after a full disk. Go's own exit runs no such handlers; exits
// through C, as MPI's or the race detector's, must not either. It has to be said
// before the library starts, which gonum does while Go initialises.
__attribute__((constructor)) static void leave_at_exit(void) { H5dont_atexit(); }

// Automatic printing of errors is a setting of the calling OS thread.
void lsm_h5_quiet(void) { H5Eset_auto2(H5E_DEFAULT, NULL, NULL); }

// Every call of the library clears this thread's error stack: cleaning up must
// not lose why a call before it failed.
static void done(herr_t (*close)(hid_t), hid_t id) {
	hid_t stack;
	if (id < 0)
		return;
	stack = H5Eget_current_stack();
	close(id);
	H5Eset_current_stack(stack);
}

typedef struct {
	char *buf;
	size_t size, used;
} text;

static herr_t collect(unsigned n, const H5E_error2_t *e, void *p) {
	text *t = p;
	size_t len = strlen(e->desc);
	(void)n;
	if (t->used + len + 1 < t->size) {
		memcpy(t->buf + t->used, e->desc, len);
		t->used += len;
		t->buf[t->used++] = '\n';
	}
	return 0;
}

// The descriptions on this thread's error stack, one a line, deepest first.
size_t lsm_h5_stack(char *buf, size_t size) {
	text t = {buf, size, 0};
	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &t);
	return t.used;
}

static hid_t native(int kind) {
	switch (kind) {
	case LSM_F32: return H5T_NATIVE_FLOAT;
	case LSM_F64: return H5T_NATIVE_DOUBLE;
	case LSM_I8: return H5T_NATIVE_INT8;
	case LSM_I16: return H5T_NATIVE_INT16;
	case LSM_I32: return H5T_NATIVE_INT32;
	case LSM_I64: return H5T_NATIVE_INT64;
	case LSM_U8: return H5T_NATIVE_UINT8;
	case LSM_U16: return H5T_NATIVE_UINT16;
	case LSM_U32: return H5T_NATIVE_UINT32;
	case LSM_U64: return H5T_NATIVE_UINT64;
	}
	return -1;
}

// What is stored is little-endian on every machine.
static hid_t little(int kind) {
	switch (kind) {
	case LSM_F32: return H5T_IEEE_F32LE;
	case LSM_F64: return H5T_IEEE_F64LE;
	case LSM_I8: return H5T_STD_I8LE;
	case LSM_I16: return H5T_STD_I16LE;
	case LSM_I32: return H5T_STD_I32LE;
	case LSM_I64: return H5T_STD_I64LE;
	case LSM_U8: return H5T_STD_U8LE;
	case LSM_U16: return H5T_STD_U16LE;
	case LSM_U32: return H5T_STD_U32LE;
	case LSM_U64: return H5T_STD_U64LE;
	}
	return -1;
}

static hid_t get_type(hid_t obj, int attribute) {
	return attribute ? H5Aget_type(obj) : H5Dget_type(obj);
}

static hid_t get_space(hid_t obj, int attribute) {
	return attribute ? H5Aget_space(obj) : H5Dget_space(obj);
}

int lsm_h5_type_of(hid_t obj, int attribute, lsm_h5_type *out) {
	hid_t t = get_type(obj, attribute);
	memset(out, 0, sizeof *out);
	if (t < 0)
		return -1;
	out->class = H5Tget_class(t);
	out->size = H5Tget_size(t);
	if (out->class == H5T_INTEGER || out->class == H5T_FLOAT)
		out->big_endian = H5Tget_order(t) == H5T_ORDER_BE;
	if (out->class == H5T_INTEGER)
		out->is_signed = H5Tget_sign(t) == H5T_SGN_2;
	if (out->class == H5T_STRING)
		out->is_variable = H5Tis_variable_str(t) > 0;
	if (out->class == H5T_COMPOUND || out->class == H5T_ENUM)
		out->members = H5Tget_nmembers(t);
	done(H5Tclose, t);
	return out->class == H5T_NO_CLASS || out->size == 0 ? -1 : 0;
}

int lsm_h5_storage_of(hid_t dset, lsm_h5_storage *out) {
	H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
	hid_t p, f;
	hsize_t dims[32], size = 0;
	int i, bad;
	memset(out, 0, sizeof *out);
	if ((p = H5Dget_create_plist(dset)) < 0)
		return -1;
	out->layout = H5Pget_layout(p);
	out->nfilters = H5Pget_nfilters(p);
	out->external = H5Pget_external_count(p);
	bad = out->layout < 0 || out->nfilters < 0 || out->external < 0;
	if (!bad && out->layout == H5D_CHUNKED) {
		out->chunk_rank = H5Pget_chunk(p, 32, dims);
		bad = out->chunk_rank < 0 || out->chunk_rank > 32;
		for (i = 0; !bad && i < out->chunk_rank; i++)
			out->chunk[i] = dims[i];
	}
	done(H5Pclose, p);
	if (bad || H5Dget_space_status(dset, &status) < 0)
		return -1;
	out->allocated = status != H5D_SPACE_STATUS_NOT_ALLOCATED;
	out->stored = H5Dget_storage_size(dset);
	out->offset = H5Dget_offset(dset);
	if ((f = H5Iget_file_id(dset)) < 0)
		return -1;
	bad = H5Fget_filesize(f, &size) < 0;
	out->filesize = size;
	done(H5Fclose, f);
	return bad ? -1 : 0;
}

// Filter i of the pipeline; returns 1 where this library can decode it, 0
// where it cannot, -1 for an error.
int lsm_h5_filter(hid_t dset, int i, int *id, char *name, size_t size) {
	unsigned flags, config;
	size_t n = 0;
	hid_t p = H5Dget_create_plist(dset);
	if (p < 0)
		return -1;
	*id = H5Pget_filter2(p, i, &flags, &n, NULL, size, name, &config);
	done(H5Pclose, p);
	if (*id < 0)
		return -1;
	return H5Zfilter_avail(*id) > 0;
}

int lsm_h5_no_times(hid_t plist) { return H5Pset_obj_track_times(plist, 0); }

hid_t lsm_h5_create(hid_t loc, const char *name, int kind, hid_t space, hid_t dcpl) {
	return H5Dcreate2(loc, name, little(kind), space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
}

static hid_t utf8(void) {
	hid_t t = H5Tcopy(H5T_C_S1);
	if (t < 0)
		return -1;
	if (H5Tset_size(t, H5T_VARIABLE) < 0 || H5Tset_cset(t, H5T_CSET_UTF8) < 0) {
		done(H5Tclose, t);
		return -1;
	}
	return t;
}

static hid_t create_texts(hid_t loc, const char *name, hid_t s, const void *texts) {
	hid_t t = utf8(), p = H5Pcreate(H5P_DATASET_CREATE), d = -1;
	if (t >= 0 && s >= 0 && p >= 0 && H5Pset_obj_track_times(p, 0) >= 0)
		d = H5Dcreate2(loc, name, t, s, H5P_DEFAULT, p, H5P_DEFAULT);
	if (d >= 0 && H5Dwrite(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) < 0) {
		done(H5Dclose, d);
		d = -1;
	}
	done(H5Pclose, p);
	done(H5Sclose, s);
	done(H5Tclose, t);
	return d;
}

hid_t lsm_h5_create_text(hid_t loc, const char *name, const char *value) {
	return create_texts(loc, name, H5Screate(H5S_SCALAR), &value);
}

hid_t lsm_h5_create_texts(hid_t loc, const char *name, long long n, char **texts) {
	hsize_t dim = n;
	return create_texts(loc, name, H5Screate_simple(1, &dim, NULL), texts);
}

// Left alone, the library clips what does not fit an integer without a word. A
// float that is too large becomes an infinity, which the readers refuse by
// value.
static H5T_conv_ret_t clipped(H5T_conv_except_t e, hid_t src, hid_t dst, void *s, void *d, void *exception) {
	(void)src, (void)dst, (void)s, (void)d;
	if (e != H5T_CONV_EXCEPT_RANGE_HI && e != H5T_CONV_EXCEPT_RANGE_LOW)
		return H5T_CONV_UNHANDLED;
	*(int *)exception = 1 + (int)e;
	return H5T_CONV_ABORT;
}

int lsm_h5_read(hid_t dset, int kind, hid_t mem, hid_t file, void *buf, int *exception) {
	hid_t p = H5Pcreate(H5P_DATASET_XFER);
	int rc;
	*exception = 0;
	if (p < 0)
		return -1;
	rc = kind < LSM_I8 ? 0 : H5Pset_type_conv_cb(p, clipped, exception);
	if (rc >= 0)
		rc = H5Dread(dset, native(kind), mem, file, p, buf);
	done(H5Pclose, p);
	return rc < 0 ? -1 : 0;
}

// The stored numbers themselves, in little-endian order.
int lsm_h5_read_little(hid_t dset, hid_t mem, hid_t file, void *buf) {
	hid_t stored = H5Dget_type(dset), t = stored < 0 ? -1 : H5Tcopy(stored);
	int rc = t < 0 ? -1 : H5Tset_order(t, H5T_ORDER_LE);
	if (rc >= 0)
		rc = H5Dread(dset, t, mem, file, H5P_DEFAULT, buf);
	done(H5Tclose, t);
	done(H5Tclose, stored);
	return rc;
}

int lsm_h5_write(hid_t dset, int kind, hid_t mem, hid_t file, const void *buf) {
	return H5Dwrite(dset, native(kind), mem, file, H5P_DEFAULT, buf);
}

long long lsm_h5_attr_count(hid_t loc) {
	H5O_info_t info;
	if (H5Oget_info2(loc, &info, H5O_INFO_NUM_ATTRS) < 0)
		return -1;
	return (long long)info.num_attrs;
}

long lsm_h5_attr_name(hid_t loc, long long i, char *buf, size_t size) {
	return H5Aget_name_by_idx(loc, ".", H5_INDEX_NAME, H5_ITER_INC, i, buf, size, H5P_DEFAULT);
}

// Number of elements, 0 for a null dataspace.
long long lsm_h5_points(hid_t obj, int attribute, int *rank) {
	hid_t s = get_space(obj, attribute);
	long long n;
	if (s < 0)
		return -1;
	*rank = H5Sget_simple_extent_ndims(s);
	n = *rank < 0 ? -1 : H5Sget_simple_extent_npoints(s);
	done(H5Sclose, s);
	return n;
}

int lsm_h5_attr_read(hid_t attr, int kind, void *buf) { return H5Aread(attr, native(kind), buf); }

static int read_any(hid_t obj, int attribute, hid_t type, void *buf) {
	return attribute ? H5Aread(obj, type, buf) : H5Dread(obj, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf);
}

static size_t trimmed(const char *s, size_t n, H5T_str_t pad) {
	size_t used = strnlen(s, n);
	while (pad == H5T_STR_SPACEPAD && used > 0 && s[used - 1] == ' ')
		used--;
	return used;
}

// The type of strings in memory, made afresh: one taken from a damaged file may
// let the library pass its own references on as if they were pointers.
static hid_t text_type(hid_t stored, int variable) {
	hid_t t = H5Tcopy(H5T_C_S1);
	H5T_cset_t set = H5Tget_cset(stored);
	if (t < 0)
		return -1;
	if (set < 0 || H5Tset_size(t, variable ? H5T_VARIABLE : H5Tget_size(stored)) < 0 || H5Tset_cset(t, set) < 0 ||
	    (!variable && H5Tset_strpad(t, H5Tget_strpad(stored)) < 0)) {
		done(H5Tclose, t);
		return -1;
	}
	return t;
}

// All strings of an attribute or dataset, each ended by a zero byte, in memory
// that the caller frees; NULL for an error.
char *lsm_h5_strings(hid_t obj, int attribute, size_t *size) {
	hid_t stored = get_type(obj, attribute), s = get_space(obj, attribute), t = -1;
	long long i, n = s < 0 ? -1 : H5Sget_simple_extent_npoints(s);
	char *out = NULL, *raw = NULL;
	size_t used = 0, width;
	int variable;
	*size = 0;
	if (stored < 0 || n < 0 || H5Tget_class(stored) != H5T_STRING)
		goto end;
	variable = H5Tis_variable_str(stored) > 0;
	width = variable ? sizeof(char *) : H5Tget_size(stored);
	if ((t = text_type(stored, variable)) < 0)
		goto end;
	if (!(raw = calloc(n ? n : 1, width)) || read_any(obj, attribute, t, raw) < 0)
		goto end;
	if (variable) {
		char **p = (char **)raw;
		for (i = 0; i < n; i++)
			used += (p[i] ? strlen(p[i]) : 0) + 1;
		if ((out = malloc(used + 1)))
			for (used = i = 0; i < n; i++) {
				size_t len = p[i] ? strlen(p[i]) : 0;
				if (len)
					memcpy(out + used, p[i], len);
				out[used + len] = 0;
				used += len + 1;
			}
		H5Dvlen_reclaim(t, s, H5P_DEFAULT, raw);
	} else if ((out = malloc(n * (width + 1) + 1))) {
		H5T_str_t pad = H5Tget_strpad(t);
		for (i = 0; i < n; i++) {
			size_t len = trimmed(raw + i * width, width, pad);
			memcpy(out + used, raw + i * width, len);
			out[used + len] = 0;
			used += len + 1;
		}
	}
	*size = used;
end:
	free(raw);
	done(H5Sclose, s);
	done(H5Tclose, t);
	done(H5Tclose, stored);
	return out;
}

static int write_attr(hid_t loc, const char *name, hid_t file, hid_t mem, hid_t space, const void *buf) {
	hid_t a = H5Acreate2(loc, name, file, space, H5P_DEFAULT, H5P_DEFAULT);
	int rc = a < 0 ? -1 : H5Awrite(a, mem, buf);
	done(H5Aclose, a);
	return rc;
}

// n < 0 writes a scalar.
int lsm_h5_attr_numbers(hid_t loc, const char *name, int kind, long long n, const void *buf) {
	hsize_t dim = n;
	hid_t s = n < 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &dim, NULL);
	int rc = s < 0 ? -1 : write_attr(loc, name, little(kind), native(kind), s, buf);
	done(H5Sclose, s);
	return rc;
}

// A text that is there already is written over.
int lsm_h5_attr_text(hid_t loc, const char *name, const char *value) {
	hid_t t = utf8(), s = H5Screate(H5S_SCALAR), a = -1;
	int rc = -1;
	if (H5Aexists(loc, name) > 0) {
		a = H5Aopen(loc, name, H5P_DEFAULT);
		rc = a < 0 || t < 0 ? -1 : H5Awrite(a, t, &value);
		done(H5Aclose, a);
	} else if (t >= 0 && s >= 0) {
		rc = write_attr(loc, name, t, t, s, &value);
	}
	done(H5Sclose, s);
	done(H5Tclose, t);
	return rc;
}

// Where the object's header lies in its file: two links with one address are
// one object.
unsigned long long lsm_h5_address(hid_t obj) {
	H5O_info_t info;
	if (H5Oget_info2(obj, &info, H5O_INFO_BASIC) < 0)
		return ~0ULL;
	return info.addr;
}

// External links lead to other files, which nobody has looked at: the library
// forgets how to follow them.
int lsm_h5_no_external(void) {
	static int gone;
	if (!gone && H5Lunregister(H5L_TYPE_EXTERNAL) >= 0)
		gone = 1;
	return gone ? 0 : -1;
}

// What the name stands for: 0 nothing, 1 an object or a soft link, 2 an external
// link, -1 cannot be told.
int lsm_h5_link(hid_t loc, const char *name) {
	H5L_info_t info;
	htri_t has = H5Lexists(loc, name, H5P_DEFAULT);
	if (has <= 0)
		return has;
	if (H5Lget_info(loc, name, &info, H5P_DEFAULT) < 0)
		return -1;
	return info.type == H5L_TYPE_EXTERNAL ? 2 : 1;
}

int lsm_h5_scale(hid_t dset, const char *name) { return H5DSset_scale(dset, name); }

int lsm_h5_attach(hid_t dset, hid_t scale, unsigned axis, const char *label) {
	if (H5DSattach_scale(dset, scale, axis) < 0)
		return -1;
	return H5DSset_label(dset, axis, label);
}
