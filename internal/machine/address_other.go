//go:build !linux

package machine

// addressLimit is for systems that limit the address space in other ways, or not.
func addressLimit() uint64 { return 1<<64 - 1 }
