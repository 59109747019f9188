//go:build !linux

package h5

// limitCPU does nothing: only elapsed time is limited on this system.
func limitCPU(pid int, seconds uint64) {}

// limitData does nothing on this system.
func limitData(bytes uint64) (restore func()) { return func() {} }
