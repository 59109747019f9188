#include "library.h"

#include <dlfcn.h>
#include <stddef.h>

void *library_open(const char *name, int global, const char **why)
{
	void *library = dlopen(name, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
	*why = library ? NULL : dlerror();
	return library;
}

void library_close(void *library) { dlclose(library); }
