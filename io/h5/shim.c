#include "shim.h"

// At exit the library would try once more to complete files that it could not,
// and fault after a full disk. Go's own exit runs no such handlers; exits
// through C, as MPI's or the race detector's, must not either. It has to be said
// before the library starts, which gonum does while Go initialises.
__attribute__((constructor)) static void leave_at_exit(void) { H5dont_atexit(); }

static _Thread_local int inside;

int lsm_h5_inside(void) { return inside; }

void lsm_h5_enter(void) {
	lsm_h5_catch();
	inside = 1;
}

void lsm_h5_leave(void) { inside = 0; }

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

typedef struct {
	char *buf;
	size_t size;
} name;

static herr_t first_scale(hid_t set, unsigned axis, hid_t scale, void *p) {
	name *n = p;
	(void)set, (void)axis;
	return H5Iget_name(scale, n->buf, n->size) > 0 ? 1 : -1;
}

// The absolute name of the first scale of an axis: 1, or 0 where it has none, below 0 on failure.
int lsm_h5_scale(hid_t set, unsigned axis, char *buf, size_t size) {
	name n = {buf, size};
	return H5DSiterate_scales(set, axis, NULL, first_scale, &n);
}
