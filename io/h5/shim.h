// C side of package h5: what HDF5 offers only as macros, and the transfers of
// data, always with an explicit memory type. Nothing here checks lengths: the
// Go side has checked them before it calls.
#ifndef LSM_H5_SHIM_H
#define LSM_H5_SHIM_H

#ifndef H5_USE_110_API
#define H5_USE_110_API // HDF5 1.12 and later keep the names of 1.10 under this
#endif
#include <hdf5.h>
#include <hdf5_hl.h>
#include <stdlib.h>

// Element kinds, in the order of the constants in number.go.
enum { LSM_F32, LSM_F64, LSM_I8, LSM_I16, LSM_I32, LSM_I64, LSM_U8, LSM_U16, LSM_U32, LSM_U64 };

// What a stored type is.
typedef struct {
	int class;       // H5T_class_t
	size_t size;     // bytes of one element
	int big_endian;  // 1 for big-endian numbers
	int is_signed;   // integers
	int is_variable; // variable-length strings
	int members;     // of a compound or enum
} lsm_h5_type;

// Where and how a dataset's bytes are stored.
typedef struct {
	int layout;                   // H5D_layout_t
	int allocated;                // 0: never written
	int external;                 // number of external raw files
	int nfilters;                 // filters of the pipeline
	int chunk_rank;               // 0 unless chunked
	unsigned long long chunk[32]; // elements
	unsigned long long stored;    // bytes allocated in the file
	unsigned long long offset;    // of a contiguous dataset; all ones where unknown
	unsigned long long filesize;  // bytes
} lsm_h5_storage;

void lsm_h5_enter(void);
void lsm_h5_leave(void);
void lsm_h5_crash_text(int fd, const char *s, size_t n);
void lsm_h5_quiet(void);
size_t lsm_h5_stack(char *buf, size_t size);

int lsm_h5_type_of(hid_t obj, int attribute, lsm_h5_type *out);
int lsm_h5_storage_of(hid_t dset, lsm_h5_storage *out);
int lsm_h5_filter(hid_t dset, int i, int *id, char *name, size_t size);

hid_t lsm_h5_create(hid_t loc, const char *name, int kind, hid_t space, hid_t dcpl);
hid_t lsm_h5_create_text(hid_t loc, const char *name, const char *text);
hid_t lsm_h5_create_texts(hid_t loc, const char *name, long long n, char **texts);
int lsm_h5_no_times(hid_t plist);
int lsm_h5_read(hid_t dset, int kind, hid_t mem, hid_t file, void *buf, int *exception);
int lsm_h5_read_little(hid_t dset, hid_t mem, hid_t file, void *buf);
int lsm_h5_write(hid_t dset, int kind, hid_t mem, hid_t file, const void *buf);

long long lsm_h5_attr_count(hid_t loc);
long lsm_h5_attr_name(hid_t loc, long long i, char *buf, size_t size);
long long lsm_h5_points(hid_t obj, int attribute, int *rank);
int lsm_h5_attr_read(hid_t attr, int kind, void *buf);
char *lsm_h5_strings(hid_t obj, int attribute, size_t *size);
int lsm_h5_attr_numbers(hid_t loc, const char *name, int kind, long long n, const void *buf);
int lsm_h5_attr_text(hid_t loc, const char *name, const char *text);

int lsm_h5_no_external(void);
int lsm_h5_link(hid_t loc, const char *name);
unsigned long long lsm_h5_address(hid_t obj);
int lsm_h5_scale(hid_t dset, const char *name);
int lsm_h5_attach(hid_t dset, hid_t scale, unsigned axis, const char *label);

#endif
