//go:build mpi && openmpi

package mpi

// #cgo pkg-config: ompi-c
import "C"
