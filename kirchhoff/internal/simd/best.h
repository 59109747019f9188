#ifndef LSM_BEST_H
#define LSM_BEST_H

int lsm_best(void);

#endif
