package accel

import "time"

// CompareClocks sets how long one comparison of the clocks serves.
func CompareClocks(every time.Duration) (before time.Duration) {
	before, compareEvery = compareEvery, every
	return before
}

// Timing is the number of spans that were begun and not told of yet.
func (c *Context) Timing() (n int) {
	_ = c.Do(func() error { n = c.timing; return nil }) // 0 of a context that failed
	return n
}
