//go:build !linux

package machine

func affinity() []int { return unbound() }
