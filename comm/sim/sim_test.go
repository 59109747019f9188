package sim_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/comm/sim"
	"github.com/kirchhoff-lsm/lsm/device"
)

// Values arrive as over any communicator, whatever the model.
func TestConformance(t *testing.T) {
	for _, m := range []sim.Model{model, crowded(1)} {
		commtest.Run(t, func(ranks int, body func(c comm.Comm) error) error {
			return sim.Run(ranks, m, func(c comm.Comm, _ *sim.Clock) error { return body(c) })
		}, 1, 2, 3, 4, 5)
	}
}

// crowded is model where so many ranks of a node can compute at once.
func crowded(atOnce float64) sim.Model {
	m := model
	m.AtOnce = atOnce
	return m
}

// model has two ranks a node, and two nodes a switch.
var model = sim.Model{OnNode: 2, Within: sim.Link{Bytes: 1000, Latency: 0.5}, Between: sim.Link{Bytes: 100, Latency: 4}, SwitchNodes: 2, Switch: 10}

// play runs body on n ranks and returns the times at which they end, in s.
func play(t *testing.T, n int, m sim.Model, body func(c comm.Comm, clock *sim.Clock)) []float64 {
	t.Helper()
	ends := make([]float64, n)
	err := sim.Run(n, m, func(c comm.Comm, clock *sim.Clock) error {
		body(c, clock)
		ends[c.Rank()] = seconds(clock)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ends
}

func seconds(c *sim.Clock) float64 { return float64(c.Now().UnixNano()) / 1e9 }

// buf is a buffer of a number of bytes without values.
func buf(bytes int) device.Buf {
	b, _ := device.NewCounter(device.NewHost(1)).Alloc(bytes/4, device.F32)
	return b
}

func try(err error) {
	if err != nil {
		panic(err)
	}
}

// wait ends a sum.
func wait(r comm.Request, err error) {
	try(err)
	try(r.Wait())
}

// Sums over ranks take what Rabenseifner's algorithm does.
func TestAllReduce(t *testing.T) {
	l := sim.Link{Bytes: 1e6, Latency: 0.25}
	for _, c := range []struct {
		bytes, ranks int
		want         float64
	}{
		{4e6, 1, 0},
		{4e6, 2, 2*0.25 + 4},
		{4e6, 4, 4*0.25 + 6},
		{10e6, 5, 6*0.25 + 16},
		{0, 4096, 24 * 0.25},
	} {
		if got := l.AllReduce(c.bytes, c.ranks); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%d bytes over %d ranks take %g s, want %g", c.bytes, c.ranks, got, c.want)
		}
	}
}

// Every collective takes what its formula says, from when the last rank comes.
func TestTimes(t *testing.T) {
	one := func(i int) []int { return slices.Repeat([]int{1}, i) }
	for _, c := range []struct {
		name  string
		ranks int
		call  func(c comm.Comm) error
		want  float64 // s, after the last rank has come
	}{
		{"sum on a node", 2, func(c comm.Comm) error { return c.AllReduce(buf(1000)) }, 2*0.5 + 1},
		{"sum over a switch", 4, func(c comm.Comm) error { return c.AllReduce(buf(1000)) }, 4*4 + 15},
		{"sum over three switches", 8, func(c comm.Comm) error { return c.AllReduce(buf(1000)) }, 6*4 + 2*20 + 17.5},
		{"sum that is waited for at once", 4, func(c comm.Comm) error {
			wait(c.StartAllReduce(buf(1000)))
			return nil
		}, 4*4 + 15},
		{"sum of nothing", 3, func(c comm.Comm) error { return c.AllReduce(buf(0)) }, 4 * 4},
		{"sum of one", 1, func(c comm.Comm) error { return c.AllReduce(buf(1000)) }, 0},
		{"broadcast", 2, func(c comm.Comm) error { return c.Bcast(buf(1000), 1) }, 2*0.5 + 1},
		{"all-gather", 4, func(c comm.Comm) error { return c.AllGather(buf(16), buf(4), one(4)) }, 2*4 + 0.12},
		{"host sum", 2, func(c comm.Comm) error { return c.Host().AllReduce(make([]float64, 10), comm.Sum) }, 2*0.5 + 0.08},
		{"host all-gather", 2, func(c comm.Comm) error {
			_, err := c.Host().AllGather(make([]byte, 100*c.Rank()))
			return err
		}, 0.5 + 0.05},
		{"agreement", 2, func(c comm.Comm) error {
			_, err := c.Host().Agree(1)
			return err
		}, 2*0.5 + 0.008},
		{"split", 2, func(c comm.Comm) error {
			_, err := c.Split(0, 0)
			return err
		}, 0.5 + 0.016},
		{"messages in pairs on a node", 2, func(c comm.Comm) error {
			return c.SendRecv(buf(500), 1-c.Rank(), buf(500), 1-c.Rank())
		}, 0.5 + 0.5},
	} {
		begin := float64(c.ranks - 1)
		for _, m := range []sim.Model{model, crowded(1)} {
			if m.AtOnce == 1 && c.ranks%2 == 0 { // the last node has two ranks
				begin += begin - 1
			}
			ends := play(t, c.ranks, m, func(world comm.Comm, clock *sim.Clock) {
				clock.Compute(float64(world.Rank()))
				try(c.call(world))
			})
			for r, end := range ends {
				if want := begin + c.want; math.Abs(end-want) > 1e-6 {
					t.Errorf("%s, at once %g: rank %d of %d ends at %g s, want %g", c.name, m.AtOnce, r, c.ranks, end, want)
				}
			}
		}
	}
}

// Ranks of a node share its cores while they compute, and leave them while they wait.
func TestSharedCores(t *testing.T) {
	for _, c := range []struct {
		atOnce   float64
		onNode   int
		computes []float64 // s, of each rank
		want     []float64
	}{
		{4, 0, []float64{1, 2, 3, 4}, []float64{1, 2, 3, 4}},
		{1, 0, []float64{1, 2, 3, 4}, []float64{4, 7, 9, 10}},
		{2, 0, []float64{2, 2, 2, 2}, []float64{4, 4, 4, 4}},
		{2, 0, []float64{1, 2, 3, 4}, []float64{2, 3.5, 4.5, 5.5}},
		{1.5, 0, []float64{3, 0, 0, 6}, []float64{4, 0, 0, 7}},
		{1, 2, []float64{1, 3, 2, 2}, []float64{2, 4, 4, 4}},
		{3, 2, []float64{1, 3, 2, 2}, []float64{1, 3, 2, 2}},
	} {
		m := sim.Model{OnNode: c.onNode, Within: sim.Link{Bytes: 1000}, Between: sim.Link{Bytes: 1000}, AtOnce: c.atOnce}
		ends := play(t, len(c.computes), m, func(world comm.Comm, clock *sim.Clock) { clock.Compute(c.computes[world.Rank()]) })
		for r, end := range ends {
			if math.Abs(end-c.want[r]) > 1e-6 {
				t.Errorf("%+v: rank %d ends at %g s", c, r, end)
			}
		}
		// While half of the ranks wait for a message, the others have all cores.
		ends = play(t, 4, m, func(world comm.Comm, clock *sim.Clock) {
			if r := world.Rank(); r < 2 {
				clock.Compute(4)
				try(world.SendRecv(buf(1000), r+2, nil, comm.None))
			} else {
				try(world.SendRecv(nil, comm.None, buf(1000), r-2))
				clock.Compute(4)
			}
		})
		each := 4.
		if c.onNode == 0 && c.atOnce < 2 || c.onNode == 2 && c.atOnce < 2 {
			each = 8 / c.atOnce
		}
		for r, end := range ends {
			if want := each + 1 + float64(r/2)*each; math.Abs(end-want) > 1e-6 {
				t.Errorf("at once %g: rank %d ends at %g s, want %g", c.atOnce, r, end, want)
			}
		}
	}
}

// A message arrives some time after both ends are there, by the way between their nodes. A
// sender does not wait for its receiver.
func TestMessages(t *testing.T) {
	for _, c := range []struct {
		to, late int // which of the two comes late: by 7 s
		want     [2]float64
	}{
		{1, 1, [2]float64{0.5 + 0.4, 7.9}}, {1, 0, [2]float64{7.9, 7.9}},
		{2, 2, [2]float64{4 + 4, 15}}, {4, 0, [2]float64{7 + 28, 7 + 28}},
	} {
		ends := play(t, 8, model, func(world comm.Comm, clock *sim.Clock) {
			if world.Rank() == c.late {
				clock.Compute(7)
			}
			switch world.Rank() {
			case 0:
				try(world.SendRecv(buf(400), c.to, nil, comm.None))
			case c.to:
				try(world.SendRecv(nil, comm.None, buf(400), 0))
			}
		})
		if got := [2]float64{ends[0], ends[c.to]}; math.Abs(got[0]-c.want[0])+math.Abs(got[1]-c.want[1]) > 1e-6 {
			t.Errorf("to rank %d, %d late: ends are %v, want %v", c.to, c.late, got, c.want)
		}
	}
}

// Groups have the link between their own ranks, and those of a node do not slow each other
// down.
func TestGroups(t *testing.T) {
	ends := play(t, 4, model, func(world comm.Comm, clock *sim.Clock) {
		part, err := world.Split(world.Rank()/2, 0)
		try(err)
		begin := seconds(clock)
		try(part.AllReduce(buf(1000)))
		if took := seconds(clock) - begin; math.Abs(took-2) > 1e-6 {
			t.Errorf("rank %d: a sum on a node takes %g s, want 2", world.Rank(), took)
		}
	})
	if slices.Max(ends) != slices.Min(ends) {
		t.Errorf("ends are %v", ends)
	}
}

// A sum under way hides behind what is computed meanwhile, but for the share in which it
// needs the core itself. Sums of a group follow each other.
func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		core, cores, computes float64
		sums                  int
		want                  float64
	}{
		{0, 1, 5, 1, 5}, {0, 1, 1, 1, 2}, {0, 1, 0, 1, 2}, {0, 1, 1, 3, 6}, {0, 1, 7, 3, 7},
		{1, 1, 5, 1, 7}, {1, 1, 1, 1, 3}, {0.25, 1, 5, 1, 5.5}, {0.25, 1, 1, 1, 2}, {0.25, 1, 1.5, 1, 2}, {0.25, 1, 7, 3, 8.5},
		{1, 4, 5, 1, 5.5}, {1, 0.5, 5, 1, 7}, {9, 4, 5, 1, 7},
	} {
		for _, m := range []sim.Model{model, crowded(1)} {
			m.Within.Core, m.Cores = c.core, c.cores
			ends := play(t, 2, m, func(world comm.Comm, clock *sim.Clock) {
				var under []comm.Request
				for range c.sums {
					r, err := world.StartAllReduce(buf(1000))
					try(err)
					under = append(under, r)
				}
				if m.AtOnce == 1 { // with half a core
					clock.Compute(c.computes / 2)
				} else {
					clock.Compute(c.computes)
				}
				for _, r := range under {
					try(r.Wait())
				}
				clock.Compute(0) // nothing is owed
			})
			for r, end := range ends {
				if math.Abs(end-c.want) > 1e-6 {
					t.Errorf("%+v, at once %g: rank %d ends at %g s", c, m.AtOnce, r, end)
				}
			}
		}
	}
}

// Sums that are begun without waiting have a speed of their own.
func TestStarted(t *testing.T) {
	m := model
	m.Within.Started = 250
	for r, end := range play(t, 2, m, func(world comm.Comm, _ *sim.Clock) { wait(world.StartAllReduce(buf(1000))) }) {
		if math.Abs(end-5) > 1e-6 {
			t.Errorf("rank %d ends at %g s, want 5", r, end)
		}
	}
}

// Vector operations pass the time of the bytes that they move, and read the clock.
func TestVectors(t *testing.T) {
	play(t, 1, model, func(_ comm.Comm, clock *sim.Clock) {
		clock.Memory = 100
		d := device.NewCounter(device.NewHost(1))
		d.Clock = clock
		begin := device.Time(d)
		x, _ := d.Alloc(25, device.F32)
		y, _ := d.Alloc(25, device.F32)
		try(d.Axpby(1, x, 1, y)) // 3 s
		try(d.Zero(x))           // 1 s
		_, err := d.Dots([2]device.Buf{x, y}, [2]device.Buf{x.Slice(0, 25), x})
		try(err) // 3 s
		if took := device.Time(d).Sub(begin).Seconds(); math.Abs(took-7) > 1e-6 {
			t.Errorf("took %g s, want 7", took)
		}
	})
}

// Times are the same in every run, whatever the scheduler does.
func TestSameTimes(t *testing.T) {
	for _, m := range []sim.Model{model, crowded(1), {Within: model.Within, AtOnce: 2.5}} {
		sameTimes(t, m)
	}
}

func sameTimes(t *testing.T, m sim.Model) {
	t.Helper()
	var first []float64
	for run := range 30 {
		ends := play(t, 12, m, func(world comm.Comm, clock *sim.Clock) {
			row, err := world.Split(world.Rank()/3, 0)
			try(err)
			column, err := world.Split(world.Rank()%3, 0)
			try(err)
			for i := range 10 {
				clock.Compute(float64((world.Rank()*7+i)%5) / 8)
				a, err := row.StartAllReduce(buf(4 * (1 + i)))
				try(err)
				b, err := column.StartAllReduce(buf(8))
				try(err)
				clock.Compute(0.3)
				next := (world.Rank() + 1) % 12
				try(world.SendRecv(buf(8), next, buf(8), (world.Rank()+11)%12))
				try(b.Wait())
				try(a.Wait())
			}
		})
		if run == 0 {
			first = ends
		} else if !slices.Equal(ends, first) {
			t.Fatalf("run %d ends at %v, the first at %v", run, ends, first)
		}
	}
}

// The first error by rank is that of the run.
func TestError(t *testing.T) {
	err := sim.Run(4, model, func(c comm.Comm, _ *sim.Clock) error {
		if c.Rank() > 1 {
			return fmt.Errorf("fault of %d", c.Rank())
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "rank 2 of 4: fault of 2") {
		t.Errorf("got %v", err)
	}
}

// Thousands of ranks are no matter.
func TestThousands(t *testing.T) {
	var all sync.Map
	play(t, 4096, model, func(world comm.Comm, clock *sim.Clock) {
		for range 5 {
			try(world.Host().AllReduce(make([]float64, 69), comm.Sum))
			wait(world.StartAllReduce(buf(1000)))
		}
		all.Store(seconds(clock), true)
	})
	n := 0
	all.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d different ends", n)
	}
}
