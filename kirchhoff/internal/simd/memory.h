#ifndef LSM_MEMORY_H
#define LSM_MEMORY_H

#include <stddef.h>

void *lsm_alloc(size_t bytes);
int lsm_best(void);

#endif
