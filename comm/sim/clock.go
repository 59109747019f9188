package sim

import "time"

// Clock is the time of one rank. Only that rank's goroutine may use it.
type Clock struct {
	// Memory is how many bytes a second the rank's vector operations read and write; 0 stands
	// for operations that take no time.
	Memory float64

	now   float64 // s
	under int     // sums under way
	owed  float64 // s, that these will still take from what is computed
	held  float64 // share of the time in which they do

	turns *turns // nil: the clock moves alone
	node  int
	turn  turn
	left  float64 // s: to compute on cores of its own, or the time until which the rank sleeps
	wake  chan struct{}
}

// Now is the time since the run began, as a time after that of Unix.
func (c *Clock) Now() time.Time { return time.Unix(0, int64(c.now*1e9)) }

// Moved passes the time in which the rank reads and writes so many bytes of vectors.
func (c *Clock) Moved(bytes int64) {
	if c.Memory > 0 {
		c.Compute(float64(bytes) / c.Memory)
	}
}

// Compute passes the time in which the rank's processors do what takes them so many seconds.
// While sums are under way it takes longer, since they need a part of the processors, and so it
// does while more ranks of the node compute than its cores can.
func (c *Clock) Compute(seconds float64) {
	if c.owed > 0 {
		beside := c.owed / c.held // s, of the clock, until nothing is owed
		if seconds < beside*(1-c.held) {
			long := seconds / (1 - c.held)
			c.owed -= long - seconds
			c.pass(long)
			return
		}
		seconds += c.owed
		c.owed = 0
	}
	c.pass(seconds)
}

// pass passes the time of so many seconds of computing on cores of the rank's own.
func (c *Clock) pass(seconds float64) {
	if c.turns != nil {
		c.turns.wait(c, computing, seconds)
		return
	}
	c.now += seconds
}

// begin notes that a sum is under way which takes so many seconds of cores of the rank's own, and
// in a share of them a processor.
func (c *Clock) begin(seconds, held float64) {
	c.under++
	c.owed += seconds * held
	c.held = held
}

// end passes the time until a sum is over. What it takes from the processors while the rank
// waits delays nothing.
func (c *Clock) end(at float64) {
	c.until(at)
	if c.under--; c.under == 0 {
		c.owed = 0
	}
}

// until passes the time until at.
func (c *Clock) until(at float64) {
	if c.turns != nil {
		c.turns.wait(c, sleeping, at)
		return
	}
	c.now = max(c.now, at)
}
