// Package gpu is the Kirchhoff engine for GPUs: the operator of package kirchhoff on
// the card of a device/gpu.Device. Image and traces live on the card; an application
// copies nothing between it and the host.
//
// Tables are made on the card (pack.cu), from traveltimes that it computes itself (package
// traveltime/gpu), so only the velocity model and the positions are copied to it. If there are
// too few places for the card to be faster, or if it cannot compute the times, the processor
// does. These times are copied place by place, while the next are computed. Results agree
// with those of the cpu engine and of the reference to rounding of float32. They have the
// same bits again on the same model of card, and with exact sums (dist.Pieced) also on any
// number of cards, however these share out shots and slabs.
//
// The structure is the same as in the cpu engine. An Engine has tables, programs and scratch. Its
// kernels, one for each image, go through units of work (kirchhoff.Image), each with lists
// of its traces.
//
// With an aperture, tables and lists of traces are those of one column of the image after
// the other (see kirchhoff.Column), and the kernels work on the column's own small operator.
//
// The kernels are compiled when an engine is made, for the card found and the kind of
// tables that the problem needs. The declarations that they share with this package are in kernels.go.
package gpu
