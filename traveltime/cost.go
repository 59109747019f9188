package traveltime

/*
#include "sweep.h"
*/
import "C"

import "github.com/kirchhoff-lsm/lsm/grid"

// ScratchBytes implements Method: the memory besides the model.
func (e *Eikonal) ScratchBytes(gradient bool) int64 {
	points, image := int64(e.model.Len()), int64(e.image.Len())
	lanes := e.engines[0].lanes
	bytes := batchBytes(e.model, lanes) + 4*points*int64(lanes) + 8*image
	parts := int64(0)
	if gradient {
		parts = int64(e.model.Dim())
		bytes += parts * 8 * image
	}
	if e.resample != nil {
		parts++
	}
	return bytes + parts*4*image
}

// batchBytes is the size of a batch's own memory, all but the small tables
// along the axes.
func batchBytes(g grid.Grid, lanes int) int64 {
	nz := g.Shape[g.Dim()-1]
	rows := int64(g.Len() / nz)
	blocks := rows * int64((nz+C.EIK_CHUNK-1)/C.EIK_CHUNK)
	return 4*(rows+1)*int64((nz+2*C.EIK_GHOSTS)*lanes) + 2*2*C.EIK_DIRECTIONS*blocks
}
