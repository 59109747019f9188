package bench

import (
	_ "embed"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

//go:embed limits.cu
var limitsText string

// LimitsSource is the program that measures a card's limits.
func LimitsSource() accel.Source { return accel.Source{Name: "limits.cu", Text: limitsText} }

// CardLimits are the measured maximal rates of a card.
type CardLimits struct {
	CopyBytes float64 `json:"copy_bytes"` // bytes per second that a copy kernel reads and writes, together
	Issue     float64 `json:"issue"`      // instructions per second that threads can issue, of multiply-adds
}

// MeasureCard measures the limits of a card in well under a second. Figures are medians of
// runs, and the results of the timed kernels are checked.
func MeasureCard(d *gpu.Device, runs int) (l CardLimits, err error) {
	m, err := d.Build(LimitsSource())
	if err != nil {
		return l, err
	}
	if l.CopyBytes, err = copyLimit(d, m, runs); err != nil {
		return l, err
	}
	l.Issue, err = issueLimit(d, m, runs)
	return l, err
}

const (
	cardThreads = 256
	mostCopied  = 256 << 20 // bytes, beyond any cache
)

// seconds is the median of launches of a card that is warm. As many are timed together as take so
// long that the start of the first and the wait for the last do not count.
func seconds(d *gpu.Device, runs int, launch func()) (float64, error) {
	const enough = 5e6 // ns
	if err := warm(d, func() error { launch(); return nil }); err != nil {
		return 0, err
	}
	for n := 1; ; n *= 2 {
		ns, err := medianOf(runs, d, func() error {
			for range n {
				launch()
			}
			return nil
		})
		if err != nil || ns >= enough {
			return ns / 1e9 / float64(n), err
		}
	}
}

func copyLimit(d *gpu.Device, m *accel.Module, runs int) (float64, error) {
	f, err := m.Function("copy")
	if err != nil {
		return 0, err
	}
	n := int(min(mostCopied, d.Card().Memory/64)) / 16 * 4 // float32
	var bufs [2]device.Buf
	for i := range bufs {
		if bufs[i], err = d.Alloc(n, device.F32); err != nil {
			return 0, err
		}
		defer d.Free(bufs[i])
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i % 1021)
	}
	if err := device.Upload(bufs[1], x); err != nil {
		return 0, err
	}
	at := func(i int) accel.Memory { return bufs[i].(*gpu.Buf).Memory() }
	took, err := seconds(d, runs, func() {
		d.Context().Launch(d.Context().Main(), f, accel.Line(32*d.Card().Multiprocessors, cardThreads), at(0), at(1), int64(n/4))
	})
	if err != nil {
		return 0, err
	}
	clear(x)
	if err := device.Download(x, bufs[0]); err != nil {
		return 0, err
	}
	for i, v := range x {
		if v != float32(i%1021) {
			return 0, status.Numerical(fmt.Errorf("bench: the card copied element %d as %g, want %d", i, v, i%1021))
		}
	}
	return 2 * 4 * float64(n) / took, nil
}

func issueLimit(d *gpu.Device, m *accel.Module, runs int) (float64, error) {
	f, err := m.Function("issue")
	if err != nil {
		return 0, err
	}
	blocks := 8 * d.Card().Multiprocessors
	threads := blocks * cardThreads
	out, err := d.Alloc(threads, device.F32)
	if err != nil {
		return 0, err
	}
	defer d.Free(out)
	launch := func(rounds int) func() {
		return func() {
			d.Context().Launch(d.Context().Main(), f, accel.Line(blocks, cardThreads), out.(*gpu.Buf).Memory(),
				int32(rounds), float32(0.5), float32(1))
		}
	}
	// As many rounds as take a millisecond or so.
	rounds := 1
	took := 0.0
	for ; ; rounds *= 4 {
		if took, err = seconds(d, 1, launch(rounds)); err != nil {
			return 0, err
		}
		if took > 1e-3 || rounds > 1<<16 {
			break
		}
	}
	if took, err = seconds(d, runs, launch(rounds)); err != nil {
		return 0, err
	}
	// v → v/2 + 1 from a whole number me + c.
	last := make([]float32, threads)
	if err := device.Download(last, out); err != nil {
		return 0, err
	}
	for me, got := range last {
		want := 0.0
		for c := range 8 {
			want += 2 + math.Ldexp(float64(me+c-2), -8*rounds)
		}
		if math.Abs(float64(got)-want) > 1e-4*want {
			return 0, status.Numerical(fmt.Errorf("bench: thread %d of the card computed %g, want %g", me, got, want))
		}
	}
	return 64 * float64(rounds) * float64(threads) / took, nil
}
