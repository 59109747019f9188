//go:build race

package gputest

// raceDetector says that this program has Go's race detector built in.
const raceDetector = true
