// Package gpu is the Kirchhoff engine for GPUs: the operator of package kirchhoff on
// the card that an device/gpu.Device stands for. Image and traces live on the
// card; an application copies nothing between it and the host.
//
// The tables are those of the cpu engine (see kirchhoff.Plan), computed on the host
// and copied to the card place by place, while the next are computed. Results agree
// with the cpu engine's and the reference's to rounding of float32. They have the same
// bits again on the same model of card, and with exact sums (dist.Pieced) also on any
// number of cards, whatever shots and slabs each has.
//
// The kernels are compiled when an engine is made, for the card found and the kind of
// tables that the problem needs.
package gpu
