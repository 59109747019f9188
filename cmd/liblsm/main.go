// Command liblsm is a library. Built with -buildmode=c-shared it is the C library whose interface
// include/lsm.h describes. It has no C of its own: for a command with C in it Go compiles the C of
// every package once more.
package main

import _ "github.com/kirchhoff-lsm/lsm/cmd/liblsm/internal/library"

func main() {}
