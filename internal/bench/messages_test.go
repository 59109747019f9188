package bench

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
)

// What send-recv measures on each size, in this order, without the kernel.
var pairWays = []string{"goroutines one-way", "goroutines both-ways", "goroutines-put one-way", "goroutines-put both-ways",
	"goroutines-get one-way", "goroutines-get both-ways", "copy local"}

// waysOf are the ways of some rows, those beside a kernel with a +, and rows that were not
// measured with their reason.
func waysOf(rows []CommRow) (list []string) {
	for _, r := range rows {
		name := r.Backend + " " + r.Direction
		if r.Beside {
			name += " +"
		}
		if r.Why != "" {
			name = "not " + r.Backend + ": " + r.Why
		}
		list = append(list, name)
	}
	return list
}

// Arrays arrive by every way, on every size and type, alone and beside a kernel.
func TestMessages(t *testing.T) {
	for ranks := 1; ranks <= 5; ranks++ {
		for _, typ := range []device.Type{device.F32, device.F64, device.I64} {
			err := commtest.Ranks(ranks, func(c comm.Comm) error {
				s := spec(typ, sendRecv)
				s.First, s.Factor = 256, 64
				if ranks <= 2 && typ == device.F32 {
					s.Beside = device.NewHost(1)
				}
				rows, err := rowsOf(c, s)
				if err != nil {
					return err
				}
				var want []string
				ways := pairWays
				if ranks == 1 {
					ways = []string{"copy local"}
					want = []string{"not messages: they take two ranks, this is one"}
				}
				for range 2 {
					for _, w := range ways {
						if want = append(want, w); s.Beside != nil {
							want = append(want, w+" +")
						}
					}
				}
				if got := waysOf(rows); !slices.Equal(got, want) {
					return fmt.Errorf("ways %q, want %q", got, want)
				}
				for i, r := range rows {
					if size := int64(256) << (6 * (2 * i / len(rows))); r.Why == "" &&
						(r.Wrong != 0 || r.Size != size || int64(r.Count)*int64(typ.Size()) != size || r.Seconds <= 0 || r.Bus != r.Algorithm) {
						return fmt.Errorf("%+v: want %d bytes, none wrong", r, size)
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("%v: %v", typ, err)
			}
		}
	}
}

// lazy loses the last element of every message, and does nothing to windows.
type lazy struct{ comm.OneSided }

type lazyWindow struct{ comm.Window }

func (c lazy) SendRecv(send device.Buf, to int, recv device.Buf, from int) error {
	err := c.OneSided.SendRecv(send, to, recv, from)
	if recv != nil && recv.Len() > 1 {
		err = errors.Join(err, recv.Device().Zero(recv.Slice(recv.Len()-1, 1)))
	}
	return err
}

func (c lazy) NewWindow(n int, t device.Type) (comm.Window, error) {
	w, err := c.OneSided.NewWindow(n, t)
	return lazyWindow{w}, err
}

func (lazyWindow) Put(device.Buf, int) error { return nil }
func (lazyWindow) Get(device.Buf, int) error { return nil }

// Whatever does not arrive is counted on the ranks that wait for it.
func TestMessagesFindWhatIsMissing(t *testing.T) {
	err := commtest.Ranks(5, func(c comm.Comm) error { // two pairs, and one that takes no part
		s := spec(device.F64, sendRecv)
		rows, err := rowsOf(lazy{c.(comm.OneSided)}, s)
		for _, r := range rows {
			wrong := map[string]int{"goroutines": 1, "goroutines-put": r.Count, "goroutines-get": r.Count}[r.Backend] * s.Iterations
			if want := map[string]int{OneWay: 2, BothWays: 4}[r.Direction] * wrong; r.Wrong != int64(want) {
				return fmt.Errorf("%s %s of %d: %d wrong, want %d", r.Backend, r.Direction, r.Count, r.Wrong, want)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// twoSided has no windows; refusing has none to give.
type twoSided struct{ comm.Comm }

type refusing struct{ comm.OneSided }

func (refusing) NewWindow(int, device.Type) (comm.Window, error) {
	return nil, errors.New("there are no windows")
}

// Ways that there are not say why.
func TestMessagesThatCannotBe(t *testing.T) {
	for want, as := range map[string]func(comm.Comm) comm.Comm{
		"not put, get: goroutines has no one-sided access": func(c comm.Comm) comm.Comm { return twoSided{c} },
		"not put, get: there are no windows":               func(c comm.Comm) comm.Comm { return refusing{c.(comm.OneSided)} },
	} {
		err := commtest.Ranks(2, func(c comm.Comm) error {
			s := spec(device.F32, sendRecv)
			s.Last = s.First
			rows, err := rowsOf(as(c), s)
			if got := waysOf(rows); err == nil && !slices.Equal(got, []string{want, pairWays[0], pairWays[1], "copy local"}) {
				return fmt.Errorf("ways %q, want %q first", got, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
