package mpi

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// gpu is a device that counts the buffers that cross to the host. Its memory is
// the host's, so that a library that is not aware of GPUs can be given it.
type gpu struct {
	device.Device
	crossed *int
	space   device.Space
}

type gpuBuf struct {
	device.Buf
	dev gpu
}

func (g gpu) Name() string             { return "pretended gpu" }
func (b gpuBuf) Device() device.Device { return b.dev }
func (b gpuBuf) Space() device.Space   { return b.dev.space }
func (b gpuBuf) Pointer() uintptr      { return uintptr(unsafe.Pointer(&device.Memory(b.Buf)[0])) }
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
	g := gpu{device.NewHost(1), new(int), device.CUDA}
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
			call: func(x device.Buf) error { return whole.AllReduce(x) }},
		{what: "start", x: on(1, me), want: []float32{2, 1}, direct: 2, staged: 2,
			call: func(x device.Buf) error {
				r, err := whole.StartAllReduce(x)
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
		{what: "message", x: on(9, 9), want: []float32{float32(other), 3}, staged: 3,
			call: func(x device.Buf) error { return whole.SendRecv(on(me, 3), other, x, other) }},
		{what: "one-sided sum", x: on(1, me), want: []float32{2, 1}, direct: 2, staged: 2,
			call: func(x device.Buf) error { return whole.(comm.OneSided).Accumulate(x) }},
	} {
		for _, aware := range []bool{true, false} {
			opened.Load().aware[device.CUDA] = aware
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
				t.Errorf("%s, aware %v: %v with %d crossings, want %v with %d", c.what, aware, got, *g.crossed, c.want, want)
			}
		}
	}
}

// fakes says in place of the library whose memory that takes: as Open MPI and MPICH do
// for AMD's cards, each by a query of its own, as both do for NVIDIA's, and as newer MPICH
// does for both: there the other queries crash, as in MPICH 3.4.1. A variable takes it back.
var fakes = []struct {
	query, text string
	of          device.Space
	off         string
}{
	{"MPIX_Query_cuda_support", "(void) { return 1; }", device.CUDA, "OMPI_MCA_opal_cuda_support=false"},
	{"MPIX_Query_hip_support", "(void) { return 1; }", device.ROCm, "MPIR_CVAR_ENABLE_GPU=0"},
	{"MPIX_Query_rocm_support", "(void) { return 1; }", device.ROCm, "UCX_TLS=sm,tcp,cuda"},
	{"MPIX_GPU_query_support", "(int kind, int *yes) { *yes = kind == 0; return 0; }", device.CUDA, "OMPI_MCA_accelerator=^cuda"},
	{"MPIX_GPU_query_support", "(int kind, int *yes) { *yes = kind == 2; return 0; }", device.ROCm, "OMPI_MCA_accelerator=null"},
}

// The address of a card's memory goes to a library that takes memory of that kind, and
// to no other.
func TestKindsOfCards(t *testing.T) {
	if whole == nil {
		for i, f := range fakes {
			if f.query != anyKind && strings.HasPrefix(About(), "MPICH") {
				t.Logf("%s is not asked in %s, which has %s", f.query, About(), anyKind)
				continue
			}
			library := filepath.Join(t.TempDir(), fmt.Sprintf("%s%d.so", f.query, i))
			text, rest := "int "+f.query+f.text+"\n", "return 0;"
			if f.query == anyKind {
				rest = "__builtin_trap();"
			}
			for _, other := range []string{"MPIX_Query_cuda_support", "MPIX_Query_hip_support", "MPIX_Query_rocm_support"} {
				if other != f.query {
					text += fmt.Sprintf("int %s(void) { %s }\n", other, rest)
				}
			}
			if err := os.WriteFile(library+".c", []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", library, library+".c").CombinedOutput(); err != nil {
				t.Skipf("no library can be made that answers in place of MPI: %v\n%s", err, out)
			}
			asRanks(t, 2, "LD_PRELOAD="+library, "LSM_TEST_MPI_AWARE="+f.of.String(), fmt.Sprintf("LSM_TEST_MPI_WHY=%v: ", f.of)+f.query+" says yes")
			asRanks(t, 2, "LD_PRELOAD="+library, f.off, fmt.Sprintf("LSM_TEST_MPI_WHY=%v: ", f.of)+f.query+" says yes, "+f.off)
			asRanks(t, 2, "LD_PRELOAD="+library, "LSM_TEST_MPI_DENIED="+f.of.String())
		}
		return
	}
	for _, s := range []device.Space{device.CUDA, device.ROCm} {
		if s.String() == os.Getenv("LSM_TEST_MPI_DENIED") {
			Deny(s)
		}
		if kind, why, _ := strings.Cut(os.Getenv("LSM_TEST_MPI_WHY"), ": "); kind == s.String() && Claim(s).Why != why {
			t.Errorf("%v: because %s, want %s", s, Claim(s).Why, why)
		}
		want := s.String() == os.Getenv("LSM_TEST_MPI_AWARE")
		if Aware(s) != want || strings.Contains(About(), s.String()+"-aware") != want {
			t.Errorf("aware of %v: %v, %s", s, Aware(s), About())
		}
		g := gpu{device.NewHost(1), new(int), s}
		x := gpuBuf{floats(1, float32(whole.Rank())), g}
		if err := whole.AllReduce(x); err != nil {
			t.Fatal(err)
		}
		if got := device.Slice[float32](x.Buf); got[0] != 2 || got[1] != 1 || (*g.crossed == 0) != want {
			t.Errorf("memory of %v: sums %v with %d crossings, the library takes it: %v", s, got, *g.crossed, want)
		}
	}
}

// The variables of libraries are read as these read them.
func TestSwitches(t *testing.T) {
	for _, c := range []struct {
		value string
		list  bool
		want  answer
	}{
		{"1", false, yes}, {"true", false, yes}, {"On", false, yes}, {"0", false, no}, {"FALSE", false, no}, {"no", false, no},
		{"", false, nothing}, {"auto", false, nothing},
		{"all", true, yes}, {"rc,sm,cuda_copy", true, yes}, {"cuda", true, yes}, {"null", true, no}, {"rocm", true, no},
		{"rc,sm", true, no}, {"^cuda_ipc", true, no}, {"^tcp", true, nothing}, {"", true, nothing},
	} {
		if got := readSwitch(c.value, c.list, "cuda"); got != c.want {
			t.Errorf("%q, a list %v: %v, want %v", c.value, c.list, got, c.want)
		}
	}
}

// An all-reduce comes to its end while nobody waits for it.
func TestProgressWithoutWaiting(t *testing.T) {
	if !asRanks(t, 2) {
		return
	}
	x := device.Wrap(device.NewHost(1), make([]float32, 1<<21))
	started, err := whole.StartAllReduce(x)
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
