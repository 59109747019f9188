package nccl

import "github.com/kirchhoff-lsm/lsm/internal/driver"

var OrderSource = orderSource

// Named is a library of a version, to see what it is called.
func Named(e driver.Engine, version int) string {
	return (&Library{Engine: e, Path: "/opt/lib/libx.so.2", Version: version}).String()
}
