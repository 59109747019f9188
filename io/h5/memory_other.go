//go:build !linux

package h5

// physicalMemory is the machine's memory in bytes, 0 where it is not known.
func physicalMemory() uint64 { return 0 }
