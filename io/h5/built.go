package h5

// #include <hdf5.h>
// #ifdef __clang__
// static const char *lsm_compiler(void) { return __VERSION__; }
// #else
// static const char *lsm_compiler(void) { return "gcc " __VERSION__; }
// #endif
import "C"

import "fmt"

// Built is the version of the HDF5 library that this program was compiled against, such
// as "1.10.8".
func Built() string {
	return fmt.Sprintf("%d.%d.%d", C.H5_VERS_MAJOR, C.H5_VERS_MINOR, C.H5_VERS_RELEASE)
}

// Compiler is the C compiler that did it, such as "gcc 12.2.0".
func Compiler() string { return C.GoString(C.lsm_compiler()) }
