package kirchhoff

import (
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// Engine is one implementation of the operator. Forward maps an image to traces
// and Adjoint traces to an image; both add into their destination, may be called
// from several goroutines (one call runs at a time) and return ctx's error if it
// ends first, with the destination half filled.
type Engine interface {
	dist.Kernel
	Name() string      // in the configuration
	Type() device.Type // element type of the data and image buffers
	TableBytes() int64 // memory held by the tables
	Triples() int64    // (trace, image point) pairs one application visits
	Close()            // frees the tables; the engine is of no use afterwards
}
