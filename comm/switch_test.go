package comm_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// named is a carrier of its own, whose calls are counted: splits, and sums by itself and by
// its parts.
type named struct {
	comm.Comm
	name  string
	calls *int
}

func (c *named) Name() string { return c.name }

func (c *named) Split(color, key int) (comm.Comm, error) {
	*c.calls++
	part, err := c.Comm.Split(color, key)
	return &named{part, c.name, c.calls}, err
}

func (c *named) Accumulate(x device.Buf) error { *c.calls += 10; return c.Comm.AllReduce(x) }

func (c *named) NewWindow(int, device.Type) (comm.Window, error) {
	return nil, errors.New("a window where there are sums alone")
}

func (c *named) AllReduce(x device.Buf) error { *c.calls++; return c.Comm.AllReduce(x) }

func (c *named) StartAllReduce(x device.Buf) (comm.Request, error) {
	*c.calls++
	return c.Comm.StartAllReduce(x)
}

// switching runs body on ranks with a switch between two carriers of their own, and four
// views of the control.
func switching(n int, body func(s *comm.Switch, calls map[string]*int) error) error {
	return commtest.Ranks(n, func(c comm.Comm) error {
		var carriers []comm.Comm
		calls := map[string]*int{}
		for _, name := range []string{"one", "two"} {
			own, err := c.Split(0, c.Rank())
			if err != nil {
				return err
			}
			calls[name] = new(int)
			carriers = append(carriers, &named{own, name, calls[name]})
		}
		oneSided, err := comm.OneSidedSums(c, nil)
		if err != nil {
			return err
		}
		return body(comm.NewSwitch(c, append(carriers, c, comm.Staged(c), oneSided)...), calls)
	})
}

// A switch does what every communicator must do, by each carrier, and when carriers are
// dropped before groups are split off and in between.
func TestSwitch(t *testing.T) {
	names := []string{"one", "two", "goroutines", "goroutines-staged", "goroutines-onesided"}
	for what, turn := range map[string]func(s *comm.Switch) (want string, left []string){
		"first": func(s *comm.Switch) (string, []string) { return "one", names },
		"used": func(s *comm.Switch) (string, []string) {
			s.Use("two")
			return "two", names
		},
		"used view": func(s *comm.Switch) (string, []string) {
			s.Use("goroutines-onesided")
			return "goroutines-onesided", names
		},
		"dropped": func(s *comm.Switch) (string, []string) {
			s.Drop("one")
			return "two", names[1:]
		},
		"another dropped": func(s *comm.Switch) (string, []string) {
			s.Use("goroutines-staged")
			s.Drop("one")
			return "goroutines-staged", names[1:]
		},
		"all dropped": func(s *comm.Switch) (string, []string) {
			for _, name := range names {
				s.Drop(name)
			}
			return "goroutines", []string{"goroutines"}
		},
	} {
		t.Run(what, func(t *testing.T) {
			commtest.Run(t, func(n int, body func(c comm.Comm) error) error {
				return switching(n, func(s *comm.Switch, _ map[string]*int) error {
					if want, left := turn(s); s.Name() != want || !slices.Equal(s.Carriers(), left) {
						return fmt.Errorf("%s carries, of %v, want %s of %v", s.Name(), s.Carriers(), want, left)
					}
					return body(s)
				})
			}, 1, 3)
		})
	}
}

// Groups that were split off change with the switch that they come from. Buffers go by the
// carrier in use and by no other.
func TestSwitchesChangeTogether(t *testing.T) {
	err := switching(4, func(s *comm.Switch, calls map[string]*int) error {
		half, err := s.Split(s.Rank()%2, s.Rank())
		if err != nil {
			return err
		}
		x := device.Wrap(device.NewHost(1), []float64{1})
		for i, step := range []struct {
			turn     func()
			one, two int // calls
			carried  []string
		}{
			{func() {}, 2, 1, []string{"one"}}, // both were split
			{func() { s.Use("two") }, 2, 2, []string{"one", "two"}},
			{func() { half.(*comm.Switch).Use("one") }, 3, 2, []string{"one", "two"}},
			{func() { s.Drop("one") }, 3, 3, []string{"one", "two"}},
			{func() { half, err = s.Split(s.Rank()%2, 0) }, 3, 5, []string{"one", "two"}},
			{func() { s.Drop("two") }, 3, 5, []string{"one", "two", "goroutines"}},
		} {
			if step.turn(); err != nil {
				return err
			}
			if err := half.AllReduce(x); err != nil {
				return err
			}
			if sum := device.Slice[float64](x)[0]; sum != float64(int(2)<<i) {
				return fmt.Errorf("step %d: %g, want %d", i, sum, 2<<i)
			}
			if *calls["one"] != step.one || *calls["two"] != step.two || !slices.Equal(s.Carried(), step.carried) {
				return fmt.Errorf("step %d: %d and %d calls, %v have carried", i, *calls["one"], *calls["two"], s.Carried())
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A view of the control is split off as a view of the control's part, of which there is one
// for all views.
func TestSwitchSplitsViews(t *testing.T) {
	err := commtest.Ranks(4, func(c comm.Comm) error {
		control := &named{c, "control", new(int)}
		oneSided, err := comm.OneSidedSums(control, nil)
		if err != nil {
			return err
		}
		part, err := comm.NewSwitch(control, control, oneSided, comm.Staged(control)).Split(c.Rank()/2, 0)
		if err != nil {
			return err
		}
		s := part.(*comm.Switch)
		for _, step := range []struct {
			use   string
			calls int // so far: 1 for the split
		}{{"control", 2}, {"control-onesided", 12}, {"control-staged", 13}} {
			s.Use(step.use)
			x := device.Wrap(device.NewHost(1), []float64{1})
			if err := s.AllReduce(x); err != nil {
				return err
			}
			if sum := device.Slice[float64](x)[0]; sum != 2 || *control.calls != step.calls {
				return fmt.Errorf("%s: sum %g after %d calls, want 2 after %d", step.use, sum, *control.calls, step.calls)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// refusing is a communicator whose library refuses memory for one-sided sums.
type refusing struct{ comm.OneSided }

var errRefused = status.Resource(errors.New("no windows"))

func (c refusing) Accumulate(device.Buf) error { return errRefused }

// Where the library refuses one-sided sums, that is an error, or all-reduces sum and the
// refusal is told once.
func TestOneSidedSumsRefused(t *testing.T) {
	err := commtest.Ranks(2, func(c comm.Comm) error {
		x := device.Wrap(device.NewHost(1), []float64{1})
		strict, err := comm.OneSidedSums(refusing{c.(comm.OneSided)}, nil)
		if err != nil {
			return err
		}
		if err := strict.AllReduce(x); !errors.Is(err, errRefused) {
			return fmt.Errorf("%v, want %v", err, errRefused)
		}
		var told []error
		s, err := comm.OneSidedSums(refusing{c.(comm.OneSided)}, func(err error) { told = append(told, err) })
		if err != nil {
			return err
		}
		for range 2 {
			if err := s.AllReduce(x); err != nil {
				return err
			}
		}
		if sum := device.Slice[float64](x)[0]; sum != 4 || len(told) != 1 || !errors.Is(told[0], errRefused) {
			return fmt.Errorf("sum %g, told %v", sum, told)
		}
		_, err = comm.OneSidedSums(struct{ comm.Comm }{c}, nil) // hides what else it can
		if status.Code(err) != status.NoResource {
			return fmt.Errorf("without one-sided access: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
