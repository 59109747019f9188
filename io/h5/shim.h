// The C side of package h5: what Go cannot express, which is callbacks, the fault
// handler, and what must be said before the library starts.
#ifndef LSM_H5_SHIM_H
#define LSM_H5_SHIM_H

#ifndef H5_USE_110_API
#define H5_USE_110_API // HDF5 1.12 and later keep the names of 1.10 under this
#endif
#include <hdf5.h>
#include <hdf5_hl.h>
#include <stdlib.h>
#include <string.h>

void lsm_h5_enter(void);
void lsm_h5_leave(void);
int lsm_h5_inside(void); // whether this thread has entered
void lsm_h5_catch(void); // has crashes reported from now on
void lsm_h5_crash_text(int fd, const char *s, size_t n);

size_t lsm_h5_stack(char *buf, size_t size);

int lsm_h5_scale(hid_t set, unsigned axis, char *buf, size_t size);

#endif
