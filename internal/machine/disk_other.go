//go:build !linux && !darwin

package machine

// FreeDisk is what an ordinary user may still write to the file system of a folder,
// in bytes; 0 where it is not known.
func FreeDisk(string) int64 { return 0 }
