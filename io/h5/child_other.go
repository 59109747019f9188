//go:build !linux

package h5

// limitCPU is for systems that limit other processes; here time alone is limited.
func limitCPU(pid int, seconds uint64) {}

// limitData is for systems that limit memory in another way, or not.
func limitData(bytes uint64) (restore func()) { return func() {} }
