package gpu

import (
	"fmt"
	"strings"

	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Constants that Go and the kernels share. header puts them at the beginning of a program's text, which
// defines none of them.
const (
	bunch      = 16  // BUNCH: points whose values lie together in tables, see tables.go
	groupTiles = 8   // GROUP: tiles that a block of the adjoint's threads owns
	threads    = 256 // THREADS: of a block of the adjoint and of pack, and of most of ends.cu
	tapers     = 16  // TAPERS: the aperture's weights of a group, along all axes, which aperture.cu derives

	lanes        = 128 // LANES: threads of a block of the forward, its most traces
	blockSources = 16  // SOURCES of a block of the forward
	blockTargets = 32  // TARGETS: its receivers
	blockPlaces  = blockSources + blockTargets

	narrow  = 128        // WIDTH: threads of the filters and of bounds
	segment = 7 * narrow // SEGMENT: samples that a block of the filters makes
	steps   = 64         // STEPS: points that a thread of magnitude adds up
)

// sizes are the constants that depend on the layout: RECEIVERS in a cell of the adjoint,
// samples of its WINDOW, beyond which stretches are read from global memory, and points of a CHUNK of the forward.
func sizes(l kirchhoff.Layout) (receivers, window, chunk int) {
	switch {
	case l.Fields == 1:
		return 16, 128, 32
	case l.Fields == 5 && (l.Limits || l.Bands > 1):
		return 4, 192, 16 // more receivers take more registers than there are
	}
	return 8, 192, 16
}

// define writes constants of the kernels.
func define(constants ...any) string {
	var list []string
	for i := 0; i < len(constants); i += 2 {
		list = append(list, fmt.Sprintf("%s = %d", constants[i], constants[i+1]))
	}
	return "enum { " + strings.Join(list, ", ") + " };\n"
}

// header are the constants of tables, which all programs but ends.cu have. NEVER marks, in
// tables of times only, points that are left out; times are below 2^31.
func header() string {
	return define("TILE", simd.TileSize, "BUNCH", bunch, "GROUP", groupTiles, "THREADS", threads) +
		"#define NEVER 0xFFFFFFFFu\n"
}

// operatorHeader are the constants of the operator's program.
func operatorHeader(l kirchhoff.Layout) string {
	receivers, window, chunk := sizes(l)
	return header() + define("RECEIVERS", receivers, "WINDOW", window, "LANES", lanes, "SOURCES", blockSources, "TARGETS", blockTargets, "CHUNK", chunk)
}

// endsHeader are the constants of ends.cu.
func endsHeader() string {
	return define("THREADS", threads, "WIDTH", narrow, "SEGMENT", segment, "STEPS", steps)
}
