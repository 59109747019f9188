#ifndef LSM_DYNLIB_LIBRARY_H
#define LSM_DYNLIB_LIBRARY_H

// library_open is dlopen, with symbols for what is loaded later where global is set; why is the loader's own message where it fails.
void *library_open(const char *name, int global, const char **why);
void library_close(void *library);

#endif
