//go:build mpi && openmpi

package mpi

// The flags stand in a file of their own: what pkg-config says is no part of what the go
// command compares when it looks for an earlier build, but the list of files is.

// #cgo pkg-config: ompi-c
import "C"
