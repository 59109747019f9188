package device

// Names of work, as the closing table and the trace show it. Applications of the operator
// have those of their directions, which package dist has, and kernels of [Device.Run] their
// own.
const (
	MarkAllReduce   = "all-reduce"
	MarkBroadcast   = "broadcast"
	MarkAllGather   = "all-gather"
	MarkSendRecv    = "send-recv"
	MarkHalo        = "halo"          // messages between ranks that hold parts of the image
	MarkWaitForSums = "wait for sums" // that were started earlier
	MarkDots        = "dots"
	MarkWaitForData = "wait for data" // that are streamed
	MarkTables      = "tables"        // of traveltimes
	MarkSquared     = "squared operator"
	MarkVectors     = "vectors" // arithmetic on vectors
	MarkCopies      = "copies"  // between host and GPU
	MarkTiles       = "tiles"   // of matrices: products, and solutions with them
)

// Lanes, on which the closing table and the trace show work beside a rank's sections.
const (
	LaneSums      = "sums in flight" // on the host, from their start until the rank knows that they are done
	LaneGPU       = "GPU"            // the stream of everything that has no other
	LaneGPUSums   = "GPU sums"       // started sums
	LaneGPUTables = "GPU tables"     // tables that are made beside other work
	LaneGPUCopies = "GPU copies"     // data that come in beside other work
	LaneGPUTiles  = "GPU tiles"      // of matrices, which a library multiplies
)
