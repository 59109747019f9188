// Package blas multiplies, solves with and factors tiles of dense matrices, by a library for
// linear algebra. Distributed matrices (package dist/dense) are made of such tiles.
package blas
