package nccl

import (
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
)

// Unagreed is a sum that no rank has agreed on.
func (g *Group) Unagreed(b *gpu.Buf) error { return g.allReduce(b) }

// Splits is whether the library splits groups.
func (l *Library) Splits() bool { return l.canSplit() }

// Named is a library of a version, to see what it is called.
func Named(e driver.Engine, version int) string {
	return (&Library{Engine: e, Path: "/opt/lib/libx.so.2", Version: version}).String()
}
