package dist

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"pgregory.net/rapid"
)

// wanted is what random makes of a layout on one rank.
func wanted(l *Layout, seed uint64) ([]float64, error) {
	var alone func(l *Layout) *Layout
	alone = func(l *Layout) *Layout {
		if l.Parts == nil {
			return Local(l.Type, l.Shape...)
		}
		parts := make([]*Layout, len(l.Parts))
		for i, p := range l.Parts {
			parts[i] = alone(p)
		}
		return Stack(parts...)
	}
	v, err := random(host, alone(l), seed)
	if err != nil {
		return nil, err
	}
	var out []float64
	err = eachBuf(v, func(b device.Buf) error { out = append(out, read(b)...); return nil })
	return out, err
}

// A vector comes together on the first rank in consecutive stretches, and goes
// back to all copies, whatever it is split over and however long a stretch may be.
func TestGatherAndScatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shots := rapid.IntRange(1, 3).Draw(t, "shots")
		blocks := rapid.IntRange(1, 3).Draw(t, "blocks")
		n := rapid.IntRange(0, 25).Draw(t, "n")
		m := rapid.IntRange(0, 25).Draw(t, "m")
		limit := rapid.IntRange(0, 9).Draw(t, "limit")
		typ := rapid.SampledFrom(types).Draw(t, "type")
		err := onGrid(shots, blocks, typ, func(p place) error {
			l := Stack(p.rows(n), Stack(p.columns(m), p.rows(3)))
			v, err := random(host, l, 6)
			if err != nil {
				return err
			}
			want, err := wanted(l, 6)
			if err != nil {
				return err
			}
			var got []float64
			err = GatherEach(v, limit, func(first int, part device.Buf) error {
				if p.i+p.j > 0 || first != len(got) || part.Len() < 1 || limit > 0 && part.Len() > limit || part.Type() != typ {
					return fmt.Errorf("rank (%d, %d) gets %d %v from %d on, after %d", p.i, p.j, part.Len(), part.Type(), first, len(got))
				}
				got = append(got, read(part)...)
				return nil
			})
			if err != nil {
				return err
			}
			if p.i+p.j == 0 && !slices.Equal(got, want) {
				return fmt.Errorf("%v came together as %v", want, got)
			}
			back, err := v.Clone()
			if err != nil {
				return err
			}
			filled := 0
			err = ScatterEach(back, limit, func(first int, part device.Buf) error {
				if p.i+p.j > 0 || first != filled {
					return fmt.Errorf("rank (%d, %d) is to fill from %d on, after %d", p.i, p.j, first, filled)
				}
				filled += part.Len()
				write(part, want[first:filled])
				return nil
			})
			if err != nil {
				return err
			}
			return equalVectors(back, v)
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func equalVectors(got, want *Vector) error {
	return pairBufs(got, want, func(a, b device.Buf) error {
		if x, y := read(a), read(b); !slices.Equal(x, y) {
			return fmt.Errorf("got %v, want %v", x, y)
		}
		return nil
	})
}

// Whole vectors at once, over ranks that hold their stretches in any order.
func TestWholeVectors(t *testing.T) {
	for _, typ := range types {
		must(t, onGrid(4, 2, typ, func(p place) error {
			l := scattered(typ, []int{5, 3}, []int{0, 1, 1, 4, 5}, []int{2, 0, 3, 1}, p.alongShots, p.alongBlocks)
			s := Stack(l, p.columns(0), p.columns(7))
			v, err := random(host, s, 9)
			if err != nil {
				return err
			}
			want, err := wanted(s, 9)
			if err != nil {
				return err
			}
			got, err := gather(v)
			if err != nil {
				return err
			}
			if p.i+p.j == 0 {
				if len(got) != 3 || got[1].Len() != 0 || !slices.Equal(append(read(got[0]), read(got[2])...), want) {
					return fmt.Errorf("got %d leaves, want %v", len(got), want)
				}
			} else if got != nil {
				return fmt.Errorf("rank (%d, %d) got %d leaves", p.i, p.j, len(got))
			}
			back, err := v.Clone()
			if err != nil {
				return err
			}
			if err := scatter(back, got); err != nil {
				return err
			}
			return equalVectors(back, v)
		}))
	}
}

// An error on the first rank is everyone's, with its status, and ends nothing
// early: all go on together.
func TestGatherErrorsReachAllRanks(t *testing.T) {
	must(t, onGrid(3, 2, device.F64, func(p place) error {
		v, err := random(host, Stack(p.rows(20), p.columns(6)), 2)
		if err != nil {
			return err
		}
		for _, at := range []int{0, 8, 19, 22} {
			f := func(first int, _ device.Buf) error {
				switch {
				case first > at:
					return errors.New("called after an error")
				case first == at:
					return status.Resource(errors.New("disk full"))
				}
				return nil
			}
			for k, pass := range []func(*Vector, int, func(int, device.Buf) error) error{GatherEach, ScatterEach} {
				err := pass(v, 1, f)
				if err == nil || err.Error() != "disk full" || status.Code(err) != status.NoResource {
					return fmt.Errorf("%s, element %d: %v", []string{"gather", "scatter"}[k], at, err)
				}
			}
		}
		six := device.Wrap(host, make([]float64, 6))
		for _, w := range []struct {
			text  string
			whole []device.Buf
		}{
			{"6 float64 for leaf 0", []device.Buf{six, six}},
			{"20 float32", []device.Buf{device.Wrap(host, make([]float32, 20)), six}},
			{"1 buffers", []device.Buf{device.Wrap(host, make([]float64, 20))}},
		} {
			if err := scatter(v, w.whole); err == nil || !strings.Contains(err.Error(), w.text) {
				return fmt.Errorf("want an error with %q: %v", w.text, err)
			}
		}
		gap := *p.rows(20)
		gap.Off++
		g, err := NewVector(host, &gap)
		if err != nil {
			return err
		}
		if _, err := gather(g); err == nil || !strings.Contains(err.Error(), "should follow") {
			return fmt.Errorf("a layout with a gap: %v", err)
		}
		return nil
	}))
}

// messages counts what goes from rank to rank.
type messages struct {
	comm.Comm
	sent *int
}

func (m messages) SendRecv(send device.Buf, to int, recv device.Buf, from int) error {
	if send != nil {
		*m.sent += send.Len()
	}
	return m.Comm.SendRecv(send, to, recv, from)
}

// Only the first of the copies sends, and only what the first rank lacks.
func TestOneCopySends(t *testing.T) {
	must(t, onGrid(3, 2, device.F32, func(p place) error {
		sent := 0
		l := p.rows(20)
		l.Shards = messages{l.Shards, &sent}
		v, err := random(host, l, 1)
		if err != nil {
			return err
		}
		if _, err := gather(v); err != nil {
			return err
		}
		want := l.N
		if p.i == 0 || p.j > 0 {
			want = 0
		}
		if sent != want {
			return fmt.Errorf("rank (%d, %d) sent %d elements, want %d", p.i, p.j, sent, want)
		}
		return nil
	}))
}

// Vectors on a device that is not the host cross to it a stretch at a time.
func TestGatherFromDevices(t *testing.T) {
	must(t, commtest.Ranks(3, func(c comm.Comm) error {
		l := Split(device.F32, []int{10}, []int{0, 4, 6, 10}, c, comm.Self())
		d := &counting{Host: device.NewHost(1)}
		v, err := NewVector(d, l)
		if err != nil {
			return err
		}
		next := float64(0)
		err = ScatterEach(v, 3, func(first int, part device.Buf) error {
			if _, ok := part.Device().(*device.Host); !ok || part.Len() > 3 {
				return fmt.Errorf("%d elements on %T", part.Len(), part.Device())
			}
			x := make([]float64, part.Len())
			for i := range x {
				x[i], next = next, next+1
			}
			write(part, x)
			return nil
		})
		if err != nil {
			return err
		}
		for i, x := range read(v.Buf) {
			if x != float64(l.Off+i) {
				return fmt.Errorf("element %d is %v", l.Off+i, x)
			}
		}
		whole, err := gather(v)
		if err != nil || c.Rank() > 0 {
			return err
		}
		for i, x := range read(whole[0]) {
			if x != float64(i) {
				return fmt.Errorf("element %d came back as %v", i, x)
			}
		}
		return nil
	}))
}
