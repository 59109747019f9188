// Package gpu computes traveltimes on a GPU, for many places at once: one CUDA C++ source for
// CUDA and HIP. It does what package traveltime's Eikonal, Coarse and analytic method do, by the
// same operations in the same order, so times have the same bits as on processors with fused
// multiply-add. Only the velocity model, or coarse tables, and the positions are copied to the
// card.
package gpu
