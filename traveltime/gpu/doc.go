// Package gpu solves the eikonal equation on a GPU, for many places at once: one CUDA C++
// source for CUDA and HIP. It does what package traveltime's Eikonal does, by the same
// operations in the same order, so times have the same bits as on processors with fused
// multiply-add. Nothing but the velocity model and the positions crosses to the card.
package gpu
