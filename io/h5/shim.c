#include "shim.h"

// At exit the library would try once more to complete files that it could not,
// and fault after a full disk. Go's own exit runs no such handlers; exits
// through C, as MPI's or the race detector's, must not either. It has to be said
// before the library starts, which gonum does while Go initialises.
__attribute__((constructor)) static void leave_at_exit(void) { H5dont_atexit(); }

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

// With clip, a number beyond the type is an error: exception is then 1 + H5T_conv_except_t.
int lsm_h5_read(hid_t dset, hid_t type, int clip, hid_t mem, hid_t file, void *buf, int *exception) {
	hid_t p = H5Pcreate(H5P_DATASET_XFER), stack;
	int rc = p;
	*exception = 0;
	if (p >= 0 && clip)
		rc = H5Pset_type_conv_cb(p, clipped, exception);
	if (rc >= 0)
		rc = H5Dread(dset, type, mem, file, p, buf);
	if (p >= 0) { // every call clears the error stack
		stack = H5Eget_current_stack();
		H5Pclose(p);
		H5Eset_current_stack(stack);
	}
	return rc < 0 ? -1 : 0;
}
