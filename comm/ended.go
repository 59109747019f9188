package comm

import "time"

// Ended is when a collective that Wait has returned for was done, as soon as this rank
// noticed. It is zero if the communicator does not notice by itself.
func Ended(r Request) time.Time {
	if e, ok := r.(interface{ Ended() time.Time }); ok {
		return e.Ended()
	}
	return time.Time{}
}
