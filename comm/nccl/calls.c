#include "calls.h"

#include <dlfcn.h>

#define FIND(field, params, names)                               \
	if (!(*(void **)&t->field = dlsym(library, "nccl" #field))) \
		return "nccl" #field;
#define FIND_LATE(field, params, names) *(void **)&t->field = dlsym(library, "nccl" #field);

const char *nccl_load(nccl_calls *t, void *library)
{
	NCCL_CALLS(FIND)
	FIND(GroupStart, , )
	FIND(GroupEnd, , )
	FIND(GetErrorString, , )
	NCCL_LATE_CALLS(FIND_LATE)
	FIND_LATE(GetLastError, , )
	return NULL;
}

const char *nccl_error(const nccl_calls *t, int status) { return t->GetErrorString(status); }

const char *nccl_last(const nccl_calls *t)
{
	const char *text = t->GetLastError ? t->GetLastError(NULL) : NULL;
	return text ? text : "";
}
