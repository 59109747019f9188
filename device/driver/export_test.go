package driver

import "time"

// CompareClocks sets how long one comparison of the clocks serves.
func CompareClocks(every time.Duration) (before time.Duration) {
	before, compareEvery = compareEvery, every
	return before
}
