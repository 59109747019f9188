package nccl_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
)

// step is one call of a random program, the same on all ranks.
type step struct {
	kind, n, root, shift int
	wide                 bool // float64
}

var kinds = []string{"all-reduce", "start", "wait", "broadcast", "all-gather", "shift", "part"}

// play runs a program and returns what every buffer holds in the end. Numbers are
// small and whole, so that every sum is exact.
func play(c comm.Comm, program []step) (out []device.Buf, err error) {
	var under []comm.Request
	buf := func(s step, n int) device.Buf {
		h := device.NewHost(1)
		value := func(i int) float64 { return float64((i*5+c.Rank()*3+s.n)%17 - 8) }
		var b device.Buf
		if s.wide {
			v := make([]float64, n)
			for i := range v {
				v[i] = value(i)
			}
			b = device.Wrap(h, v)
		} else {
			v := make([]float32, n)
			for i := range v {
				v[i] = float32(value(i))
			}
			b = device.Wrap(h, v)
		}
		out = append(out, b)
		return b
	}
	for _, s := range program {
		root := s.root % c.Size()
		counts, whole := make([]int, c.Size()), 0
		for r := range counts {
			counts[r] = (s.n + r*s.shift) % 50
			whole += counts[r]
		}
		switch kinds[s.kind] {
		case "all-reduce":
			err = c.AllReduce(buf(s, s.n))
		case "start":
			var r comm.Request
			if r, err = c.StartAllReduce(buf(s, s.n)); err == nil {
				under = append(under, r)
			}
		case "wait":
			if i := s.root; i < len(under) {
				err = under[i].Wait()
				under = append(under[:i:i], under[i+1:]...)
			}
		case "broadcast":
			err = c.Bcast(buf(s, s.n), root)
		case "all-gather":
			err = c.AllGather(buf(s, whole), buf(s, counts[c.Rank()]), counts)
		case "shift":
			to, from := (c.Rank()+s.shift)%c.Size(), (c.Rank()+(c.Size()-1)*s.shift)%c.Size()
			err = c.SendRecv(buf(s, s.n), to, buf(s, s.n), from)
		case "part":
			var part comm.Comm
			if part, err = c.Split(c.Rank()%(1+s.root%2), -c.Rank()); err == nil {
				err = part.AllReduce(buf(s, s.n))
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kinds[s.kind], err)
		}
	}
	for _, r := range under {
		if err := r.Wait(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Any program gives what it gives among goroutines.
func TestRandomPrograms(t *testing.T) {
	devices := cards(t, driver.CUDA, 4)
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 4).Draw(t, "ranks")
		program := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{kind: rapid.IntRange(0, len(kinds)-1).Draw(t, "kind"), n: rapid.IntRange(0, 300).Draw(t, "n"),
				root: rapid.IntRange(0, 3).Draw(t, "root"), shift: rapid.IntRange(0, 3).Draw(t, "shift"),
				wide: rapid.Bool().Draw(t, "wide")}
		}), 1, 12).Draw(t, "program")
		err := commtest.Ranks(size, func(control comm.Comm) error {
			want, err := play(control, program)
			if err != nil {
				return err
			}
			d := devices[control.Rank()]
			g, err := nccl.New(control, d, nccl.Options{})
			if err != nil {
				return err
			}
			got, err := play(onDevice{g, d}, program)
			if err != nil {
				return err
			}
			if fmt.Sprint(values(got)) != fmt.Sprint(values(want)) {
				return fmt.Errorf("%v, want %v", values(got), values(want))
			}
			return g.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func values(bufs []device.Buf) (v []any) {
	for _, b := range bufs {
		if b.Type() == device.F64 {
			v = append(v, device.Slice[float64](b))
		} else {
			v = append(v, device.Slice[float32](b))
		}
	}
	return v
}
