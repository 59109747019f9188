package gpu

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
)

// hold keeps a card busy until its release is called.
func hold(t *testing.T, d *Device) (release func()) {
	t.Helper()
	m, err := d.Build(accel.Source{Name: "hold.cu", Text: `extern "C" __global__ void hold(volatile int *go) { while (!*go); }`})
	must(t, err)
	f, err := m.Function("hold")
	must(t, err)
	p, err := d.context.AllocPinned(4)
	must(t, err)
	clear(p.Bytes)
	gate := (*int32)(unsafe.Pointer(unsafe.SliceData(p.Bytes)))
	d.context.Launch(d.context.Main(), f, accel.Line(1, 1), accel.Memory(uintptr(unsafe.Pointer(gate))))
	release = func() { atomic.StoreInt32(gate, 1) }
	t.Cleanup(release)
	return release
}

// A stretch is copied while the card works on the one before, but not over one that the
// card still works on.
func TestFeed(t *testing.T) {
	d := open(t, Options{})
	const n = 1000
	f, err := d.NewFeed(n, device.F32)
	must(t, err)
	defer f.Close()
	stage, done, err := d.Stage(n, device.F32)
	must(t, err)
	defer done()
	host := device.Slice[float32](stage)
	send := func(value float32, n int) (device.Buf, error) {
		for i := range host {
			host[i] = value
		}
		return f.Send(stage.Slice(0, n))
	}
	out, err := d.Alloc(n, device.F32)
	must(t, err)
	for i := range 3 {
		round := float32(i)
		f.Start()
		first, err := send(10*round+1, n)
		must(t, err)
		f.Take()
		release := hold(t, d)
		must(t, d.Copy(out, first)) // work on the first stretch
		second, err := send(10*round+2, n/2)
		must(t, err) // with the card held
		f.Take()
		third := make(chan device.Buf)
		go func() {
			b, err := send(10*round+3, n)
			if err != nil {
				t.Error(err)
			}
			third <- b
		}()
		select {
		case <-third:
			t.Fatal("the third stretch came over the first, which the card works on")
		case <-time.After(20 * time.Millisecond): // however long: nothing may come
		}
		release()
		last := <-third
		for _, c := range []struct {
			of   device.Buf
			want float32
			n    int
		}{{out, 1, n}, {second, 2, n / 2}, {last, 3, n}} {
			got := make([]float32, c.of.Len())
			must(t, device.Download(got, c.of))
			if len(got) != c.n || slices.ContainsFunc(got, func(v float32) bool { return v != 10*round+c.want }) {
				t.Errorf("stretch %g of round %g has %d samples, the first %g", c.want, round, len(got), got[0])
			}
		}
	}
}
