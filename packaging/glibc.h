/* The functions that have a newer version in glibc 2.29. Every C file of a package includes
   this, so that packages start with glibc 2.28 although they are linked with 2.31. */
#ifndef __ASSEMBLER__
#ifdef __aarch64__
#define LSM_GLIBC "GLIBC_2.17"
#else
#define LSM_GLIBC "GLIBC_2.2.5"
#endif
__asm__(".symver exp, exp@" LSM_GLIBC);
__asm__(".symver exp2, exp2@" LSM_GLIBC);
__asm__(".symver log, log@" LSM_GLIBC);
__asm__(".symver log2, log2@" LSM_GLIBC);
__asm__(".symver pow, pow@" LSM_GLIBC);
#endif
