package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

func spec(t device.Type, operations ...string) CommSpec {
	return CommSpec{First: 64, Last: 1 << 14, Factor: 4, Iterations: 2, Warmup: 1, Operations: operations, Type: t}
}

// rowsOf runs all operations of a spec.
func rowsOf(c comm.Comm, s CommSpec) ([]CommRow, error) {
	b, err := NewComm(s, c)
	if err != nil {
		return nil, err
	}
	var rows []CommRow
	for _, o := range b.Operations {
		if err := b.Run(context.Background(), o, func(r CommRow) { rows = append(rows, r) }); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// byAll are the operations in which all ranks do the same.
var byAll = []string{"all-reduce", "start-all-reduce", "accumulate", "all-gather", "broadcast"}

// Every operation gives right results on every size and type, and every column
// follows from size, count and time.
func TestCommRows(t *testing.T) {
	factors := map[string]func(n float64) float64{
		"all-reduce":       func(n float64) float64 { return 2 * (n - 1) / n },
		"start-all-reduce": func(n float64) float64 { return 2 * (n - 1) / n },
		"accumulate":       func(n float64) float64 { return 2 * (n - 1) / n },
		"all-gather":       func(n float64) float64 { return (n - 1) / n },
		"broadcast":        func(n float64) float64 { return min(1, n-1) },
	}
	for ranks := 1; ranks <= 4; ranks++ {
		for _, typ := range []device.Type{device.F32, device.F64, device.I64} {
			err := commtest.Ranks(ranks, func(c comm.Comm) error {
				rows, err := rowsOf(c, spec(typ, byAll...))
				if err != nil {
					return err
				}
				if want := 5 * len(factors); len(rows) != want {
					return fmt.Errorf("%d rows, want %d", len(rows), want)
				}
				for i, r := range rows {
					size := int64(64) << (2 * (i % 5))
					count := r.Size / int64(typ.Size())
					if r.Operation == "all-gather" {
						count /= int64(ranks)
						size -= size % int64(ranks*typ.Size())
					}
					if r.Size != size || int64(r.Count) != count || r.Wrong != 0 {
						return fmt.Errorf("%+v: want %d elements of %d bytes, none wrong", r, count, size)
					}
					bus := r.Algorithm * factors[r.Operation](float64(ranks))
					if r.Seconds <= 0 || math.Abs(r.Algorithm*r.Seconds/float64(r.Size)-1) > 1e-12 || math.Abs(r.Bus-bus) > 1e-12*bus {
						return fmt.Errorf("%+v: columns do not follow", r)
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

// crooked spoils one element on one rank, after everything else went well.
type crooked struct {
	comm.Comm
	rank, element int
}

func (c crooked) spoil(x device.Buf, err error) error {
	if s := device.Slice[float32](x); err == nil && c.Rank() == c.rank && c.element < len(s) {
		s[c.element]++
	}
	return err
}

func (c crooked) AllReduce(x device.Buf) error { return c.spoil(x, c.Comm.AllReduce(x)) }
func (c crooked) StartAllReduce(x device.Buf) (comm.Request, error) {
	return comm.Done, c.AllReduce(x)
}
func (c crooked) Bcast(x device.Buf, root int) error { return c.spoil(x, c.Comm.Bcast(x, root)) }
func (c crooked) AllGather(dst, src device.Buf, counts []int) error {
	return c.spoil(dst, c.Comm.AllGather(dst, src, counts))
}
func (c crooked) Accumulate(x device.Buf) error { return c.AllReduce(x) }
func (c crooked) NewWindow(int, device.Type) (comm.Window, error) {
	return nil, errors.New("no window is asked for")
}

// A wrong element, anywhere on any rank, is counted in each iteration, on every
// rank alike.
func TestCommFindsOneWrongElement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 4).Draw(t, "ranks")
		rank := rapid.IntRange(0, ranks-1).Draw(t, "rank")
		element := rapid.IntRange(0, 999).Draw(t, "element")
		err := commtest.Ranks(ranks, func(c comm.Comm) error {
			s := spec(device.F32, byAll...)
			s.First, s.Last = int64(4000*ranks), int64(4000*ranks)
			rows, err := rowsOf(crooked{c, rank, element}, s)
			for _, r := range rows {
				if r.Wrong != int64(s.Iterations) {
					return fmt.Errorf("%s: %d wrong, want %d", r.Operation, r.Wrong, s.Iterations)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// idle does nothing, as a collective that got lost.
type idle struct{ comm.Comm }

func (idle) AllReduce(device.Buf) error                      { return nil }
func (idle) StartAllReduce(device.Buf) (comm.Request, error) { return comm.Done, nil }
func (idle) Bcast(device.Buf, int) error                     { return nil }
func (idle) AllGather(_, _ device.Buf, _ []int) error        { return nil }

func TestCommFindsWhatWasNotDone(t *testing.T) {
	err := commtest.Ranks(3, func(c comm.Comm) error {
		s := spec(device.F32, "all-reduce", "start-all-reduce", "all-gather", "broadcast")
		rows, err := rowsOf(idle{c}, s)
		for _, r := range rows {
			all := int64(r.Count * c.Size() * s.Iterations) // nothing is right by chance,
			switch r.Operation {
			case "broadcast":
				all -= int64(r.Count * s.Iterations) // but the root has it already
			case "all-gather":
				all *= int64(c.Size())
			}
			if r.Wrong != all {
				return fmt.Errorf("%s of %d: %d wrong, want %d", r.Operation, r.Size, r.Wrong, all)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Parts that trade places are wrong, whatever the power of two they begin at.
func TestCommValuesTellPlaces(t *testing.T) {
	for shift := 1; shift < 1<<30; shift *= 2 {
		for i := range period {
			if value(3, i) == value(3, i+shift) {
				t.Fatalf("elements %d and %d are alike", i, i+shift)
			}
		}
	}
	for r := 1; r < period; r++ {
		if value(0, 5) == value(r, 5) {
			t.Fatalf("ranks 0 and %d have the same values", r)
		}
	}
}

func TestCommEndsWithMemory(t *testing.T) {
	err := commtest.Ranks(2, func(c comm.Comm) error {
		s := spec(device.F32)
		s.Memory = 3*2*1024 + 5000*int64(c.Rank()) // the rank with the least counts
		b, err := NewComm(s, c)
		if err != nil {
			return err
		}
		if fmt.Sprint(b.Sizes, b.Left, b.Here) != "[64 256 1024] [4096 16384] 2" {
			return fmt.Errorf("sizes %v, left %v, %d ranks here", b.Sizes, b.Left, b.Here)
		}
		s.Memory = 100
		if _, err = NewComm(s, c); status.Code(err) != status.NoResource {
			return fmt.Errorf("memory for nothing: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCommRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*CommSpec)
		code   int
	}{
		"first":         {func(s *CommSpec) { s.First = 3 }, status.BadUsage},
		"last":          {func(s *CommSpec) { s.Last = 63 }, status.BadUsage},
		"factor":        {func(s *CommSpec) { s.Factor = 1 }, status.BadUsage},
		"iterations":    {func(s *CommSpec) { s.Iterations = 0 }, status.BadUsage},
		"warm-up":       {func(s *CommSpec) { s.Warmup = -1 }, status.BadUsage},
		"operation":     {func(s *CommSpec) { s.Operations = []string{"all-to-all"} }, status.BadUsage},
		"not one-sided": {func(s *CommSpec) { s.Operations = []string{"accumulate"} }, status.NoResource},
	} {
		s := spec(device.F32)
		c.change(&s)
		if _, err := NewComm(s, comm.Self()); status.Code(err) != c.code {
			t.Errorf("%s: %v, want status %d", name, err, c.code)
		}
	}
}

// When one rank is told to stop all do.
func TestCommStopsTogether(t *testing.T) {
	err := commtest.Ranks(3, func(c comm.Comm) error {
		b, err := NewComm(spec(device.F32), c)
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		rows := 0
		err = b.Run(ctx, "broadcast", func(CommRow) {
			if rows++; rows == 2 && c.Rank() == 1 {
				stop()
			}
		})
		if !errors.Is(err, context.Canceled) || rows != 2 {
			return fmt.Errorf("%d rows, then %v", rows, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCopyBandwidth(t *testing.T) {
	b, err := NewComm(spec(device.F32), comm.Self())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := b.CopyBandwidth(); err != nil || !(r > 0) || math.IsInf(r, 0) {
		t.Errorf("%g bytes per second, %v", r, err)
	}
}
