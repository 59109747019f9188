package bench

/*
#cgo CFLAGS: -O3
#include "limits.h"
*/
import "C"

import (
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Limits are the measured maximal rates of one core of this machine in the three things that
// kernels of this kind wait for.
type Limits struct {
	GatherNS  float64 `json:"gather_ns"`  // two neighbouring samples picked by index from the first-level cache, per pick
	StoreNS   float64 `json:"store_ns"`   // a pair of shares added to memory in the first-level cache, per pair
	ReadBytes float64 `json:"read_bytes"` // bytes per second read from main memory
}

// MeasureLimits measures them in a second or so. Figures are medians of runs.
func MeasureLimits(runs int) Limits {
	const n, rounds = 4096, 256
	x := make([]float32, 1024)
	index := make([]int32, n)
	for i := range index {
		// A window that moves slowly, as arrival times do; no element twice in
		// a row, or the store would wait for itself.
		index[i] = int32(i/16*3%900 + i*7%16)
	}
	pairs := make([]float32, 2*len(x))
	big := make([]float32, 1<<26) // 256 MiB, larger than the caches
	for i := range big {
		big[i] = 1
	}
	ns := func(f func()) float64 {
		f()
		ns, _ := medianOf(runs, device.NewHost(1), func() error { f(); return nil }) // which cannot fail
		return ns
	}
	var sink C.float
	xp, ip := (*C.float)(unsafe.Pointer(&x[0])), (*C.int)(unsafe.Pointer(&index[0]))
	// Which of the two ways is the faster depends on the processor.
	plain := ns(func() { sink += C.lsm_bench_gather_plain(xp, ip, rounds) })
	avx2 := ns(func() { sink += C.lsm_bench_gather_avx2(xp, ip, rounds) })
	l := Limits{
		GatherNS: min(plain, avx2) / (n * rounds),
		StoreNS: ns(func() {
			sink += C.lsm_bench_store((*C.float)(unsafe.Pointer(&pairs[0])), ip, rounds)
		}) / (n * rounds),
	}
	l.ReadBytes = float64(4*len(big)) / ns(func() {
		sink += C.lsm_bench_read((*C.float)(unsafe.Pointer(&big[0])), C.long(len(big)))
	}) * 1e9
	if sink != sink {
		panic("bench: not a number")
	}
	return l
}
