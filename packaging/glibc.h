/* The functions that have a newer version in glibc 2.29. Every C file of a package includes
   this, so that packages start with glibc 2.28 although they are linked with 2.31. */
#ifndef __ASSEMBLER__
__asm__(".symver exp, exp@GLIBC_2.2.5");
__asm__(".symver exp2, exp2@GLIBC_2.2.5");
__asm__(".symver log, log@GLIBC_2.2.5");
__asm__(".symver log2, log2@GLIBC_2.2.5");
__asm__(".symver pow, pow@GLIBC_2.2.5");
#endif
