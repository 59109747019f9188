//go:build !linux

package h5

// limitCPU is for systems that limit other processes; here time alone is limited.
func limitCPU(pid int, seconds uint64) {}
