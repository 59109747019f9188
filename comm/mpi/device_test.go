//go:build mpi

package mpi

import (
	"fmt"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/device"
)

// gpu is a device that counts the buffers that cross to the host. Its memory is
// the host's, so that a library that is not CUDA-aware can be given it.
type gpu struct {
	device.Device
	crossed *int
}

type gpuBuf struct {
	device.Buf
	dev gpu
}

func (g gpu) Name() string             { return "pretended gpu" }
func (b gpuBuf) Device() device.Device { return b.dev }
func (b gpuBuf) Pointer() uintptr      { return uintptr(address(b.Buf)) }
func (b gpuBuf) Slice(off, n int) device.Buf {
	return gpuBuf{b.Buf.Slice(off, n), b.dev}
}

func (g gpu) Copy(dst, src device.Buf) error {
	d, dstHere := dst.(gpuBuf)
	s, srcHere := src.(gpuBuf)
	if dstHere != srcHere {
		*g.crossed++
	}
	if dstHere {
		dst = d.Buf
	}
	if srcHere {
		src = s.Buf
	}
	return g.Device.Copy(dst, src)
}

// Buffers of a GPU go straight to a library that takes them and through the host
// else, and always through the host where our own code works on them.
func TestDeviceBuffers(t *testing.T) {
	if !asRanks(t, 2) {
		return
	}
	g := gpu{device.NewHost(1), new(int)}
	on := func(x ...float32) device.Buf { return gpuBuf{floats(x...), g} }
	r, other := whole.Rank(), 1-whole.Rank()
	me := float32(r)
	for _, c := range []struct {
		what           string
		x              device.Buf
		call           func(x device.Buf) error
		want           []float32
		direct, staged int // crossings
	}{
		{what: "sum", x: on(1, me), want: []float32{2, 1}, staged: 2,
			call: func(x device.Buf) error { return whole.AllReduce(x, comm.Sum) }},
		{what: "max", x: on(1, me), want: []float32{1, 1}, direct: 2, staged: 2,
			call: func(x device.Buf) error { return whole.AllReduce(x, comm.Max) }},
		{what: "start", x: on(1, me), want: []float32{2, 1}, direct: 2, staged: 2,
			call: func(x device.Buf) error {
				r, err := whole.StartAllReduce(x, comm.Sum)
				if err != nil {
					return err
				}
				return r.Wait()
			}},
		{what: "broadcast", x: on(5-me, 2), want: []float32{4, 2}, staged: 2,
			call: func(x device.Buf) error { return whole.Bcast(x, 1) }},
		{what: "gather", x: on(9, 9, 9), want: []float32{0, 1, 1}, staged: 2,
			call: func(x device.Buf) error {
				return whole.AllGather(x, on([]float32{me, me}[:1+r]...), []int{1, 2})
			}},
		{what: "reduce-scatter", x: on(9), want: []float32{2 * (me + 1)}, staged: 3,
			call: func(x device.Buf) error { return whole.ReduceScatter(x, on(1, 2), []int{1, 1}, comm.Sum) }},
		{what: "message", x: on(9, 9), want: []float32{float32(other), 3}, staged: 3,
			call: func(x device.Buf) error { return whole.SendRecv(on(me, 3), other, x, other) }},
		{what: "one-sided sum", x: on(1, me), want: []float32{2, 1}, direct: 2, staged: 2,
			call: func(x device.Buf) error { return whole.(comm.OneSided).Accumulate(x) }},
	} {
		for _, aware := range []bool{true, false} {
			opened.cudaAware = aware
			x := gpuBuf{floats(append([]float32{}, device.Slice[float32](c.x.(gpuBuf).Buf)...)...), g}
			*g.crossed = 0
			if err := c.call(x); err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
			want := c.staged
			if aware {
				want = c.direct
			}
			got := device.Slice[float32](x.Buf)
			if fmt.Sprint(got) != fmt.Sprint(c.want) || *g.crossed != want {
				t.Errorf("%s, CUDA-aware %v: %v with %d crossings, want %v with %d", c.what, aware, got, *g.crossed, c.want, want)
			}
		}
	}
}

// An all-reduce comes to its end while nobody waits for it.
func TestProgressWithoutWaiting(t *testing.T) {
	if !asRanks(t, 2) {
		return
	}
	x := device.Wrap(device.NewHost(1), make([]float32, 1<<21))
	started, err := whole.StartAllReduce(x, comm.Sum)
	if err != nil {
		t.Fatal(err)
	}
	r := started.(*request)
	end := <-r.done // it comes, or the test never ends
	r.done <- end
	if err := r.Wait(); err != nil {
		t.Error(err)
	}
}
