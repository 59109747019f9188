package main

import "github.com/kirchhoff-lsm/lsm/kirchhoff"

// modelText says what models suppose.
const modelText = `Instructions a triple (a trace and an image point) that a thread of the GPU operator's
kernels issues on the ordinary path: of the inner loop, and of all. Supposed are parts of 256
runs whose cells have all receivers and 16 sources, and 16 boxes of 64 tiles for blocks of
128 traces; stretches of 64 samples and windows of 96; all traces on the record; exact sums. Of
the eikonal equation: instructions that a thread issues to update a point of one place, where
the full stencil is causal, in sweeps of first and of second order.`

// models are the ordinary ways through the kernels for tables of a layout. Without an aperture's
// taper, and with all points counting.
func models(l kirchhoff.Layout) []model {
	const runs, boxes, sources, points, window, groups = 256, 16, 16, 4096, 96, 8
	receivers, chunk := 16.0, 32.0
	if l.Fields > 1 {
		receivers, chunk = 8, 16
	}
	return []model{
		{name: "adjoint", inner: "near_traces<true>(", triples: runs * receivers * 2, nest: []float64{runs},
			rules: []rule{{"prepare(", 1. / 8}, {"near_traces<false>(", 0}, {"far_traces(", 0}, {"receive(receiver", 1. / sources},
				{"n = w.live", 0}, {"uint4{0, 0, 0, 0}", 0}},
			rounds: []round{{"for (int n = w.live", 0, ""}, {"for (int n = me; n < GROUP", 1, ""}}},
		{name: "forward", inner: "spread<true>(", triples: boxes * points, nest: []float64{boxes, 1, points / chunk},
			rules: []rule{{"spread<false>(", 0}, {"copy16(to + PLACES * PITCH", 1. / 4}},
			rounds: []round{{"for (int n = 0; n < width", window, "STS"}, {"for (int i = 0; i < CHUNK", int(chunk) * 2, "STS"},
				{"for (int n = lo; n <= hi", window, "STS"}, {"for (int g = lo; g < hi", groups, ""}}},
	}
}

// sweeps are the updates of eikonal.cu.
var sweeps = []model{
	{name: "first", kernel: "sweep", loop: "for (int left = n", within: "any(round_of<false>(", rules: []rule{{"fewer(A, B, s", 0}}},
	{name: "second", kernel: "sweep", loop: "for (int left = n", within: "any(round_of<true>(", rules: []rule{{"fewer(A, B, s", 0}}},
}
