//go:build !linux && !darwin

package machine

// FreeDisk is the space on the file system of a folder that an ordinary user may still write, in
// bytes; 0 if it is not known.
func FreeDisk(string) int64 { return 0 }
