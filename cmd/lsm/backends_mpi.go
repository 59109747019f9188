//go:build mpi

package main

import _ "github.com/kirchhoff-lsm/lsm/comm/mpi"
