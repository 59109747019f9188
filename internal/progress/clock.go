package progress

import "time"

// clock adds up the time of each section of a run.
type clock struct {
	begin time.Time
	now   func() time.Time
	names []string
	spent map[string]time.Duration
	whole time.Duration // all of spent
}

func (c *clock) add(name string, d time.Duration) {
	if c.spent == nil {
		c.spent = map[string]time.Duration{}
	}
	if _, ok := c.spent[name]; !ok {
		c.names = append(c.names, name)
	}
	c.spent[name] += d
	c.whole += d
}

// since is the time d of a stage less what sections inside it took: whole was
// all that was booked when the stage began. Sections then never overlap.
func (c *clock) since(whole, d time.Duration) time.Duration {
	return max(0, d-(c.whole-whole))
}

// Section is one row of the closing table: the seconds that each rank spent in
// one part of the run.
type Section struct {
	Name    string
	Seconds []float64 // [ranks]
}

// Time begins to count time towards the named section of the closing table and
// prints nothing; the function it returns ends that. Time booked meanwhile by
// sections inside it is not counted twice.
func (r *Reporter) Time(section string) (end func()) {
	if r == nil {
		return func() {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	begin, whole := r.opt.Now(), r.clock.whole
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.clock.add(section, r.clock.since(whole, r.opt.Now().Sub(begin)))
	}
}

// Sections is this rank's time in each section so far, in the order of their
// first end, and the time since New, in seconds. A run on many ranks gathers
// them and passes the whole to Table.
func (r *Reporter) Sections() (sections []Section, total float64) {
	if r == nil {
		return nil, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range r.clock.names {
		sections = append(sections, Section{name, []float64{r.clock.spent[name].Seconds()}})
	}
	return sections, r.opt.Now().Sub(r.clock.begin).Seconds()
}
